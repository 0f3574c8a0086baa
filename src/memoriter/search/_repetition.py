"""Hits that tell nothing new: a passage with the text of a better hit, or a heading alone below a hit of its note."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from memoriter.search._ports import StoredChunkLike
    from memoriter.types import Chunk


def repeated_rows(ranked: Iterable[int], chunks: Mapping[int, StoredChunkLike]) -> set[int]:
    """Return the rows that repeat a better one.

    Args:
        ranked: rows, best first.
        chunks: their chunks; rows without one are left out.
    """
    texts, notes = set[str](), set[str]()
    repeated = set[int]()
    for row in ranked:
        if (stored := chunks.get(row)) is None:
            continue
        text = " ".join(stored.chunk.text.casefold().split())
        if text in texts or (stored.path in notes and _is_heading_alone(stored.chunk)):
            repeated.add(row)
        texts.add(text)
        notes.add(stored.path)
    return repeated


def _is_heading_alone(chunk: Chunk) -> bool:
    return bool(chunk.heading) and not chunk.contextual.partition("\n")[2].strip()
