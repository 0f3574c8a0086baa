"""Verification of passages before they are returned, and the repair of notes whose passages fail it.

A passage is compared with its checksum and with its file.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoriter.errors import PathRefused
from memoriter.ids import bytes_hash, vector_key, with_line_feeds
from memoriter.sync import may_change_unseen
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.environment import Stopwatch
    from memoriter.records import Corpus, ScoringRow, StoredChunk
    from memoriter.store import Passages, Store
    from memoriter.types import Filters, ScriptBaselines
    from memoriter.workspace import Workspace

MOST_REMEMBERED = 10_000
"""The most verified passages that are remembered until their file changes."""
LONGEST = 1 << 30

_Stat = tuple[int, int, int, int]


@dataclass(slots=True)
class Verifier:
    """Verifies passages against their files. Remembers the result while the files stay unchanged."""

    workspace: Workspace
    wall: Callable[[], float]
    whole_lines: bool = True
    """Whether passages consist of whole lines. The classic chunker also splits lines."""
    _paths: dict[str, Path] = field(default_factory=dict[str, "Path"])
    _verified: dict[int, tuple[_Stat, StoredChunk]] = field(default_factory=dict[int, "tuple[_Stat, StoredChunk]"])

    def is_valid(self, row: StoredChunk) -> bool:
        """Return whether a passage matches its checksum and the cited lines of its file."""
        file = self._paths.get(row.path)
        stat = _stat(file) if file else None
        if stat and self._verified.get(row.id) == (stat, row):
            return True
        return vector_key(row.chunk) == row.key and self._matches_file(row)

    def _matches_file(self, row: StoredChunk) -> bool:
        cited = self._cited_lines(row)
        if cited is None:
            # While the workspace is missing, such as an unmounted disk, the index alone serves.
            return not self.workspace.root.is_dir()
        file, stat, lines = cited
        if not holds(lines, row.chunk.text, whole_lines=self.whole_lines):
            return False
        # A first reading only learns the path: without a stat from before it, the result cannot be remembered.
        self._paths[row.path] = file
        if stat and not may_change_unseen(stat[2], self.wall()):
            if len(self._verified) >= MOST_REMEMBERED:
                self._verified.clear()
            self._verified[row.id] = stat, row
        return True

    def _cited_lines(self, row: StoredChunk) -> tuple[Path, _Stat | None, list[str]] | None:
        """Return the file of a passage, its stat from before it was read, and the cited lines; None if unreadable."""
        first = row.chunk.start_line
        last = row.chunk.end_line
        if not 1 <= first <= last <= LONGEST:
            return None
        try:
            if row.source == "sessions" and (transcripts := self.workspace.transcripts) is not None:
                source = transcripts.find(row.path)
                if source is None:
                    return None
                stat = _stat(source.file)
                page = transcripts.read(row.path, start=first, lines=last - first + 1, max_chars=LONGEST)
                return source.file, stat, page.text.split("\n")
            file = self._paths.get(row.path)
            stat = _stat(file) if file else None
            raw = self.workspace.raw(row.path)
        except PathRefused:
            return None
        text = with_line_feeds(raw.content).decode("utf-8", "replace").removeprefix("\ufeff")
        return raw.file, stat, text.split("\n", last)[first - 1 : last]

    def is_damaged(self, row: StoredChunk, index: Store) -> bool:
        """Return whether a passage differs from what was stored; False if it is only older than its file."""
        if vector_key(row.chunk) != row.key:
            return True
        indexed = index.files_at([row.path]).get(row.path)
        if indexed is None or row.source == "sessions":
            return False
        try:
            if bytes_hash(self.workspace.raw(row.path).content) != indexed.hash:
                return False
        except PathRefused:
            return False
        # Another process may have replaced the passage, or someone changed the file back, since it was refused.
        return row.id in index.rows([row.id]) and not self.is_valid(row)


def holds(lines: Sequence[str], text: str, *, whole_lines: bool = True) -> bool:
    r"""Return whether a passage is these lines of a file, or a slice of one line.

    >>> holds(["a", "b"], "a\nb"), holds(["a long line"], "long"), holds(["a", "b", "c"], "a\nb")
    (True, True, False)
    """
    if len(lines) == 1 and text in lines[0]:
        return True
    passage_lines = text.split("\n")
    if whole_lines or not lines:
        return passage_lines == list(lines)
    return passage_lines[0] in lines[0] and passage_lines[-1] in lines[-1] and "".join(passage_lines) in "".join(lines)


@dataclass(slots=True)
class Verified:
    """What a ranking reads of an index, without passages that do not match their checksum and their file.

    It records those passages, and counts the time of both retrievers.
    """

    index: Passages
    verifier: Verifier
    watch: Stopwatch
    refused: dict[int, StoredChunk] = field(default_factory=dict[int, "StoredChunk"])

    def rows(self, ids: Collection[int]) -> Mapping[int, StoredChunk]:
        with self.watch.stage("verify"):
            passages = self.index.rows(ids)
            verified = {row: passage for row, passage in passages.items() if self.verifier.is_valid(passage)}
            self.refused |= {row: passages[row] for row in passages.keys() - verified.keys()}
        return verified

    def document_frequency(self, terms: Collection[str]) -> Mapping[str, int]:
        with self.watch.stage("keyword"):
            return self.index.document_frequency(terms)

    def keyword_search(
        self,
        terms: Sequence[str],
        *,
        limit: int,
        filters: Filters,
        frequency: Mapping[str, int] | None,
        weights: Mapping[str, float] | None,
    ) -> Sequence[tuple[int, float]]:
        with self.watch.stage("keyword"):
            return self.index.keyword_search(terms, limit=limit, filters=filters, frequency=frequency, weights=weights)

    def keyword_search_all(self, terms: Sequence[str], *, limit: int, filters: Filters) -> Sequence[tuple[int, float]]:
        with self.watch.stage("keyword"):
            return self.index.keyword_search_all(terms, limit=limit, filters=filters)

    def vector_search(
        self, query: NDArray[np.float32], *, limit: int, filters: Filters, levels: ScriptBaselines | None = None
    ) -> Sequence[tuple[int, float]]:
        with self.watch.stage("vector"):
            return self.index.vector_search(query, limit=limit, filters=filters, levels=levels)

    def vectors_at(self, ids: Collection[int]) -> tuple[list[int], NDArray[np.float32]]:
        with self.watch.stage("vector"):
            return self.index.vectors_at(ids)

    def item_vectors(self, ids: Collection[int]) -> tuple[list[int], list[int], list[str], NDArray[np.float32]]:
        return self.index.item_vectors(ids)

    def corpus(self) -> Corpus:
        return self.index.corpus()

    def count(self, filters: Filters) -> int:
        return self.index.count(filters)

    def newest(self, filters: Filters, limit: int) -> list[int]:
        return self.index.newest(filters, limit)

    def passing(self, ids: Collection[int], filters: Filters) -> set[int]:
        return self.index.passing(ids, filters)

    def scoring_rows(self, ids: Collection[int]) -> Mapping[int, ScoringRow]:
        return self.index.scoring_rows(ids)

    def other_names(self, names: Collection[str]) -> Mapping[str, Sequence[str]]:
        return self.index.other_names(names)


def _stat(file: Path) -> _Stat | None:
    try:
        stat = os.lstat(file)
    except OSError:
        return None
    return stat.st_ino, stat.st_size, stat.st_ctime_ns, stat.st_mtime_ns
