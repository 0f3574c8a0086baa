"""Mark what somebody else than the owner changed in a note that they sent as a whole.

Such a text may hold any mark, or none, so its marks do not count. A block keeps its author if it stood in the old note
in the same words, below the same headings and in the same list item; whoever sent the text is the author of the rest.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from memoriter.values import dataclass
from memoriter.workspace.chunking import scan_blocks
from memoriter.workspace.untrusted import authors_of, disarmed, origin_words, without_mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from memoriter.workspace.chunking import Block

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

    Args:
        before: the present text, whose marks are right.
        after: the new text.
        origin: who sent it, such as `build via HTTP`.
        day: date as `YYYY-MM-DD`.

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
