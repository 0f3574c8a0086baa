"""Text of notes that an agent's sessions keep: what each was given, and logs as they were before a flush.

What a session was given is put together anew when it is needed, so forgetting deletes all of it. A copy of a log may be
the only place of lines that a model removed, so forgetting takes out of it only what is forgotten.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast
from unicodedata import normalize

from memoriter.errors import MemoriterError
from memoriter.ids import bytes_hash
from memoriter.plain_file import read_plain
from memoriter.workspace import MAX_BYTES, blocks_with, holds, replace

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTEXTS, COPIES = "contexts", "flushes"
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_NOT_A_WORD = re.compile(r"\W+")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be forgotten, as it is looked for in these files: a text, or lines of notes."""

    match: str | None
    rows: frozenset[str] = frozenset()
    """The lines, without white space around them and none of them empty."""

    def is_in(self, text: str) -> bool:
        """Whether a text holds it, also where its marks are written otherwise, such as `<` as `&lt;`."""
        if self.match is None:
            return any(row.strip() in self.rows for row in text.split("\n"))
        words = _words(self.match)
        return holds(text, self.match) or (bool(words) and words in _words(text))

    def lines(self, content: bytes) -> set[int]:
        """Return the numbers of the lines that would go from a log, from 1."""
        if self.match is not None:
            passages = blocks_with(content, self.match)
            return {line for passage in passages for line in range(passage.start_line, passage.end_line + 1)}
        rows = (row.decode("utf-8", "replace").strip() for row in content.split(b"\n"))
        return {number for number, row in enumerate(rows, 1) if row in self.rows}


def kept_with(wanted: Wanted, sessions: Path | None) -> tuple[Path, ...]:
    """Return the files beside an agent's sessions that hold what is to be forgotten.

    Args:
        wanted: what is to be forgotten.
        sessions: the folder of the agent's transcripts.
    """
    if sessions is None:
        return ()
    contexts = [file for file in _files(sessions.with_name(CONTEXTS)) if wanted.is_in(_told(_content(file)))]
    copies = [file for file in _files(sessions.with_name(COPIES)) if wanted.lines(_content(file))]
    return (*contexts, *copies)


def contexts_of(sessions: Path | None) -> list[Path]:
    """Return every file with what a session of the agent was given."""
    return list(_files(sessions.with_name(CONTEXTS))) if sessions is not None else []


def cut_from_copies(wanted: Wanted, sessions: Path | None) -> list[Path]:
    """Take what is to be forgotten out of an agent's copies of logs; return those that have to be deleted for it."""
    left = list[Path]()
    for file in _files(sessions.with_name(COPIES)) if sessions is not None else ():
        content = _content(file)
        if not (gone := wanted.lines(content)):
            continue
        rest = b"".join(line for number, line in enumerate(_LINE.findall(content), 1) if number not in gone)
        if wanted.lines(rest):
            left.append(file)
            continue
        try:
            replace(file, rest, expected=bytes_hash(content))
        except MemoriterError:
            left.append(file)
    return left


def _files(folder: Path) -> Iterator[Path]:
    try:
        yield from sorted(file for file in folder.iterdir() if not file.is_symlink() and file.is_file())
    except OSError:
        return


def _content(file: Path) -> bytes:
    try:
        return read_plain(file, MAX_BYTES)
    except OSError:  # gone meanwhile
        return b""


def _told(content: bytes) -> str:
    """What the file of a context says, without the marks of JSON."""
    try:
        known = json.loads(content)
    except (ValueError, RecursionError):
        return content.decode("utf-8", "replace")
    values = cast("dict[str, object]", known).values() if isinstance(known, dict) else ()
    return "\n".join(value for value in values if isinstance(value, str))


def _words(text: str) -> str:
    import html  # its table of names is large, and only this needs it

    return _NOT_A_WORD.sub("", normalize("NFC", html.unescape(text)))
