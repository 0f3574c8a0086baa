"""What is said about a passage that a search does not find is so, for every passage of any notes and any settings."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from drawn_indexes import DAY, NOW, SPEC, drawn_indexes, text_of, vector_of
from memoriter.ids import content_hash
from memoriter.search import CosineBaseline, RankedQuery, SearchSettings, examine, rank
from memoriter.sync import ChunkingSettings
from memoriter.types import Filters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memoriter.index import Index
    from memoriter.records import StoredChunk
    from memoriter.types import Hit


chunks = st.lists(st.integers(0, 9), min_size=1, max_size=8)
notes = st.lists(st.lists(chunks, min_size=1, max_size=6), min_size=1, max_size=12)
"""Notes, each a list of chunks, each a list of word numbers."""
questions = st.lists(st.integers(0, 12), min_size=1, max_size=4, unique=True)
days = st.one_of(st.none(), st.integers(-1, 9).map(lambda step: DAY + timedelta(days=step)))
filtered = st.one_of(
    st.just(Filters()),
    st.builds(
        Filters,
        since=days,
        until=days,
        path=st.sampled_from([None, "memory/note-0.md", "memory/note-*.md", "elsewhere"]),
        without=st.sampled_from([(), ("q001z",), ("q001z", "q002z")]),
    ),
)
ways = st.builds(
    SearchSettings,
    max_results=st.integers(1, 8),
    min_score=st.sampled_from([0.0, 0.2, 0.35, 0.6, 0.9, 1.0]),
    scoring=st.sampled_from(["calibrated", "calibrated", "rrf", "classic"]),
    hybrid=st.booleans(),
    candidate_multiplier=st.sampled_from([1, 4]),
    half_life_days=st.sampled_from([None, 3.0]),
    mmr_lambda=st.sampled_from([None, 0.0, 0.5]),
    max_per_note=st.sampled_from([None, 1, 2]),
    background=st.just(CosineBaseline.of_model(SPEC.background)),
)


@pytest.fixture(scope="module")
def new_index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Index]]:
    """An index with notes, as often as wanted; every third text has no vector."""
    with drawn_indexes(tmp_path_factory.mktemp("indexes")) as build:
        yield lambda notes, cutting: build(notes, cutting, lambda text: bool(int(content_hash(text)[:6], 16) % 3))


def some(index: Index) -> dict[int, StoredChunk]:
    """At most eight passages from all over the notes."""
    rows = index.all_ids()
    return index.rows(rows[:: 1 + len(rows) // 8])


def places(hits: Sequence[Hit]) -> set[tuple[str, int]]:
    return {(hit.path, hit.start_line) for hit in hits}


@pytest.mark.slow
@given(workspace=notes, question=questions, filters=filtered, case=st.tuples(ways, st.booleans()))
@settings(max_examples=15, phases=[Phase.generate])
def test_a_passage_is_called_found_where_it_is_a_hit_and_the_change_that_is_named_makes_it_one(
    new_index, workspace, question, filters, case
):
    way, by_meaning = case
    cutting = ChunkingSettings("lines", words="classic") if way.scoring == "classic" else ChunkingSettings()
    index = new_index(workspace, cutting)
    text = text_of(question)
    query = RankedQuery(index, text, vector_of(text) if by_meaning else None, filters, NOW)

    def search(settings: SearchSettings, within: Filters) -> set[tuple[str, int]]:
        return places(rank(index, text, query.vector, settings, filters=within, now=NOW))

    found = search(way, filters)
    for row, stored in some(index).items():
        place = stored.path, stored.chunk.start_line
        examined = examine(query, way, [row])
        assert (examined.stage is None) == (place in found)
        assert examined.row == row
        assert bool(examined.excluded_by) == (not index.passing([row], filters))
        if examined.changes is None:
            assert examined.stage is not None
            continue
        assert place in search(replace(way, **examined.changes), examined.filters)
        for field in examined.changes:  # nothing less is enough
            less = {name: value for name, value in examined.changes.items() if name != field}
            assert place not in search(replace(way, **less), examined.filters)


@pytest.mark.slow
@given(workspace=notes, question=questions, case=st.tuples(ways, st.booleans()))
@settings(max_examples=12, phases=[Phase.generate])
def test_one_hit_fewer_or_a_hundredth_more_than_the_change_that_is_named_is_not_enough(
    new_index, workspace, question, case
):
    by_meaning = case[1]
    way = replace(case[0], scoring="calibrated", mmr_lambda=None)
    index = new_index(workspace, ChunkingSettings())
    text = text_of(question)
    query = RankedQuery(index, text, vector_of(text) if by_meaning else None, Filters(), NOW)
    for row, stored in some(index).items():
        changes = examine(query, way, [row]).changes or {}
        nearer = [
            {**changes, "max_results": changes["max_results"] - 1} if "max_results" in changes else None,
            {**changes, "min_score": changes["min_score"] + 0.0101} if "min_score" in changes else None,
        ]
        for less in filter(None, nearer):
            hits = rank(index, text, query.vector, replace(way, **less), filters=Filters(), now=NOW)
            assert (stored.path, stored.chunk.start_line) not in places(hits)
