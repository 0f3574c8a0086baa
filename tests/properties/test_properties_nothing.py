"""A search that finds nothing says why, and what it says is so: each remedy is carried out."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from drawn_indexes import DAY, NOW, SPEC, drawn_indexes, text_of, vector_of
from memoriter.search import CosineBaseline, SearchSettings, clean_query, diagnose_empty, rank, search_without_limits
from memoriter.sync import ChunkingSettings
from memoriter.types import Filters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memoriter.index import Index
    from memoriter.types import Diagnostic, Hit

CODES = {"filtered_out", "below_min_score", "no_term_known", "no_words"}

chunks = st.lists(st.integers(0, 7), min_size=1, max_size=8)
corpora = st.lists(chunks, min_size=1, max_size=6)
"""Notes of one chunk, each a list of word numbers."""
questions = st.lists(st.integers(0, 12), max_size=4, unique=True)
days = st.one_of(st.none(), st.integers(-3, 9).map(lambda step: DAY + timedelta(days=step)))
filtered = st.builds(
    Filters,
    sources=st.sampled_from([None, frozenset({"memory"}), frozenset({"sessions"})]),
    since=days,
    until=days,
    path=st.sampled_from([None, "memory", "memory/note-0.md", "memory/note-*.md", "elsewhere", "memory/[0.md"]),
)
ways = st.builds(
    SearchSettings,
    max_results=st.integers(1, 8),
    min_score=st.sampled_from([0.0, 0.2, 0.35, 0.6, 0.9, 1.0]),
    scoring=st.sampled_from(["calibrated", "calibrated", "rrf", "classic"]),
    hybrid=st.booleans(),
    half_life_days=st.sampled_from([None, 0.5]),
    mmr_lambda=st.sampled_from([None, 0.5]),
    background=st.just(CosineBaseline.of_model(SPEC.background)),
)
way = st.tuples(ways, st.booleans())
"""How to search, and whether by meaning."""


@pytest.fixture(scope="module")
def new_index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Index]]:
    """An index with notes of one chunk, as often as wanted; with vectors for all of them, or for none."""
    with drawn_indexes(tmp_path_factory.mktemp("indexes")) as build:
        yield lambda corpus, *, vectors, cutting: build([[words] for words in corpus], cutting, lambda _: vectors)


class SearchCase:
    """A question with everything that goes with it."""

    def __init__(self, index: Index, words: Sequence[int], settings: SearchSettings, *, by_meaning: bool) -> None:
        self.index = index
        self.text = clean_query(text_of(words))
        self.settings = settings
        self.vector = vector_of(self.text) if by_meaning else None

    @classmethod
    def of(cls, new_index, corpus, question, settings: SearchSettings, by_meaning: bool) -> SearchCase:
        cutting = ChunkingSettings(words="classic" if settings.scoring == "classic" else "analysed")
        return cls(new_index(corpus, vectors=by_meaning, cutting=cutting), question, settings, by_meaning=by_meaning)

    def hits(self, filters: Filters, min_score: float | None = None) -> tuple[Hit, ...]:
        floor = self.settings.min_score if min_score is None else min_score
        changed = replace(self.settings, min_score=floor)
        return rank(self.index, self.text, self.vector, changed, filters=filters, now=NOW)

    def reasons(self, filters: Filters) -> tuple[Diagnostic, ...]:
        seen = search_without_limits(self.index, self.text, self.vector, self.settings, filters=filters, now=NOW)
        return diagnose_empty(seen)


def carried_out(case: SearchCase, filters: Filters, reason: Diagnostic) -> tuple[Hit, ...] | None:
    """What a remedy brings; `None` where it only asks for other words."""
    promised = "Leave out" in reason.remedy
    floor = re.search(r"--min-score (\d\.\d+)", reason.remedy)
    if not promised and not floor:
        return None
    return case.hits(Filters() if promised else filters, float(floor[1]) if floor else None)


@pytest.mark.slow
@settings(max_examples=150)
@given(corpora, questions, filtered, way)
@example([[0]], [9], Filters(), (SearchSettings(), False))
@example([[0]], [], Filters(), (SearchSettings(), False))
@example([[0]], [0], Filters(path="elsewhere"), (SearchSettings(min_score=0.0), False))
@example([[0, 1], [2]], [0, 2], Filters(), (SearchSettings(scoring="classic"), False))
@example([[0], [1]], [1], Filters(path="memory/note-0.md"), (SearchSettings(), False))
def test_nothing_found_among_something_always_has_a_reason_and_a_remedy_that_does_what_it_says(
    new_index, corpus, question, filters, way
):
    case = SearchCase.of(new_index, corpus, question, *way)
    if case.hits(filters):
        return
    reasons = case.reasons(filters)
    assert reasons
    assert {reason.code for reason in reasons} <= CODES
    assert len({reason.code for reason in reasons}) == len(reasons)
    for reason in reasons:
        assert reason.message.endswith(".")
        assert reason.remedy
        brought = carried_out(case, filters, reason)
        hopeless = reason.code == "filtered_out" and not case.hits(Filters(), 0.0)
        assert brought is None or brought or (hopeless and "--min-score" not in reason.remedy)


@pytest.mark.slow
@settings(max_examples=60)
@given(corpora, questions, filtered, way)
def test_a_reason_says_what_is_so(new_index, corpus, question, filters, way):
    case = SearchCase.of(new_index, corpus, question, *way)
    if case.hits(filters):
        return
    codes = {reason.code for reason in case.reasons(filters)}
    held = {number for words in corpus for number in words}
    everything = case.hits(Filters(), -1.0)
    if "no_term_known" in codes:
        assert not held & set(question)
        assert everything == ()
    if "no_words" in codes:
        assert not question
    if "below_min_score" in codes:
        assert len(case.hits(filters, -1.0)) > 0
        assert max(hit.score for hit in case.hits(filters, -1.0)) < way[0].min_score
    if "filtered_out" in codes:
        assert not filters.empty
        assert not case.index.count(filters) or case.hits(Filters()) or case.hits(filters, -1.0) == ()


def test_the_chunks_that_pass_filters_are_counted(new_index):
    index = new_index([[0], [1], [2]], vectors=False, cutting=ChunkingSettings())
    counts = {
        filters: index.count(filters)
        for filters in (
            Filters(),
            Filters(since=DAY + timedelta(days=1)),
            Filters(path="memory/note-1.md"),
            Filters(sources=frozenset({"sessions"})),
        )
    }
    assert list(counts.values()) == [3, 2, 1, 0]


def test_filters_that_leave_nothing_say_what_each_leaves(new_index):
    index = new_index([[0], [1], [2]], vectors=False, cutting=ChunkingSettings())
    case = SearchCase(index, [0], SearchSettings(min_score=0.0), by_meaning=False)
    (reason,) = case.reasons(Filters(since=DAY + timedelta(days=1), path="memory/note-0.md"))
    assert (reason.code, reason.message, reason.remedy) == (
        "filtered_out",
        "The filters leave none of 3 chunks: since 2026-02-11 alone leaves 2, path 'memory/note-0.md' alone leaves 1.",
        "Leave out --since and --path.",
    )
