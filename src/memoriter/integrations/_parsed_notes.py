"""The notes of a folder, each parsed once for as long as its file does not change."""

from __future__ import annotations

import os
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

from memoriter.integrations._edits import open_note
from memoriter.integrations._notes import read_note

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.integrations._notes import Note
    from memoriter.memory import Memory
    from memoriter.types import Source

T = TypeVar("T")
SETTLED_SECONDS = 2.5
"""A file that was changed less long ago is always read again. File systems store times in steps, of two seconds on FAT,
and a second change within one step leaves size, times and inode as they are."""


class ParsedNotes(Generic[T]):
    """Returns what the notes below a folder hold. Threads may share it."""

    def __init__(self, memory: Memory, parse: Callable[[str, Note, float], T]) -> None:
        """Begin without any note.

        Args:
            memory: the memory of the notes.
            parse: called with the path, the note, and when its file was changed, in seconds since 1970. Callers must
                not modify what it returns, because the next call returns the same.
        """
        self._memory = memory
        self._parse = parse
        self._known: dict[str, tuple[Source, T]] = {}
        self._lock = Lock()

    def below(self, folder: str) -> dict[str, T]:
        """Return what each note below a folder holds, by path. Raises PathRefused if one cannot be read."""
        inside = f"{folder}/"
        sources = [source for source in self._memory.sources() if source.path.startswith(inside)]
        found = dict[str, T]()
        with self._lock:
            known = {path: each for path, each in self._known.items() if path.startswith(inside)}
            for path in known.keys() - {source.path for source in sources}:
                del self._known[path]
            for source in sources:
                before, parsed = known.get(source.path, (None, None))
                if parsed is None or before != source:
                    parsed = self._read(source)
                if parsed is not None:
                    found[source.path] = parsed
        return found

    def _read(self, source: Source) -> T | None:
        """Read a note, and keep it if a later change of its file is certain to be seen; None: it is gone."""
        self._known.pop(source.path, None)
        now = self._memory.now().timestamp()
        opened = open_note(source.path, source.file)
        if opened is None:
            return None
        with opened:
            status = os.fstat(opened.fileno())
            content = opened.read()
        parsed = self._parse(source.path, read_note(content.decode("utf-8", "replace")), status.st_mtime)
        if abs(now - status.st_ctime) > SETTLED_SECONDS:
            self._known[source.path] = (source, parsed)
        return parsed
