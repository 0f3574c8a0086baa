"""Who wrote the lines of notes: the record of what came with tokens, and the marks of a note that was sent as a whole.

A mark in the note says who wrote a line, too, but programs that rewrite notes may drop it, and then the line would
count as the owner's. The record is in memoriter's home. It cannot be made again: if it is deleted, marks alone decide.

A text that somebody else sent as a whole may hold any mark, or none, so its marks do not count. A block keeps its
author if it stood in the old note in the same words, below the same headings and in the same list item; whoever sent
the text is the author of the rest.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import deque
from dataclasses import replace
from hashlib import sha256
from itertools import groupby
from typing import TYPE_CHECKING, cast

from memoriter.errors import MemoriterError, WriteError, sentence
from memoriter.permissions import folder_lock, make_private_folder, replace_private
from memoriter.plain_file import open_plain
from memoriter.values import dataclass
from memoriter.workspace._paths import is_client_memory
from memoriter.workspace.untrusted import authors_of, disarmed, origin_words, without_mark

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from memoriter.types import Hit
    from memoriter.workspace.chunking import Block

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
        """Return the author of each line of a note; empty: the owner. Raises WriteError.

        The record counts where it has a line, whatever its mark says now; `marked` is what the marks say.
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


UNKNOWN = "somebody"
"""The author of a line that its note no longer has."""


def hit_authors(authors: Callable[[str], list[str]], hit: Hit) -> tuple[str, ...]:
    """Return who wrote each line of a passage, such as `agent, 2026-11-22`; empty: the owner.

    Conversations, and what clients remember by themselves, count as written by the owner's agents.
    """
    count = hit.end_line - hit.start_line + 1
    at = hit.date or hit.changed
    day = f", {at.isoformat()}" if at else ""
    if hit.source != "memory":
        return (f"agent (conversation){day}",) * count
    if is_client_memory(hit.path):
        return (f"agent (its own memory){day}",) * count
    try:
        written_by = authors(hit.path)[hit.start_line - 1 : hit.end_line]
    except MemoriterError:
        written_by = []
    return (*written_by, *[UNKNOWN] * (count - len(written_by)))


def author_of_hit(authors: Callable[[str], list[str]], hit: Hit) -> str:
    """Return who besides the owner wrote a passage; empty: nobody."""
    return "; ".join(dict.fromkeys(filter(None, hit_authors(authors, hit))))


_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,9}[.)])[ \t]+(?!```|~~~)\S")


@dataclass(frozen=True, slots=True)
class _Part:
    """A block of a note, without its marks."""

    block: Block
    key: tuple[str, ...]
    """Its words, below the words of the headings and list items that contain it."""
    author: str
    entry: int
    """Number of the mark that applies to it; blocks with one number are one entry."""


def with_authors(before: str, after: str, origin: str, day: str) -> tuple[str, list[str]]:
    """Return a new text of a note with the marks of all authors but the owner.

    The marks of `before` are right. `origin` sent `after`, such as `build via HTTP`, on a `day` as `YYYY-MM-DD`.

    Returns:
        The new text, and the lines in it that are new or changed. Its marks are those of `before`, and one for each
        entry that is new or changed. The front matter has none, because nothing may stand above it.
    """
    if before == after:
        return after, []
    _, old = _parse(before)
    lines, new = _parse(after)
    known: dict[tuple[str, ...], deque[tuple[str, int]]] = {}
    for part in old:
        known.setdefault(part.key, deque()).append((part.author, part.entry))
    mark = origin_words(origin, day)
    authors: list[tuple[str, int]] = []
    number = -1
    for part in new:
        if earlier := known.get(part.key):
            authors.append(earlier.popleft())
            number -= 1  # what follows an old block is an entry of its own
        else:
            authors.append((mark, number))
    changed = list[str]()
    for part, (author, _) in zip(new, authors, strict=True):
        if author == mark:
            place = slice(part.block.start, part.block.end)
            lines[place] = map(disarmed, lines[place])
            changed += lines[place]
    return "\n".join(_marked_lines(lines, new, authors)), changed


def _parse(text: str) -> tuple[list[str], list[_Part]]:
    """Return the lines of a note without its marks, and its blocks."""
    from memoriter.workspace.chunking import scan_blocks  # for a note that is sent as a whole

    plain = list[str]()
    authors = list[str]()
    entries = list[int]()
    entry = 0
    lines = text.split("\n")
    for line, author in zip(lines, authors_of(lines), strict=True):
        words = without_mark(line)
        entry += words != line
        if words == line or words.strip():
            ending = "\r" if words != line and line.endswith("\r") else ""
            plain.append(words + ending)
            authors.append(author)
            entries.append(entry)
    parts = list[_Part]()
    above = list[tuple[int, str]]()
    for block in _split_blocks(scan_blocks(plain), list(zip(authors, entries, strict=True))):
        words = "\n".join(line.rstrip() for line in plain[block.start : block.end])
        # Headings contain what follows; items contain what is deeper. Both are kept with a rank that orders them.
        rank = block.level if block.kind == "heading" else 7 + block.depth
        while above and above[-1][0] >= rank:
            above.pop()
        key = (*(each for _, each in above), words)
        parts.append(_Part(block, key, authors[block.start], entries[block.start]))
        if block.kind in {"heading", "item"}:
            above.append((rank, words))
    return plain, parts


def _split_blocks(blocks: Iterable[Block], origins: Sequence[tuple[str, int]]) -> Iterator[Block]:
    """Yield the blocks, each divided where another entry begins: without marks, two may look like one paragraph."""
    for block in blocks:
        start = block.start
        for at in range(block.start + 1, block.end):
            if origins[at] != origins[at - 1]:
                yield replace(block, start=start, end=at)
                start = at
        rest = replace(block, start=start)
        yield rest if start == block.start else replace(rest, kind="text", depth=block.depth + (block.kind == "item"))


def _marked_lines(lines: Sequence[str], parts: Sequence[_Part], authors: Sequence[tuple[str, int]]) -> list[str]:
    result = list[str]()
    at = 0
    for (author, _), group in groupby(zip(parts, authors, strict=True), key=lambda pair: pair[1]):
        blocks = [part.block for part, _ in group]
        result += lines[at : blocks[0].start]
        at = blocks[-1].end
        entry = lines[blocks[0].start : at]
        if author and blocks[0].kind == "front":
            rest = blocks[1].start if len(blocks) > 1 else at
            result += lines[blocks[0].start : rest]
            entry = lines[rest:at]
            blocks = blocks[1:]
        result += _marked_entry(entry, blocks, author) if author and blocks else entry
    return [*result, *lines[at:]]


def _marked_entry(entry: Sequence[str], blocks: Sequence[Block], author: str) -> list[str]:
    """Return the lines of one entry with its marks: one at the end of each list item, if it applies to all lines."""
    first = blocks[0].start
    end = "\r" if entry[0].endswith("\r") else ""
    items = _outer_items(entry, {block.start - first for block in blocks if block.kind == "item"})
    if 0 in items and all(_ITEM.match(entry[at]) for at in items) and _are_indented(entry, items):
        mark = f" <!-- from: {author} -->{end}"
        return [line.rstrip() + mark if at in items else line for at, line in enumerate(entry)]
    indent = entry[0][: _indent(entry[0])]
    name = author.rpartition(", ")[0] or author
    return [f"{indent}<!-- from: {author} -->{end}", *entry, f"{indent}<!-- end: {name} -->{end}"]


def _outer_items(entry: Sequence[str], items: set[int]) -> set[int]:
    """Return the items that are not inside of another one, which a mark of that one covers."""
    outer = set[int]()
    column = -1
    for at in sorted(items):
        if column < 0 or _indent(entry[at]) <= column:
            outer.add(at)
            column = _indent(entry[at])
    return outer


def _are_indented(entry: Sequence[str], items: set[int]) -> bool:
    """Return whether each line that begins no item is deeper than the item above it."""
    column = 0
    for at, line in enumerate(entry):
        if at in items:
            column = _indent(line)
        elif line.strip() and _indent(line) <= column:
            return False
    return True


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))
