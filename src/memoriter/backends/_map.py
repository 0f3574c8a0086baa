"""A picture of the passages of an index, computed on request from the stored vectors."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from memoriter.backends._why_not import citation_of
from memoriter.search import draw
from memoriter.types import Diagnostic, MapGroup, MapPoint, NearDuplicates, PassageMap

if TYPE_CHECKING:
    from memoriter.records import StoredChunk
    from memoriter.store import Snapshot, Store

MOST_POINTS = 2_000
"""Passages of a picture at most; more of them are a sample at regular distances."""
NAMED_FILES = 3
"""Files that are named for each group."""
TEXT_CHARS = 160
"""Characters of a passage at most."""


def draw_map(index: Store, *, similarity: float, configured: bool) -> PassageMap:
    """Return the passages of an index in two dimensions, without loading a model; see `MemoryBackend.draw_map`.

    `configured` states whether a provider of vectors is configured.
    """
    return index.at_one_state(partial(_draw, similarity=similarity, configured=configured))


def _draw(index: Snapshot, *, similarity: float, configured: bool) -> PassageMap:
    all_ids = index.all_ids()
    vectors = index.vectors()
    ids = _sample(all_ids, MOST_POINTS)
    found, matrix = index.vectors_at(ids)
    if not found:
        reasons = (_nothing(len(all_ids), configured=configured),)
        return PassageMap((), (), (), len(all_ids), vectors, similarity=similarity, reasons=reasons)
    rows = index.rows(found)
    drawn = draw(matrix, similarity)
    points = tuple(
        _point(rows[chunk], x, y, group)
        for chunk, (x, y), group in zip(found, drawn.places.tolist(), drawn.groups.tolist(), strict=True)
    )
    groups = tuple(_group(points, number, centre) for number, centre in enumerate(drawn.centres))
    duplicates = tuple(NearDuplicates(tuple(rows), lowest) for rows, lowest in drawn.duplicates)
    return PassageMap(points, groups, duplicates, len(all_ids), vectors, drawn.variance, similarity)


def _sample(ids: list[int], most: int) -> list[int]:
    """Return ids at regular distances, at most so many."""
    return ids if len(ids) <= most else [ids[number * len(ids) // most] for number in range(most)]


def _point(row: StoredChunk, x: float, y: float, group: int) -> MapPoint:
    chunk = row.chunk
    text = " ".join(chunk.text[: 4 * TEXT_CHARS].split())
    text = text if len(text) <= TEXT_CHARS else f"{text[: TEXT_CHARS - 1]}…"
    citation = citation_of(row.path, chunk.start_line, chunk.end_line)
    return MapPoint(citation, row.path, chunk.start_line, chunk.heading, text, x, y, group)


def _group(points: tuple[MapPoint, ...], number: int, centre: int) -> MapGroup:
    files = Counter(point.path for point in points if point.group == number)
    return MapGroup(files.total(), centre, tuple(files.most_common(NAMED_FILES)))


def _nothing(chunks: int, *, configured: bool) -> Diagnostic:
    if not chunks:
        return Diagnostic("not_indexed", "Nothing is indexed yet.", "Run `memoriter index`.")
    if not configured:
        message = "No provider is configured, so passages have no vectors that could be drawn."
        return Diagnostic("no_vectors", message, "Set memorySearch.provider.")
    message = f"None of the {chunks} passages has a vector yet."
    return Diagnostic("vectors_pending", message, "Run `memoriter index`.")
