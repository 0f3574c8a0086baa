"""Comparing passages with their hashes and with their files before they are returned."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import PathRefused
from memoriter.ids import bytes_hash, vector_key
from memoriter.sync import may_change_unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from memoriter.index import Index, StoredChunk
    from memoriter.search import Reader
    from memoriter.workspace import Workspace

MOST_REMEMBERED = 10_000
"""Passages that are remembered as compared, until their file changes."""
LONGEST = 1 << 30

_Stat = tuple[int, int, int, int]


@dataclass(slots=True)
class Comparing:
    """Compares passages with what their files say; remembers what it compared while the files stay as they are."""

    workspace: Workspace
    wall: Callable[[], float]
    whole_lines: bool = True
    """Whether a passage of several lines is these lines; the classic chunker also cuts within lines."""
    _files: dict[str, Path] = field(default_factory=dict[str, "Path"])
    _same: dict[int, tuple[_Stat, StoredChunk]] = field(default_factory=dict[int, "tuple[_Stat, StoredChunk]"])

    def reader(self, index: Index) -> Verified:
        """Return the index with every passage compared."""
        return Verified(index, self)

    def sound(self, row: StoredChunk) -> bool:
        """Return whether a passage is what was stored, and what the cited lines of its file hold."""
        file = self._files.get(row.path)
        seen = _stat(file) if file else None
        if seen and self._same.get(row.id) == (seen, row):
            return True
        return vector_key(row.chunk) == row.key and self._in_file(row)

    def _in_file(self, row: StoredChunk) -> bool:
        found = self._lines(row)
        if found is None:
            # A workspace that is away, such as an unmounted disk, is answered for by its index.
            return not self.workspace.root.is_dir()
        file, seen, lines = found
        if not holds(lines, row.chunk.text, whole_lines=self.whole_lines):
            return False
        # A first reading only tells where the file is: what was read later than its stat could be something else.
        self._files[row.path] = file
        if seen and not may_change_unseen(seen[2], self.wall()):
            if len(self._same) >= MOST_REMEMBERED:
                self._same.clear()
            self._same[row.id] = seen, row
        return True

    def _lines(self, row: StoredChunk) -> tuple[Path, _Stat | None, list[str]] | None:
        """The file of a passage, its stat before it was read, and the cited lines; None where it cannot be read."""
        first, last = row.chunk.start_line, row.chunk.end_line
        if not 1 <= first <= last <= LONGEST:
            return None
        try:
            if row.source == "sessions" and (transcripts := self.workspace.transcripts) is not None:
                source = transcripts.find(row.path)
                if source is None:
                    return None
                seen = _stat(source.file)
                said = transcripts.read(row.path, start=first, lines=last - first + 1, max_chars=LONGEST)
                return source.file, seen, said.text.split("\n")
            file = self._files.get(row.path)
            seen = _stat(file) if file else None
            raw = self.workspace.raw(row.path)
        except PathRefused:
            return None
        text = raw.content.decode("utf-8", "replace").removeprefix("\ufeff")
        return raw.file, seen, text.split("\n", last)[first - 1 : last]

    def damaged(self, row: StoredChunk, index: Index) -> bool:
        """Return whether a passage is not what was stored, rather than older than its file."""
        if vector_key(row.chunk) != row.key:
            return True
        known = index.files_at([row.path]).get(row.path)
        if known is None or row.source == "sessions":
            return False
        try:
            return bytes_hash(self.workspace.raw(row.path).content) == known.hash
        except PathRefused:
            return False


def holds(lines: Sequence[str], text: str, *, whole_lines: bool = True) -> bool:
    r"""Return whether a passage is these lines of a file, or a slice of one line.

    >>> holds(["a", "b"], "a\nb"), holds(["a long line"], "long"), holds(["a", "b", "c"], "a\nb")
    (True, True, False)
    """
    if len(lines) == 1 and text in lines[0]:
        return True
    cut = text.split("\n")
    if whole_lines or not lines:
        return cut == list(lines)
    return cut[0] in lines[0] and cut[-1] in lines[-1] and "".join(cut) in "".join(lines)


@dataclass(slots=True)
class Verified:
    """An index that gives only passages that match their hash and their file, and notes the others."""

    index: Index
    comparing: Comparing
    refused: dict[int, StoredChunk] = field(default_factory=dict[int, "StoredChunk"])

    def rows(self, ids: Collection[int]) -> Mapping[int, StoredChunk]:
        """Return those of the chunks that are what was written and what the file says."""
        found = self.index.rows(ids)
        sound = {row: passage for row, passage in found.items() if self.comparing.sound(passage)}
        self.refused |= {row: found[row] for row in found.keys() - sound.keys()}
        return sound

    def __getattr__(self, name: str) -> Any:
        """Ask the index itself for everything else."""
        return getattr(self.index, name)

    @property
    def as_reader(self) -> Reader:
        """What a ranking reads from."""
        return cast("Reader", self)


def _stat(file: Path) -> _Stat | None:
    try:
        found = os.lstat(file)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_ctime_ns, found.st_mtime_ns
