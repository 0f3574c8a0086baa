from __future__ import annotations

import string
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.index import Index


@pytest.fixture(scope="module")
def punctuated(tmp_path_factory):
    """An index with a file for each ASCII punctuation mark, which stands inside a word and alone."""
    from memoriter.types import Chunk, Source

    def entry(terms):
        from memoriter.index import Entry

        return Entry(Chunk(1, 1, terms), b"k" * 16, terms, len(terms.split()), b"", 1)

    folder = tmp_path_factory.mktemp("punctuated")
    index = Index.open(folder / "main.sqlite", clock=lambda: 0.0)
    for mark in string.punctuation:
        source = Source(f"{ord(mark)}.md", "memory", folder, 0, 0)
        index.put_file(source, "h", [entry(f"x{mark}y {mark} {mark}z filler")])
    yield SimpleNamespace(index=index)
    index.close()


@pytest.mark.parametrize("mark", string.punctuation)
def test_a_term_with_punctuation_stays_one_term(punctuated, mark):
    index = punctuated.index
    for term in (f"x{mark}y", mark, f"{mark}z"):
        found = index.keyword_search([term], limit=99)
        assert [index.rows([id_])[id_].path for id_, _ in found] == [f"{ord(mark)}.md"]
        assert index.document_frequency([term]) == {term: 1}
    assert index.document_frequency(["x", "y", "z"]) == {"x": 0, "y": 0, "z": 0}


@given(
    terms=st.lists(
        st.text(max_size=12) | st.sampled_from(['"', "*", "NEAR(a b)", "a AND b", "-x", "terms:y", "\0"]), max_size=6
    )
)
def test_any_string_is_safe_as_a_term(punctuated, terms):
    index = punctuated.index
    assert len(index.keyword_search(["filler", *terms], limit=99)) == len(string.punctuation)
    index.keyword_search_all(terms, limit=5)
    assert set(index.document_frequency(terms)) == set(terms)


def test_words_of_any_script_stay_whole(index, make):
    ids = make.put(index, "a.md", "memorysearch.query.hybrid foo_bar a-b", "매운 数据 été ÄPFEL")
    for term, id_ in (
        ("memorysearch.query.hybrid", ids[0]),
        ("매운", ids[1]),
        ("数据", ids[1]),
        ("été", ids[1]),
        ("äpfel", ids[1]),
    ):
        assert [found for found, _ in index.keyword_search([term], limit=5)] == [id_]
    assert index.keyword_search(["query", "foo", "数", "ete"], limit=5) == []


def test_the_best_comes_first_with_a_positive_score(index, make):
    ids = make.put(index, "a.md", "alpha", "alpha beta", "gamma", "delta", "epsilon", "zeta")
    found = index.keyword_search(["alpha", "beta", "unknown"], limit=5)
    assert [id_ for id_, _ in found] == [ids[1], ids[0]]
    assert found[0][1] > found[1][1] > 0


def test_all_terms_must_match_in_the_classic_search_and_its_rank_is_negative(index, make):
    ids = make.put(index, "a.md", "alpha", "alpha beta", "gamma", "delta", "epsilon")
    ((id_, rank),) = index.keyword_search_all(["alpha", "beta"], limit=5)
    assert id_ == ids[1]
    assert rank < 0
    assert index.keyword_search_all(["alpha", "unknown"], limit=5) == []


def test_equal_scores_come_in_the_order_of_their_ids(index, make):
    ids = make.put(index, "a.md", *["same words"] * 5)
    assert [id_ for id_, _ in index.keyword_search(["same"], limit=3)] == ids[:3]


@pytest.mark.parametrize("terms", [[], [""], ["  ", "\0"], ["\t"]])
def test_nothing_to_search_for_finds_nothing(index, make, terms):
    make.put(index, "a.md", "alpha")
    assert index.keyword_search(terms, limit=5) == []
    assert index.keyword_search_all(terms, limit=5) == []


def test_a_repeated_term_counts_once(index, make):
    make.put(index, "a.md", "alpha beta", "alpha", "gamma", "delta", "epsilon")
    assert index.keyword_search(["alpha"] * 9, limit=5) == index.keyword_search(["alpha"], limit=5)


def test_very_many_terms_are_fine(index, make):
    ids = make.put(index, "a.md", "alpha")
    assert [id_ for id_, _ in index.keyword_search([*(f"t{i}" for i in range(5000)), "alpha"], limit=5)] == ids


def test_document_frequency_counts_chunks_and_forgets_removed_ones(index, make):
    make.put(index, "a.md", "alpha alpha beta", "alpha")
    make.put(index, "b.md", "alpha")
    assert index.document_frequency(["alpha", "beta", "Alpha", "gamma"]) == {
        "alpha": 3,
        "beta": 1,
        "Alpha": 3,
        "gamma": 0,
    }
    index.remove_files(["a.md"])
    assert index.document_frequency(["alpha", "beta"]) == {"alpha": 1, "beta": 0}


def test_a_limit_of_zero_finds_nothing(index, make):
    make.put(index, "a.md", "alpha")
    assert index.keyword_search(["alpha"], limit=0) == []
