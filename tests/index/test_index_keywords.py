from __future__ import annotations

import random
import string
from itertools import accumulate
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
        from memoriter.records import ChunkRecord

        return ChunkRecord(Chunk(1, 1, terms), b"k" * 16, terms, len(terms.split()), b"", 1)

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


@pytest.mark.slow
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


@pytest.fixture(scope="module")
def natural(tmp_path_factory):
    """20,000 chunks and 200 questions of words with natural frequency: a few nearly everywhere, most nearly nowhere."""
    from memoriter.records import ChunkRecord
    from memoriter.search import pack
    from memoriter.types import Chunk, Source

    luck = random.Random(7)
    words = [f"w{rank}q" for rank in range(6_000)]
    weights = list(accumulate((rank + 3) ** -1.05 for rank in range(len(words))))
    topics = [luck.sample(words[40:], 60) for _ in range(48)]

    def written(topic, count):
        own = luck.choices(topic, cum_weights=weights[: len(topic)], k=count)
        free = luck.choices(words, cum_weights=weights, k=count)
        return [one if luck.random() < 0.35 else other for one, other in zip(own, free, strict=True)]

    folder = tmp_path_factory.mktemp("natural")
    index = Index.open(folder / "main.sqlite", clock=lambda: 0.0)
    for number in range(400):
        topic = luck.choice(topics)
        texts = [written(topic, luck.randrange(8, 50)) for _ in range(50)]
        entries = [
            ChunkRecord(
                Chunk(line, line, " ".join(text)),
                f"{number:8}{line:8}".encode(),
                " ".join(text),
                len(text),
                pack(text),
                1,
            )
            for line, text in enumerate(texts, 1)
        ]
        index.put_file(Source(f"{number}.md", "memory", folder, 0, 0), "h", entries)
    questions = [" ".join(written(luck.choice(topics), luck.randrange(3, 9))) for _ in range(200)]
    yield SimpleNamespace(index=index, questions=questions)
    index.close()


@pytest.mark.slow
def test_a_search_counts_its_terms_once(natural, monkeypatch):
    from memoriter.index import _content
    from memoriter.search import SearchSettings, query_terms, rank
    from memoriter.search._forms import FORM
    from memoriter.types import Filters

    counted: list[str] = []
    count = _content._count_terms

    def watched(connection, terms):
        counted.extend(terms)
        return count(connection, terms)

    monkeypatch.setattr(_content, "_count_terms", watched)
    for question in natural.questions[:20]:
        natural.index._file.counts = _content.Counts()
        rank(natural.index, question, None, SearchSettings(), filters=Filters(), now=0.0)
        assert {*query_terms(question), FORM} <= {*counted}  # and pairs that may be one identifier
        assert len(counted) == len({*counted})
        counted.clear()


def test_counts_of_common_terms_are_remembered_until_the_index_changes(index, make, monkeypatch):
    from memoriter.index import _content

    monkeypatch.setattr(_content, "COMMON", 3)
    make.put(index, "a.md", "tea milk", "tea", "tea")
    assert index.document_frequency(["tea", "milk"]) == {"tea": 3, "milk": 1}
    with monkeypatch.context() as watching:
        watching.setattr(_content, "_count_terms", lambda _, terms: [-1] * len(terms))
        assert index.document_frequency(["tea", "milk"]) == {"tea": 3, "milk": -1}
    make.put(index, "b.md", "tea")
    assert index.document_frequency(["milk", "tea"]) == {"milk": 1, "tea": 4}


@pytest.mark.slow
def test_ranking_the_rarest_terms_chunks_alone_keeps_the_answers(natural, monkeypatch):
    from memoriter.index import _content
    from memoriter.search import SearchSettings, rank
    from memoriter.types import Filters

    settings = SearchSettings(max_results=10, min_score=0.0)

    def answers():
        rankings = (rank(natural.index, each, None, settings, filters=Filters(), now=0.0) for each in natural.questions)
        return [[(hit.path, hit.start_line) for hit in hits] for hits in rankings]

    left_out: list[int] = []
    parted = _content._split_terms

    def watched(terms):
        parts = parted(terms)
        left_out.append(len(parts.common))
        return parts

    monkeypatch.setattr(_content, "_split_terms", watched)
    found = answers()
    assert sum(1 for count in left_out if count) > len(left_out) / 10
    for name in ("MAX_PROPOSING", "MAX_SINGLE_LIST", "MAX_COUNTED", "MAX_RANKED"):
        monkeypatch.setattr(_content, name, 2**40)
    everything = answers()
    same = sum(1 for one, other in zip(found, everything, strict=True) if one == other)
    assert same >= 0.99 * len(everything)


@pytest.fixture
def few(monkeypatch):
    """Bounds so small that a dozen chunks reach them."""
    from memoriter.index import _content

    for name, bound in (("MAX_PROPOSING", 6), ("MAX_SINGLE_LIST", 4), ("MAX_COUNTED", 30)):
        monkeypatch.setattr(_content, name, bound)


def test_a_question_of_common_words_alone_finds_what_holds_them_all_and_then_the_newest(few, index, make):
    texts = ["cold tea", *["warm tea"] * 9, "tea cold", *["cold milk"] * 9]
    ids = make.put(index, "a.md", *texts)
    found = [id_ for id_, _ in index.keyword_search(["tea", "cold"], limit=5)]
    assert set(found[:2]) == {ids[0], ids[10]}
    assert len(found) == 5
    newest = [id_ for id_, _ in index.keyword_search(["tea"], limit=3)]
    assert set(newest) <= set(ids[7:11])
    assert len(newest) == 3


def test_the_rarest_term_proposes_and_the_common_ones_rank(few, index, make):
    texts = ["tea rare mild", "tea cold rare", *["tea cold"] * 9, *["milk"] * 20]
    ids = make.put(index, "a.md", *texts)
    found = [id_ for id_, _ in index.keyword_search(["cold", "rare", "tea"], limit=4)]
    assert found[:2] == [ids[1], ids[0]]
    assert set(found[2:]) <= set(ids[2:11])


def test_filters_hold_before_the_newest_are_chosen(few, index, make):
    from memoriter.types import Filters

    old = make.put(index, "old.md", "common words", "common words")
    make.put(index, "new.md", *["common words"] * 20)
    found = index.keyword_search(["common", "words"], limit=9, filters=Filters(path="old.md"))
    assert [id_ for id_, _ in found] == old
