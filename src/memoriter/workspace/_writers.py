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
from memoriter.workspace.untrusted import authors_of, without_mark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

LONGEST = 256 << 20
"""Maximum bytes of the file."""
MOST_LINES = 200
"""Lines of a note that are recorded, the latest, so that no token can fill the record. Of older ones, marks decide."""
EVERY_LINE = "*"
"""The key that stands for all lines of a note."""
_WORD = re.compile(r"\w+")
Rows = dict[str, dict[str, str]]
"""By path of a note: the author of each line, by its hash, or of every line."""


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

    def authors(self, path: str, lines: Sequence[str]) -> list[str]:
        """Return the recorded author of each line of a note; empty: none.

        Args:
            path: the note, as cited.
            lines: all of its lines.

        Raises:
            WriteError: the record is damaged.
        """
        recorded = self._rows().get(path)
        if recorded is None:
            return [""] * len(lines)
        every = recorded.get(EVERY_LINE, "")
        return [recorded.get(line_key(line), every) if line.strip() else "" for line in lines]

    def add(self, path: str, lines: Iterable[str], author: str, *, whole: bool = False) -> None:
        """Record the author of lines that are about to be written into a note. Raises WriteError.

        Args:
            path: the note, as cited.
            lines: the lines.
            author: as in the mark.
            whole: whether the note has no other lines.
        """
        new = {key: author for line in lines if (key := line_key(line))}
        if whole and len(new) > MOST_LINES:
            new = {EVERY_LINE: author}

        def change(rows: Rows) -> None:
            known = {**rows.get(path, {}), **new}
            rows[path] = dict(list(known.items())[-MOST_LINES:])

        if new:
            self._change(change)

    def keep(self, path: str, text: str) -> None:
        """Remove what is recorded of lines that a note no longer has. Raises WriteError."""
        if path in self._rows():
            left = {*_keys_of(text), EVERY_LINE} if text.strip() else set[str]()
            self._drop(path, lambda key: key not in left)

    def adopt(self, path: str, before: str, after: str) -> None:
        """Remove what is recorded of lines whose marks the owner has removed: they are the owner's now.

        Raises WriteError.
        """
        if path in self._rows():
            adopted = _keys_of(before, marked=True) - _keys_of(after, marked=True)
            self._drop(path, lambda key: key in adopted or (key == EVERY_LINE and bool(adopted)))

    def _drop(self, path: str, is_gone: Callable[[str], bool]) -> None:
        known = self._rows()[path]
        kept = {key: author for key, author in known.items() if not is_gone(key)}
        if len(kept) == len(known):
            return

        def change(rows: Rows) -> None:
            rows.pop(path, None)
            if kept:
                rows[path] = kept

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
                replace_private(self._file, json.dumps(rows, ensure_ascii=False).encode())
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


def _keys_of(text: str, *, marked: bool = False) -> set[str]:
    """Return the keys of the lines of a note, or of those only that have marks."""
    lines = text.split("\n")
    rows = zip(lines, authors_of(lines), strict=True)
    return {line_key(without_mark(line)) for line, author in rows if author or not marked}
