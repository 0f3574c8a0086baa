"""Indexes of notes that hypothesis has drawn: words are numbers, and vectors depend on the text alone."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import date, timedelta
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memoriter.ids import content_hash, vector_key
from memoriter.index import Index
from memoriter.sync import ChunkingSettings, entry_of
from memoriter.types import Chunk, ModelSpec, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

DIMENSIONS = 32
SPEC = ModelSpec("test", "axes", DIMENSIONS, background=(0.0, 0.2))
DAY = date(2026, 2, 10)
NOW = 1_770_000_000.0


def text_of(words: Sequence[int]) -> str:
    return " ".join(f"q{number:03}z" for number in words) or "?!"


def vector_of(text: str) -> np.ndarray:
    row = np.random.default_rng(int(content_hash(text)[:12], 16)).normal(size=DIMENSIONS)
    return (row / np.linalg.norm(row)).astype(np.float32)


@contextmanager
def drawn_indexes(folder: Path) -> Generator[Callable[..., Index]]:
    """Yield what makes an index of notes, one a day, each a list of chunks; it closes the one before."""
    number = count()
    opened = list[Index]()

    def build(
        notes: Sequence[Sequence[Sequence[int]]], cutting: ChunkingSettings, has_vector: Callable[[str], bool]
    ) -> Index:
        while opened:
            opened.pop().close()
        index = Index.open(folder / f"{next(number)}.sqlite", clock=lambda: NOW, network=False)
        opened.append(index)
        index.use_vectors(SPEC)
        for place, note in enumerate(notes):
            passages = [Chunk(1 + 2 * at, 1 + 2 * at, text_of(words)) for at, words in enumerate(note)]
            day = (DAY + timedelta(days=place)).toordinal()
            path = f"memory/note-{place}.md"
            source = Source(path, "memory", Path("/notes") / path, 1, 1)
            index.put_file(source, content_hash(path), [entry_of(passage, day, cutting) for passage in passages])
            if kept := [passage for passage in passages if has_vector(passage.text)]:
                keys = [vector_key(passage) for passage in kept]
                index.put_vectors(keys, np.stack([vector_of(passage.text) for passage in kept]))
        return index

    try:
        yield build
    finally:
        while opened:
            opened.pop().close()
