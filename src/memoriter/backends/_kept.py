"""Copies of note text beside an agent's sessions: the context given to each, and logs from before a flush.

A context is assembled again when it is needed, so forgetting deletes all contexts. A copy of a log may be the only
place of lines that a model removed, so forgetting removes only the forgotten text from it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, cast
from unicodedata import normalize

from memoriter.errors import MemoriterError
from memoriter.ids import bytes_hash
from memoriter.plain_file import read_plain
from memoriter.values import dataclass
from memoriter.workspace import MAX_BYTES, blocks_with, holds, replace

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTEXTS, COPIES = "contexts", "flushes"
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_NOT_A_WORD = re.compile(r"\W+")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The text to forget, in the form that is searched for in these files: a text, or lines of notes."""

    match: str | None
    rows: frozenset[str] = frozenset()
    """The lines, stripped of surrounding white space, without empty ones."""

    def is_in(self, text: str) -> bool:
        """Return whether a text contains it, even if its marks are escaped, such as `<` as `&lt;`."""
        if self.match is None:
            return any(row.strip() in self.rows for row in text.split("\n"))
        words = _words(self.match)
        return holds(text, self.match) or (bool(words) and words in _words(text))

    def lines(self, content: bytes) -> set[int]:
        """Return the numbers, from 1, of the lines to remove from a log."""
        if self.match is not None:
            passages = blocks_with(content, self.match)
            return {line for passage in passages for line in range(passage.start_line, passage.end_line + 1)}
        rows = (row.decode("utf-8", "replace").strip() for row in content.split(b"\n"))
        return {number for number, row in enumerate(rows, 1) if row in self.rows}


def files_containing(wanted: Wanted, sessions: Path | None) -> tuple[Path, ...]:
    """Return the files beside an agent's sessions that contain the text to forget.

    Args:
        wanted: the text to forget.
        sessions: the folder of the agent's transcripts.
    """
    if sessions is None:
        return ()
    contexts = [file for file in _files(sessions.with_name(CONTEXTS)) if wanted.is_in(_context_text(_content(file)))]
    copies = [file for file in _files(sessions.with_name(COPIES)) if wanted.lines(_content(file))]
    return (*contexts, *copies)


def contexts_of(sessions: Path | None) -> list[Path]:
    """Return every file with the context that was given to a session of the agent."""
    return list(_files(sessions.with_name(CONTEXTS))) if sessions is not None else []


def cut_from_copies(wanted: Wanted, sessions: Path | None) -> list[Path]:
    """Remove the text to forget from an agent's copies of logs. Return copies that must be deleted instead."""
    to_delete = list[Path]()
    for file in _files(sessions.with_name(COPIES)) if sessions is not None else ():
        content = _content(file)
        if not (removed := wanted.lines(content)):
            continue
        remaining = b"".join(line for number, line in enumerate(_LINE.findall(content), 1) if number not in removed)
        if wanted.lines(remaining):
            to_delete.append(file)
            continue
        try:
            replace(file, remaining, expected=bytes_hash(content))
        except MemoriterError:
            to_delete.append(file)
    return to_delete


def _files(folder: Path) -> Iterator[Path]:
    try:
        yield from sorted(file for file in folder.iterdir() if not file.is_symlink() and file.is_file())
    except OSError:
        return


def _content(file: Path) -> bytes:
    try:
        return read_plain(file, MAX_BYTES)
    except OSError:  # deleted meanwhile
        return b""


def _context_text(content: bytes) -> str:
    """Return the text of a context file, without the JSON syntax."""
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError):
        return content.decode("utf-8", "replace")
    values = cast("dict[str, object]", fields).values() if isinstance(fields, dict) else ()
    return "\n".join(value for value in values if isinstance(value, str))


def _words(text: str) -> str:
    import html  # imported here because its table of names is large

    return _NOT_A_WORD.sub("", normalize("NFC", html.unescape(text)))
