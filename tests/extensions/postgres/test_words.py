"""The keyword retriever on PostgreSQL ranks as the one of SQLite does, however often a word occurs."""

from __future__ import annotations

from os import getpid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoriter.extensions.postgres.api import PostgresStore, ServerSettings
from memoriter.ids import vector_key
from memoriter.index import Index
from memoriter.records import ChunkRecord
from memoriter.types import Chunk, Filters, Source
from postgres_server import postgres_dsn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.store import Store

MOST = 254
"""PostgreSQL keeps no more positions of a word in a passage."""


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    settings = ServerSettings(dsn=postgres_dsn(), schema=f"words_{getpid()}")
    sqlite = Index.open(tmp_path / "main.sqlite", clock=lambda: 0.0)
    postgres = PostgresStore.open(settings, str(tmp_path), clock=lambda: 0.0)
    yield sqlite, postgres
    sqlite.close()
    postgres.close()


def record(number: int, terms: list[str]) -> ChunkRecord:
    chunk = Chunk(number, number, f"{number} {' '.join(terms)}")
    return ChunkRecord(chunk, vector_key(chunk), " ".join(terms), len(terms), b"", 1)


@pytest.mark.slow
def test_a_passage_ranks_by_how_often_it_has_a_word(stores: tuple[Store, Store]) -> None:
    others = [f"word{number}" for number in range(300)]
    repeated = [["tea"] * count + others[: (count * 37) % 300] for count in range(1, MOST + 1)]
    terms = [*repeated, *([other] for other in others), ["tea's", "o'clock", "tea"], ["back\\slash", "green", "tea"]]
    found = list[list[list[tuple[int, float]]]]()
    for store in stores:
        with store.lease():
            entries = [record(number, each) for number, each in enumerate(terms, 1)]
            store.put_file(Source("a.md", "memory", Path("/x"), 1, 0), "hash", entries)
        first = store.all_ids()[0]
        found_here = list[list[tuple[int, float]]]()
        for words in (["tea"], ["tea", "word0", "word5"], ["o'clock"], ["back\\slash", "tea"], ["absent", "tea"]):
            hits = store.keyword_search_all(words, limit=400, filters=Filters())
            found_here.append([(row - first, score) for row, score in hits])
            some = store.keyword_search(words, limit=20, filters=Filters(), frequency=None, weights=None)
            found_here.append([(row - first, score) for row, score in some])
        found.append(found_here)
    one, other = found
    assert [[row for row, _ in hits] for hits in other] == [[row for row, _ in hits] for hits in one]
    assert [[score for _, score in hits] for hits in other] == [
        pytest.approx([score for _, score in hits], abs=1e-4) for hits in one
    ]
    assert len(one[0]) == MOST + 2
