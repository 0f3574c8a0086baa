"""Which lines of notes came with the token of somebody else than the owner.

A mark in the note says so, too, but programs that rewrite notes may drop it, and then the line would count as the
owner's. This record is in memoriter's home. It cannot be made again: if it is deleted, marks alone decide.
"""

from __future__ import annotations

import json
import re
import unicodedata
from hashlib import sha256
from typing import TYPE_CHECKING, cast

from memoriter.errors import WriteError, sentence
from memoriter.permissions import folder_lock, make_private_folder, replace_private
from memoriter.plain_file import open_plain
from memoriter.workspace.untrusted import authors_of, without_mark

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

LONGEST = 256 << 20
"""Maximum bytes of the file."""
MOST_LINES = 200
"""Lines of a note that are recorded one by one. Of a note with more, every line counts, so that no token can fill the
record."""
EVERY_LINE = "*"
"""The key that stands for all lines of a note, once the note has no mark of their author any more."""
_ASIDE = "\0"
"""Begins the key of a note for what is recorded of lines that it had: an undo may bring them back."""
_WORD = re.compile(r"\w+")
_MARKER = re.compile(r"\s*(?:(?:[-*+•]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?)?")
Rows = dict[str, dict[str, str]]
"""By path of a note: the author of each line, by its hash, of its front matter or of every line."""


def line_key(line: str) -> str:
    """Return the hash of a line, without the marker of a list item, and of its words alone; empty for a blank line."""
    first, *rest = unicodedata.normalize("NFC", line).split("<!--")
    plain = first + "".join(part.partition("-->")[2] for part in rest)  # comments may change, and the words stay
    text = plain if plain.strip() else line
    text = text[_MARKER.match(text).end() :].strip()  # type: ignore[union-attr] - it matches every text
    words = " ".join(_WORD.findall(text)) or text
    return sha256(words.encode("utf-8", "replace")).hexdigest()[:32] if words else ""


def _front_key(lines: Sequence[str]) -> str:
    """Return the key of the front matter of a note; empty: it has none."""
    end = _front_end(lines)
    return f"front {sha256(chr(10).join(lines[:end]).encode('utf-8', 'replace')).hexdigest()[:32]}" if end else ""


def _front_end(lines: Sequence[str]) -> int:
    """Return the line after the front matter; 0: there is none."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    return next((at + 1 for at in range(1, len(lines)) if lines[at].rstrip() in {"---", "..."}), 0)


class WriterRecords:
    """The record for one folder of notes. Several processes may change it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._read: tuple[tuple[int, int], Rows] | None = None

    def authors(self, path: str, lines: Sequence[str], marked: Sequence[str]) -> list[str]:
        """Return the author of each line of a note; empty: the owner.

        The record counts where it has a line, whatever its mark says now.

        Args:
            path: the note, as cited.
            lines: all of its lines.
            marked: what their marks say.

        Raises:
            WriteError: the record is damaged.
        """
        recorded = self._rows().get(path)
        if recorded is None:
            return list(marked)
        # While a line of the same words has its mark, another one is somebody else's, who wrote the same.
        there = {line_key(without_mark(line)): author for line, author in zip(lines, marked, strict=True) if author}
        every = recorded.get(EVERY_LINE, "")
        if any(author.rpartition(", ")[0] == every.rpartition(", ")[0] for author in marked):
            every = ""
        front = _front_end(lines) if (author_of_front := recorded.get(_front_key(lines), "")) else 0
        authors = list[str]()
        for at, (line, author) in enumerate(zip(lines, marked, strict=True)):
            key = line_key(without_mark(line))
            found = recorded.get(key, every) if key and not (not author and key in there) else ""
            if at < front:
                found = author_of_front
            authors.append(found or author)
        return authors

    def check(self) -> None:
        """Raise WriteError if the record is damaged."""
        self._rows()

    def add(self, path: str, lines: Sequence[str], author: str, *, owned: Collection[str], front: str = "") -> None:
        """Record the author of lines of a note. Raises WriteError.

        Args:
            path: the note, as cited.
            lines: the lines.
            author: as in the mark.
            owned: the lines of the owner in the note, which stay theirs although somebody else writes the same.
            front: the text of the note, if its front matter is the author's.
        """
        theirs = set(map(line_key, owned))
        new = {key: author for line in lines if (key := line_key(line)) and key not in theirs}
        if front and (key := _front_key(front.split("\n"))):
            new[key] = author

        def change(rows: Rows) -> None:
            known = {**rows.get(path, {}), **new}
            if len(known) > MOST_LINES:
                fronts = {key: author for key, author in known.items() if key.startswith("front ")}
                known = {EVERY_LINE: author, **dict(list(fronts.items())[-1:])}
            rows[path] = known

        if new:
            self._change(change)

    def keep(self, path: str, text: str, *, for_good: bool = False) -> None:
        """Set aside what is recorded of lines that a note no longer has, or remove it for good. Raises WriteError."""
        rows = self._rows()
        if path in rows:
            left = {*_keys_of(text), EVERY_LINE, _front_key(text.split("\n"))} if text.strip() else set[str]()
            self._drop(path, lambda key: key not in left, aside=not for_good)
        if for_good and not text.strip() and _ASIDE + path in rows:
            self._change(lambda rows: rows.pop(_ASIDE + path, None))

    def copy(self, path: str, new: str) -> None:
        """Record of a note under a new name what is recorded of it under its present one. Raises WriteError."""
        recorded = self._rows().get(path)
        if recorded:
            self._change(lambda rows: rows.update({new: {**rows.get(new, {}), **recorded}}))

    def bring_back(self, path: str, text: str) -> None:
        """Record again what was set aside of lines that a note has again. Raises WriteError."""
        aside = self._rows().get(_ASIDE + path, {})
        wanted = {*_keys_of(text), EVERY_LINE, _front_key(text.split("\n"))}
        back = {key: author for key, author in aside.items() if key in wanted}
        if back:
            self._change(lambda rows: rows.update({path: {**rows.get(path, {}), **back}}))

    def adopt(self, path: str, before: str, after: str) -> None:
        """Remove what is recorded of lines that are there without the marks that they had: they are the owner's now.

        Raises WriteError.
        """
        if path not in self._rows():
            return
        adopted = (_keys_of(before, marked=True) & _keys_of(after)) - _keys_of(after, marked=True)
        has_marks = bool(_keys_of(after, marked=True))
        self._drop(path, lambda key: key in adopted or (key == EVERY_LINE and bool(adopted) and not has_marks))

    def _drop(self, path: str, is_gone: Callable[[str], bool], *, aside: bool = False) -> None:
        known = self._rows()[path]
        kept = {key: author for key, author in known.items() if not is_gone(key)}
        if len(kept) == len(known):
            return

        def change(rows: Rows) -> None:
            rows.pop(path, None)
            if kept:
                rows[path] = kept
            if aside:
                gone = {key: author for key, author in known.items() if key not in kept}
                earlier = {key: author for key, author in rows.get(_ASIDE + path, {}).items() if key not in gone}
                rows[_ASIDE + path] = dict([*earlier.items(), *gone.items()][-MOST_LINES:])

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
