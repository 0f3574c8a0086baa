"""What holds for the hits of any question over any notes, through a real index."""

from __future__ import annotations

from datetime import date
from itertools import count, pairwise
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memoriter import Memory
from memoriter.app import Environment, assemble
from memoriter.errors import InvalidQuery
from memoriter.ids import content_hash, vector_key
from memoriter.index import Index
from memoriter.search import MATCH, CosineBaseline, SearchSettings, clean_query, outcome_of, rank
from memoriter.sync import ChunkingSettings, entry_of
from memoriter.types import Chunk, Filters, ModelSpec, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memoriter.types import Hit, SearchResult

DIMENSIONS = 64
SPEC = ModelSpec("test", "axes", DIMENSIONS, background=(0.0, 0.125))
DAY = date(2026, 2, 10)
NOW = 1_770_000_000.0
EVERYTHING = SearchSettings(max_results=200, min_score=0.0, background=CosineBaseline.of_model(SPEC.background))
AS_INSTALLED = SearchSettings(background=CosineBaseline.of_model(SPEC.background))

Words = list[int]
Note = list[Words]
"""Chunks, each a list of word numbers."""

chunks = st.lists(st.integers(0, 11), min_size=1, max_size=12)
corpora = st.lists(st.lists(chunks, min_size=1, max_size=3), min_size=1, max_size=8)
questions = st.lists(st.integers(0, 11), min_size=1, max_size=5, unique=True)
few = settings(max_examples=25)


def word(number: int) -> str:
    """A name that stemming leaves alone."""
    return f"q{number:03}z"


def text_of(words: Sequence[int]) -> str:
    return " ".join(word(number) for number in words)


def unit(row: np.ndarray) -> np.ndarray:
    return (row / np.linalg.norm(row)).astype(np.float32)


def vector_of(text: str) -> np.ndarray:
    """A random direction that belongs to the text."""
    return unit(np.random.default_rng(int(content_hash(text)[:12], 16)).normal(size=DIMENSIONS))


def axis(number: int) -> np.ndarray:
    return np.eye(DIMENSIONS, dtype=np.float32)[number]


Put = tuple[str, list[str]]
"""A path, and the texts of its chunks."""


def fill(index: Index, notes: Sequence[Put], vectors: Callable[[str], np.ndarray | None] = vector_of) -> None:
    """Store notes, with vectors for those texts that have one."""
    index.use_vectors(SPEC)
    for path, texts in notes:
        passages = [Chunk(1 + 2 * number, 1 + 2 * number, text) for number, text in enumerate(texts)]
        entries = [entry_of(passage, DAY.toordinal(), ChunkingSettings()) for passage in passages]
        index.put_file(Source(path, "memory", Path("/notes") / path, 1, 1), content_hash(path), entries)
        rows = {vector_key(passage): row for passage in passages if (row := vectors(passage.text)) is not None}
        if rows:
            index.put_vectors(list(rows), np.stack(list(rows.values())))


def notes_of(corpus: Sequence[Note], prefix: str = "note") -> list[Put]:
    return [(f"memory/{prefix}-{number}.md", [text_of(words) for words in note]) for number, note in enumerate(corpus)]


@pytest.fixture(scope="module")
def new_index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Index]]:
    """An index with notes, as often as wanted."""
    base = tmp_path_factory.mktemp("indexes")
    number = count()
    opened: list[Index] = []

    def build(notes: Sequence[Put], vectors: Callable[[str], np.ndarray | None] = vector_of) -> Index:
        while opened:
            opened.pop().close()
        index = Index.open(base / f"{next(number)}.sqlite", clock=lambda: NOW, network=False)
        opened.append(index)
        fill(index, notes, vectors)
        return index

    yield build
    while opened:
        opened.pop().close()


def ask(
    index: Index,
    question: str,
    vector: np.ndarray | None,
    settings: SearchSettings = EVERYTHING,
    filters: Filters = Filters(),  # noqa: B008 (frozen)
) -> tuple[Hit, ...]:
    return rank(index, clean_query(question), vector, settings, filters=filters, now=NOW)


def scores(hits: Sequence[Hit]) -> dict[str, float]:
    return {hit.citation: hit.score for hit in hits}


def same_where_both(left: Sequence[Hit], right: Sequence[Hit]) -> bool:
    one = scores(left)
    other = scores(right)
    return all(one[citation] == pytest.approx(other[citation], abs=1e-6) for citation in one.keys() & other.keys())


# a score is absolute


@pytest.mark.slow
@few
@given(corpora, questions, st.integers(1, 30), st.booleans())
@example([[[0]], [[0], [0]], [[0], [0], [0]]], [0], 1, False)
def test_a_score_does_not_depend_on_how_many_hits_are_wanted(new_index, corpus, question, wanted, by_meaning):
    index = new_index(notes_of(corpus))
    text = text_of(question)
    vector = vector_of(text) if by_meaning else None
    everything = ask(index, text, vector)
    some = ask(index, text, vector, SearchSettings(wanted, 0.0, background=EVERYTHING.background))
    # A passage with the text of a better one gives its place to another if there is one.
    first_of_text = {hit.snippet: hit.citation for hit in reversed(everything)}
    citations = [hit.citation for hit in everything]
    by_choice = sorted(citations, key=lambda citation: citation not in first_of_text.values())
    expected = set(by_choice[:wanted])
    assert [hit.citation for hit in some] == [citation for citation in citations if citation in expected]
    assert same_where_both(some, everything)


@pytest.mark.slow
@few
@given(corpora, questions, st.booleans())
def test_a_score_does_not_depend_on_what_the_filters_leave_out(new_index, corpus, question, by_meaning):
    index = new_index(notes_of(corpus))
    text = text_of(question)
    vector = vector_of(text) if by_meaning else None
    everything = ask(index, text, vector)
    for filters in (Filters(path="memory/note-0.md"), Filters(since=DAY), Filters(sources=frozenset({"memory"}))):
        assert same_where_both(ask(index, text, vector, filters=filters), everything)


@pytest.mark.slow
@few
@given(corpora, questions, st.floats(0, 1), st.booleans())
def test_the_floor_takes_only_what_lies_below_it(new_index, corpus, question, floor, by_meaning):
    index = new_index(notes_of(corpus))
    text = text_of(question)
    vector = vector_of(text) if by_meaning else None
    everything = ask(index, text, vector)
    kept = ask(index, text, vector, SearchSettings(200, floor, background=EVERYTHING.background))
    assert kept == tuple(hit for hit in everything if hit.score >= floor)


@pytest.mark.slow
@few
@given(corpora, questions, st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1), st.booleans())
def test_replacing_an_unrelated_note_by_another_as_long_changes_no_score(
    new_index, corpus, question, pairs, by_meaning
):
    text = text_of(question)
    vector = vector_of(text) if by_meaning else None
    results = []
    for words in zip(*pairs, strict=True):
        strange = ("memory/strange.md", [text_of([100 + number for number in words])])
        hits = ask(new_index([*notes_of(corpus), strange]), text, vector)
        results.append({key: score for key, score in scores(hits).items() if "strange" not in key})
    assert results[0] == pytest.approx(results[1], abs=1e-6)


@few
@given(corpora, questions, chunks, st.booleans())
def test_an_unrelated_note_changes_the_order_of_the_others_in_no_way(new_index, corpus, question, words, by_meaning):
    text = text_of(question)
    vector = vector_of(text) if by_meaning else None
    before = ask(new_index(notes_of(corpus)), text, vector)
    strange = ("memory/strange.md", [text_of([100 + number for number in words])])
    after = scores(ask(new_index([*notes_of(corpus), strange]), text, vector))
    for upper, lower in pairwise(before):
        # One note more shifts the rarity of every word and the mean length a little: hits within .02 may change places.
        if upper.score - lower.score > 0.02:
            assert after[upper.citation] > after[lower.citation]


@pytest.mark.slow
@few
@given(corpora, questions, st.integers(1, 60), st.booleans())
def test_notes_without_a_word_of_the_question_never_push_a_hit_out(new_index, corpus, question, number, by_meaning):
    text = text_of(question)
    vector = axis(0) if by_meaning else None

    def placed(chunk: str) -> np.ndarray:
        return axis(1) if chunk.startswith("q1") else vector_of(chunk)

    before = ask(new_index(notes_of(corpus), placed), text, vector)
    strangers = notes_of([[[100 + n % 50, 101 + n % 7]] for n in range(number)], "strange")
    after = ask(new_index([*notes_of(corpus), *strangers], placed), text, vector)
    order = [hit.citation for hit in after]
    first_strange = min((order.index(citation) for citation in order if "strange" in citation), default=len(order))
    holding = [hit.citation for hit in before if hit.score >= AS_INSTALLED.min_score]
    assert set(holding) <= set(order[:first_strange])


# one retriever is enough

VECTOR_STATES = ["on", "off", "pending", "far", "opposite"]


def unrelated(number: int) -> list[Put]:
    return notes_of([[[100 + n, 101 + n, 102 + n]] for n in range(number)], "other")


@pytest.mark.matrix
@pytest.mark.parametrize("others", [0, 1, 30])
@pytest.mark.parametrize("vectors", VECTOR_STATES)
@settings(max_examples=8)
@given(words=st.lists(st.integers(0, 40), min_size=1, max_size=20, unique=True), padding=st.integers(0, 60))
def test_a_chunk_that_holds_every_word_is_found_whatever_its_vector(new_index, others, vectors, words, padding):
    perfect = text_of(words + [60 + n for n in range(padding)])

    def placed(text: str) -> np.ndarray | None:
        if text == perfect:
            return {"pending": None, "far": axis(2), "opposite": -axis(0)}.get(vectors, vector_of(text))
        return vector_of(text)

    index = new_index([("memory/perfect.md", [perfect]), *unrelated(others)], placed)
    hits = ask(index, text_of(words), None if vectors == "off" else axis(0), AS_INSTALLED)
    assert hits[0].path == "memory/perfect.md"
    # A vector that says nothing may leave a few words of a long chunk just below a match.
    assert hits[0].score >= (AS_INSTALLED.min_score if vectors == "opposite" else MATCH - 0.05)


@pytest.mark.matrix
@pytest.mark.parametrize("others", [0, 1, 30])
@settings(max_examples=8)
@given(words=st.lists(st.integers(0, 40), min_size=1, max_size=20))
def test_a_chunk_that_means_the_same_is_found_without_a_shared_word(new_index, others, words):
    perfect = text_of(words)
    index = new_index([("memory/perfect.md", [perfect]), *unrelated(others)])
    hits = ask(index, "something else entirely", vector_of(perfect), AS_INSTALLED)
    assert hits[0].path == "memory/perfect.md"
    assert hits[0].score >= MATCH


def test_without_any_leg_that_fits_nothing_is_found(new_index):
    index = new_index(unrelated(30), lambda _: axis(1))
    assert ask(index, "something else entirely", axis(0), AS_INSTALLED) == ()
    assert ask(index, "something else entirely", None, AS_INSTALLED) == ()


# any size

MANY = 10_000


@pytest.fixture(scope="module")
def of_size(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[int], Index]]:
    """An index of so many chunks: one that answers, the others about other things."""
    base = tmp_path_factory.mktemp("sizes")
    opened: dict[int, Index] = {}

    def build(size: int) -> Index:
        if size not in opened:
            opened[size] = Index.open(base / f"{size}.sqlite", clock=lambda: NOW, network=False)
            draw = np.random.default_rng(size)
            other = [text_of(draw.integers(100, 900, 8)) for _ in range(size - 1)]
            folders = [(f"memory/{n}.md", other[n : n + 500]) for n in range(0, len(other), 500)]
            fill(opened[size], [("memory/answer.md", [text_of([1, 2, 3, 4])]), *folders])
        return opened[size]

    yield build
    for index in opened.values():
        index.close()


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, MANY])
def test_the_answer_is_found_among_any_number_of_notes(of_size, size):
    index = of_size(size)
    assert index.corpus().chunks == size
    for vector in (None, vector_of(text_of([1, 2, 3, 4])), vector_of("far")):
        hits = ask(index, text_of([1, 2, 3]), vector, AS_INSTALLED)
        assert hits[0].path == "memory/answer.md"
        assert outcome_of(hits) == "match"
        assert all(0 <= hit.score <= 1 and isfinite(hit.score) for hit in hits)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.matrix
@pytest.mark.parametrize("size", [1, 2, MANY])
def test_a_question_about_nothing_that_is_noted_matches_nothing(of_size, size):
    index = of_size(size)
    for vector in (None, vector_of("nothing that is noted")):
        assert outcome_of(ask(index, "q995z q996z", vector, AS_INSTALLED)) in {"none", "weak"}


# any question


def small_memory(base: Path, provider: str, *, around: Callable[[Path], Environment] | None = None) -> Memory:
    notes = base / "notes"
    home = base / "home"
    for folder in (notes / "memory", home):
        folder.mkdir(parents=True)
    (notes / "MEMORY.md").write_text(
        "# Choices\n\n- alpha beta gamma\n\n- alpha delta\n\n- 오사카 여행 epsilon\n", encoding="utf-8"
    )
    (notes / "memory" / "words.md").write_text("near not and or col match\n\nbeta epsilon zeta\n", encoding="utf-8")
    (home / "memoriter.json5").write_text(
        f'{{agents: {{defaults: {{memorySearch: {{provider: "{provider}"}}}}}}}}', encoding="utf-8"
    )
    if around is None:
        return Memory.open(notes, home=home)
    return Memory(assemble(notes, env=around(home)))


@pytest.fixture(scope="module", params=["none", "fake"])
def memory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with small_memory(tmp_path_factory.mktemp("any"), request.param) as memory:
        yield memory


@pytest.fixture(scope="module")
def by_words(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with small_memory(tmp_path_factory.mktemp("words"), "none") as memory:
        yield memory


anything = st.one_of(
    st.text(st.characters(codec=None), max_size=4_096),
    st.text(st.sampled_from("ab \0\"'*():^-+{}~\\%_;,.\ud800\udfff\u202e\u200b👩‍💻한中カé\n\t"), max_size=200),
    st.lists(
        st.sampled_from(["AND", "OR", "NOT", "NEAR", "(", ")", '"', "*", "alpha", "terms:", "^", "rowid", "--", ";"]),
        max_size=12,
    ).map(" ".join),
)


@pytest.mark.matrix
@settings(max_examples=60)
@given(anything)
@example("\0")
@example("\ud800")
@example('"')
@example("NEAR(alpha beta, 2)")
@example("' OR 1=1; DROP TABLE chunks; --")
@example("\u202eahpla\u202c")
@example("가" * 4_096)
@example("word " * 819)
def test_any_string_is_a_question_or_an_invalid_query(memory, text):
    if not text.replace("\0", " ").strip():
        with pytest.raises(InvalidQuery):
            memory.search(text)
        return
    result = memory.search(text)
    assert result.outcome in {"match", "weak", "none"}
    assert all(0 <= hit.score <= 1 for hit in result.results)


def found(result: SearchResult) -> list[tuple[str, float]]:
    return [(hit.citation, hit.score) for hit in result.results]


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("NOT alpha", "not alpha"),
        ("delta NOT alpha", "delta alpha"),
        ('"alpha" OR beta', "alpha beta"),
        ('"beta gamma"', "beta gamma"),
        ('"gamma beta"', "gamma beta"),
        ("alpha*", "alpha"),
        ("^alpha", "alpha"),
        ("alpha + beta", "alpha beta"),
        ("alpha AND beta", "alpha beta"),
        ("terms:alpha", "terms alpha"),
        ("col:epsilon", "col epsilon"),
        ("NEAR(alpha gamma)", "near alpha gamma"),
        ("NEAR(alpha gamma, 5)", "near alpha gamma 5"),
        ("(alpha OR beta) AND NOT gamma", "alpha beta gamma"),
        ("{terms} : alpha", "terms alpha"),
        ("- alpha", "alpha"),
        ("alpha; DROP TABLE chunks", "alpha drop table chunks"),
        ("alpha\0beta", "alpha beta"),
        ("alpha\u00a0beta", "alpha beta"),
    ],
)
def test_nothing_in_a_question_is_an_operator(by_words, written, plain):
    assert found(by_words.search(written, min_score=0.0)) == found(by_words.search(plain, min_score=0.0)) != []


def test_a_star_stands_for_nothing(by_words):
    assert found(by_words.search("alph*", min_score=0.0)) == found(by_words.search("*", min_score=0.0)) == []


# out of time


def hurrying(home: Path) -> Environment:
    """A clock by which every look takes ten seconds."""
    tick = count(step=10)
    return Environment({"MEMORITER_HOME": str(home)}, home, home, lambda: NOW, lambda: float(next(tick)))


@pytest.mark.parametrize("provider", ["none", "fake"])
def test_a_question_without_time_is_answered_and_says_so(tmp_path, provider):
    with small_memory(tmp_path, provider, around=hurrying) as memory:
        for _ in range(2):
            result = memory.search("alpha delta", deadline_ms=1)
            assert result.truncated_by == "deadline"
            assert result.results[0].path == "MEMORY.md"
            assert result.mode == "keyword"
