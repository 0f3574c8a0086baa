"""One note does not take all places of the candidates, and does not decide how those of other notes are weighed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from memoriter.ids import vector_key
from memoriter.index import Index
from memoriter.records import COUNTED_OF_FILE, ChunkRecord, ItemRecord
from memoriter.search import CosineBaseline, analyse, measure, pack, query_terms
from memoriter.search._candidates import MIN_CANDIDATES, Candidates, ParsedQuery, gather
from memoriter.types import Chunk, Filters, Item, ModelSpec, Source

if TYPE_CHECKING:
    from collections.abc import Iterator

QUERY = "ferry ticket"
DIMENSIONS = 8
ONE_SCRIPT = CosineBaseline.of_model((0.0, 0.1))
NEAR = 0.9
FURTHER = 0.8
"""Cosines of the chunks of the bulk note and of the other notes with the query."""


def record(text: str, line: int, *, items: bool, script: str) -> ChunkRecord:
    chunk = Chunk(line, line, text)
    terms = analyse(text)
    parts = (ItemRecord(Item(0, 0), vector_key(Chunk(1, 1, f"{text} item"))),) if items else ()
    return ChunkRecord(chunk, vector_key(chunk), " ".join(terms), len(terms), pack(terms), 1, script, parts)


def vector_of(text: str) -> np.ndarray:
    """Return a vector whose cosine with that of the query depends on the note; the rest of it differs."""
    cosine = NEAR if "bulk" in text else FURTHER
    rest = np.random.default_rng(sum(text.encode())).normal(size=DIMENSIONS - 1)
    return np.array([cosine, *(rest / np.linalg.norm(rest) * (1 - cosine**2) ** 0.5)], np.float32)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index.open(tmp_path / "main.sqlite", clock=lambda: 0.0, network=False) as index:
        index.use_vectors(ModelSpec("fake", "places", DIMENSIONS))
        yield index


def put(index: Index, path: str, *texts: str, items: bool = False, script: str = "latin") -> None:
    records = [record(text, line, items=items, script=script) for line, text in enumerate(texts, 1)]
    with index.lease():
        index.put_file(Source(path, "memory", Path("/x"), 1, 0), path, records)
    waiting = index.missing(1_000)
    with index.storing():
        index.put_vectors([key for key, _ in waiting], np.stack([vector_of(text) for _, text in waiting]))


def gathered(index: Index, baseline: CosineBaseline = ONE_SCRIPT) -> Candidates:
    query = ParsedQuery(QUERY, query_terms(QUERY), np.eye(1, DIMENSIONS, dtype=np.float32)[0])
    return gather(index, query, baseline, limit=1, filters=Filters())


def paths(candidates: Candidates, rows: list[int]) -> list[str]:
    return [candidates.scoring_rows[row].path for row in rows]


def bulk(count: int) -> list[str]:
    return [f"bulk ferry ticket {number}" for number in range(count)]


@pytest.mark.parametrize("count", [40, 400])
def test_a_note_has_half_of_the_places_while_other_notes_have_candidates_for_the_rest(index: Index, count: int) -> None:
    put(index, "bulk.md", *bulk(count))
    for number in range(20):
        put(index, f"{number}.md", f"The ferry of harbour {number} and its long timetable, without the other word")
    found = gathered(index)
    for ranking in (found.keyword_ranking, found.vector_ranking):
        places = paths(found, list(ranking))
        assert (len(places), places.count("bulk.md")) == (MIN_CANDIDATES, MIN_CANDIDATES // 2)
        assert places[0] == "bulk.md"


def test_a_note_has_the_places_that_no_other_note_needs(index: Index) -> None:
    put(index, "bulk.md", *bulk(40))
    put(index, "other.md", "A ferry leaves at nine")
    found = gathered(index)
    for ranking in (found.keyword_ranking, found.vector_ranking):
        places = paths(found, list(ranking))
        assert (len(places), places.count("other.md")) == (MIN_CANDIDATES, 1)


def test_the_share_of_chunks_with_items_counts_a_few_chunks_of_each_note(index: Index) -> None:
    put(index, "bulk.md", *bulk(10))
    put(index, "one.md", "A list about the sea", items=True)
    put(index, "two.md", "A list about the sky", items=True)
    assert gathered(index).itemized_share == pytest.approx(2 / (COUNTED_OF_FILE + 2))
    assert gathered(index).itemized_shares == {"memory": pytest.approx(2 / (COUNTED_OF_FILE + 2))}


def test_notes_in_another_script_have_places_although_many_in_the_language_of_the_question_are_nearer(
    index: Index,
) -> None:
    for number in range(40):
        put(index, f"{number}.md", f"bulk API 회의 {number}", script="hangul")
    put(index, "right.md", "The token lies in the safe")
    vectors = np.stack([vector_of(f"bulk {number}") for number in range(40)] + [vector_of("The token")] * 2)
    both = measure(["회의 기록"] * 40 + ["token"] * 2, vectors, (0.0, 0.1))
    for baseline, expected in ((both, True), (ONE_SCRIPT, False)):
        found = gathered(index, baseline)
        assert ("right.md" in paths(found, list(found.vector_ranking))) == expected
