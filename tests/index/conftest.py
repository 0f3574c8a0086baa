"""Small notes for a real index in a temporary folder."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from memoriter.ids import bytes_hash, vector_key
from memoriter.index import Index
from memoriter.records import ChunkRecord
from memoriter.types import Chunk, ModelSpec, Source, SourceKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

DAY = date(2026, 2, 10)
SPEC = ModelSpec("fake", "small", 4)


def source(path: str, kind: SourceKind = "memory", *, size: int = 10, mtime_ns: int = 20) -> Source:
    return Source(path, kind, Path("/notes") / path, size, mtime_ns)


def entry(
    text: str, *, day: date = DAY, terms: str | None = None, heading: tuple[str, ...] = (), line: int = 1
) -> ChunkRecord:
    chunk = Chunk(line, line + text.count("\n"), text, heading)
    words = text.lower() if terms is None else terms
    return ChunkRecord(
        chunk, vector_key(chunk), words, len(words.split()), text.encode("utf-8", "replace"), day.toordinal()
    )


def put(index: Index, path: str, *texts: str, kind: SourceKind = "memory", day: date = DAY) -> list[int]:
    index.put_file(
        source(path, kind), bytes_hash(path.encode("utf-8", "replace")), [entry(text, day=day) for text in texts]
    )
    return index.ids_at(path)


def unit(*numbers: float) -> np.ndarray:
    vector = np.array(numbers, dtype=np.float32)
    return vector / np.linalg.norm(vector)


def embed(index: Index, vectors: dict[str, Sequence[float]] | None = None) -> None:
    """Give every waiting chunk a vector: the one named by its text, or the first axis."""
    waiting = index.missing(10_000)
    if waiting:
        rows = np.stack([unit(*(vectors or {}).get(text, (1, 0, 0, 0))) for _, text in waiting])
        index.put_vectors([key for key, _ in waiting], rows)


@pytest.fixture
def make() -> SimpleNamespace:
    return SimpleNamespace(source=source, entry=entry, put=put, embed=embed, unit=unit, spec=SPEC, day=DAY)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory" / "main.sqlite"


@pytest.fixture
def now() -> SimpleNamespace:
    return SimpleNamespace(seconds=1_770_000_000.0)


@pytest.fixture
def opened(path: Path, now: SimpleNamespace) -> Iterator[Callable[[], Index]]:
    """Open the index at `path`, as often as wanted; all are closed at the end."""
    indexes: list[Index] = []

    def open_again(**options: bool) -> Index:
        indexes.append(Index.open(path, clock=lambda: now.seconds, **options))
        return indexes[-1]

    yield open_again
    for index in indexes:
        index.close()


@pytest.fixture
def index(opened: Callable[[], Index]) -> Index:
    return opened()
