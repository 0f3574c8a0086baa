"""Which lines of notes came with the token of somebody else than the owner.

A mark in the note says so, too, but programs that rewrite notes may drop it, and then the line would count as the
owner's. This record is in memoriter's home. It cannot be made again: if it is deleted, marks alone decide.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import TYPE_CHECKING, cast

from memoriter.errors import WriteError, sentence
from memoriter.permissions import folder_lock, make_private_folder, replace_private
from memoriter.plain_file import open_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

LONGEST = 64 << 20
"""Maximum bytes of the file."""
_WORD = re.compile(r"\w+")
Rows = dict[str, dict[str, str]]
"""By path of a note: the author of each line, by its hash."""


def line_key(line: str) -> str:
    """Return the hash of the words of a line, 32 hexadecimal digits; empty for a line without words."""
    words = " ".join(_WORD.findall(line))
    if not words:
        return ""
    return sha256(words.encode("utf-8", "replace")).hexdigest()[:32]


class WriterRecords:
    """The record for one folder of notes. Several processes may change it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._read: tuple[tuple[int, int], Rows] | None = None

    def of(self, path: str) -> Mapping[str, str]:
        """Return the recorded authors of the lines of a note, by the hashes of the lines.

        Raises:
            WriteError: the record is damaged.
        """
        return self._rows().get(path, {})

    def add(self, path: str, lines: Iterable[str], author: str) -> None:
        """Record the author of lines that are about to be written into a note. Raises WriteError."""
        new = {key: author for line in lines if (key := line_key(line))}
        if new:
            self._change(lambda rows: rows.setdefault(path, {}).update(new))

    def drop(self, path: str, keys: Iterable[str]) -> None:
        """Remove what is recorded of lines that are gone, or that the owner has made theirs. Raises WriteError.

        Args:
            path: the note, as cited.
            keys: hashes of the lines.
        """
        gone = set(keys) & self.of(path).keys()
        if not gone:
            return

        def change(rows: Rows) -> None:
            rows[path] = {key: author for key, author in rows.get(path, {}).items() if key not in gone}
            if not rows[path]:
                del rows[path]

        self._change(change)

    def _rows(self) -> Rows:
        try:
            with open_plain(self._file, owned=True) as opened:
                status = self._file.stat()
                stamp = status.st_mtime_ns, status.st_size
                if self._read is None or self._read[0] != stamp:
                    self._read = stamp, _parsed(opened.read(LONGEST))
                return self._read[1]
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            message = f"The record of what came with tokens, {str(self._file)!r}, cannot be read: {sentence(error)}"
            remedy = "Until you restore or delete the file, no note counts as yours."
            raise WriteError(message, remedy=remedy) from error

    def _change(self, change: Callable[[Rows], object]) -> None:
        try:
            make_private_folder(self._file.parent)
            with folder_lock(self._file.parent):
                rows = {path: dict(lines) for path, lines in self._rows().items()}
                change(rows)
                replace_private(self._file, json.dumps(rows, ensure_ascii=False, sort_keys=True).encode())
        except OSError as error:
            message = f"The file {str(self._file)!r} was not written: {sentence(error.strerror or error)}"
            raise WriteError(message, remedy="Check the folder, its permissions and the free space.") from error


def _parsed(content: bytes) -> Rows:
    rows = cast("object", json.loads(content))
    if not isinstance(rows, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 (one kind of damage)
    checked: Rows = {}
    for path, lines in cast("dict[str, object]", rows).items():
        if not isinstance(lines, dict):
            raise ValueError(f"the rows of {path!r} are no JSON object")  # noqa: TRY004
        checked[path] = {key: str(author) for key, author in cast("dict[str, object]", lines).items()}
    return checked
