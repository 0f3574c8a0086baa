"""Split lines of Markdown into blocks: only where each begins and ends, not what it contains."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from memoriter.types import ORIGIN
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

Kind = Literal["heading", "item", "text", "quote", "fence", "comment", "rule", "front"]


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together: `start` up to but not including `end`, 0-based, without blank lines at the ends."""

    kind: Kind
    start: int
    end: int
    depth: int = 0
    """Number of list items that contain the block."""
    level: int = 0
    """Level of a heading, 1 to 6; 0 for other blocks."""
    title: str = ""


_HEADING = re.compile(r"(#{1,6})(?:[ \t]+|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t\r]*$")
_BULLET = re.compile(r"[-*+•](?=[ \t]|$)")
_NUMBER = re.compile(r"(\d{1,9})[.)](?=[ \t]|$)")
_FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})")
_RAW = re.compile(r"<(pre|script|style|textarea)(?=[\s>]|$)", re.IGNORECASE)
_FRONT = re.compile(r"[\w.-]+[ \t]*:|#|---")
_LABEL = re.compile(
    r"(?:\[[^\]]{1,40}\][ \t]?)?(?:\*\*|__)?\w[\w .'()/-]{0,39}(?:\*\*|__)?[:：](?:\*\*|__)?(?=[ \t\r]|$)"
)
"""`Alice:`, `**Alice:**` or `[14:15] Alice:` before a message or fact."""
_NESTED = 2
"""Columns from a list marker to the content of the item; CommonMark requires 3 after `1.`, but people write 2."""


def scan_blocks(lines: Sequence[str]) -> list[Block]:
    """Return the blocks in order; every line that is not blank is in exactly one block."""
    return _scan(lines, frozenset()).blocks


def scan_closed_blocks(lines: Sequence[str]) -> list[Block]:
    """Return the blocks of a text in which unclosed fences, comments and raw HTML contain no further lines.

    If a mark has no closing line, or a fence opens inside a fence, the extent of the block is unknown. Then all marks
    of that kind are ordinary lines.
    """
    disabled = frozenset[str]()
    while unclosed := (scanner := _scan(lines, disabled)).unclosed - disabled:
        disabled |= unclosed
    return scanner.blocks


def subtree_ends(blocks: Sequence[Block]) -> list[int]:
    """Return for each block the index after the last block inside it."""
    ends = [len(blocks)] * len(blocks)
    inside: list[int] = []
    for at, block in enumerate(blocks):
        while inside and blocks[inside[-1]].depth >= block.depth:
            ends[inside.pop()] = at
        inside.append(at)
    return ends


def _scan(lines: Sequence[str], disabled: frozenset[str]) -> _Scanner:
    scanner = _Scanner(lines, disabled)
    line = scanner.front_matter()
    while line < len(lines):
        line = scanner.step(line)
    return scanner


class _Scanner:
    """A pass over the lines that tracks the open list items and whether the last block may continue."""

    def __init__(self, lines: Sequence[str], disabled: frozenset[str] = frozenset()) -> None:
        """Start before the first line; marks of a kind in `disabled` (`fence`, `raw`, `comment`) open no block."""
        self.lines = lines
        self.disabled = disabled
        self.unclosed = set[str]()
        """Kinds of marks that were not closed, or were opened again before they were closed."""
        self.blocks: list[Block] = []
        self.items: list[int] = []
        """First column of the content of each open list item, outermost first."""
        self.open = False
        """True if a plain line may continue the last block."""

    def front_matter(self) -> int:
        """Return the line after the front matter, or 0 if the text has none."""
        lines = self.lines
        if len(lines) < 2 or lines[0].rstrip() != "---" or not _FRONT.match(lines[1]):
            return 0
        closing = (at for at, line in enumerate(lines[1:], 1) if line.rstrip() in {"---", "..."})
        end = next(closing, None)
        return 0 if end is None else self._add("front", 0, end + 1)

    def step(self, at: int) -> int:
        """Consume the line `at`, and those of its block where it opens one, and return the next line to consume."""
        line = self.lines[at]
        if not line.strip():
            self.open = False
            return at + 1
        column, body = _indent(line)
        return (
            self._underlined(at)
            or self._fence(at, column, body)
            or self._comment(at, column, body)
            or self._heading(at, column, body)
            or self._rule(at, column, body)
            or self._item(at, column, body)
            or self._quote(at, column, body)
            or self._text(at, column, body)
        )

    def _underlined(self, at: int) -> int:
        """Turn a single line with `===` or `---` below it into a heading; below several lines the mark is a rule."""
        last = self.blocks[-1] if self.open else None
        match = _UNDERLINE.match(self.lines[at]) if last and last.kind == "text" and not last.depth else None
        if last is None or match is None or last.end - last.start > 1:
            return 0
        level = 1 if match[1][0] == "=" else 2
        self.blocks[-1] = replace(last, kind="heading", end=at + 1, level=level, title=self.lines[last.start])
        self.open = False
        return at + 1

    def _fence(self, at: int, column: int, body: str) -> int:
        end = self._fence_end(at, column, body)
        if end:
            self._close_items(column)
            self._add("fence", at, end)
        return end

    def _fence_end(self, at: int, column: int, body: str) -> int:
        """Return the line after the fenced or raw block that `body` opens, or 0 if it opens none.

        A block without a closing line extends to the end of the list item or of the text.
        """
        inside = max((limit for limit in self.items if limit <= column), default=0)
        if "fence" not in self.disabled and (match := _FENCE.match(body)):
            kind, first_line, mark = "fence", at + 1, rf"{re.escape(match[1][0])}{{{len(match[1])},}}"
            closing, reopening = re.compile(rf"[ \t]*{mark}[ \t\r]*$"), re.compile(rf"[ \t]*{mark}[ \t]*\w")
        elif "raw" not in self.disabled and (match := _RAW.match(body)):
            kind, first_line, closing = "raw", at, re.compile(rf".*</{match[1]}>", re.IGNORECASE)
            reopening = re.compile(rf"[ \t]*<{match[1]}(?=[\s>])", re.IGNORECASE)
        else:
            return 0
        for line in range(first_line, len(self.lines)):
            text = self.lines[line]
            if inside and line > at and text.strip() and _indent(text)[0] < inside:
                self.unclosed.add(kind)
                return self._last_nonblank(at, line)
            if line > at and reopening.match(text):
                self.unclosed.add(kind)
            if closing.match(text):
                return line + 1
        self.unclosed.add(kind)
        return self._last_nonblank(at, len(self.lines))

    def _comment(self, at: int, column: int, body: str) -> int:
        """Add a comment on lines of its own to the block directly above, or as a block that joins its neighbour."""
        if "comment" in self.disabled or not body.startswith("<!--"):
            return 0
        end = next((line for line in range(at, len(self.lines)) if "-->" in self.lines[line]), None)
        if end == at and body.rpartition("-->")[2].strip():
            return 0
        inner = self.lines[at + 1 : None if end is None else end + 1]
        if end is None or any(line.lstrip().startswith("<!--") for line in inner):
            self.unclosed.add("comment")
        after = self._last_nonblank(at, len(self.lines)) if end is None else end + 1
        if self.open and not ORIGIN.match(
            body
        ):  # a mark of origin applies to the lines below it, not to the block above
            self.blocks[-1] = replace(self.blocks[-1], end=after)
            return after
        self._close_items(column)
        return self._add("comment", at, after)

    def _heading(self, at: int, column: int, body: str) -> int:
        match = _HEADING.match(body) if column < 4 and not self._inside(column) else None
        if match is None:
            return 0
        self._close_items(0)
        return self._add("heading", at, at + 1, level=len(match[1]), title=body[match.end() :])

    def _rule(self, at: int, column: int, body: str) -> int:
        marks = body.replace(" ", "").replace("\t", "").rstrip("\r")
        if len(marks) < 3 or marks[0] not in "-*_" or marks != marks[0] * len(marks):
            return 0
        self._close_items(column)
        return self._add("rule", at, at + 1)

    def _item(self, at: int, column: int, body: str) -> int:
        bullet, number = _BULLET.match(body), _NUMBER.match(body)
        marker = bullet or number
        if marker is None:
            return 0
        rest = body[marker.end() :].strip()
        in_prose = self.open and (self.blocks[-1].kind == "text" or self._inside(column))
        if in_prose and (not rest or (number and int(number[1]) != 1 and not self._continues_list(column))):
            return 0
        self._close_items(column)
        self._add("item", at, at + 1, stays_open=True)
        self.items.append(column + _NESTED)
        end = self._fence_end(at, column + _NESTED, rest)
        if end > at + 1:
            self.blocks[-1] = replace(self.blocks[-1], end=end)
        return max(end, at + 1)

    def _continues_list(self, column: int) -> bool:
        """Return whether the line is the next number of an open list."""
        return any(limit - _NESTED <= column < limit for limit in self.items)

    def _quote(self, at: int, column: int, body: str) -> int:
        if not body.startswith(">") or (self.open and self.blocks[-1].kind == "quote"):
            return 0
        self._close_items(column)
        return self._add("quote", at, at + 1, stays_open=True)

    def _text(self, at: int, column: int, body: str) -> int:
        if self.open and not self._starts_labelled_line(body):
            self.blocks[-1] = replace(self.blocks[-1], end=at + 1)
            return at + 1
        self._close_items(column)
        return self._add("text", at, at + 1, stays_open=True)

    def _starts_labelled_line(self, body: str) -> bool:
        """Return whether another labelled line begins, as in a conversation or a list of facts."""
        last = self.blocks[-1]
        labelled = last.kind == "text" and _LABEL.match(_indent(self.lines[last.start])[1])
        return bool(labelled and _LABEL.match(body))

    def _inside(self, column: int) -> bool:
        return bool(self.items) and column >= self.items[-1]

    def _close_items(self, column: int) -> None:
        """Close the list items that do not contain a line in this column."""
        while self.items and column < self.items[-1]:
            self.items.pop()

    def _last_nonblank(self, start: int, end: int) -> int:
        while end > start + 1 and not self.lines[end - 1].strip():
            end -= 1
        return end

    def _add(
        self, kind: Kind, start: int, end: int, *, level: int = 0, title: str = "", stays_open: bool = False
    ) -> int:
        self.blocks.append(Block(kind, start, end, len(self.items), level, title))
        self.open = stays_open
        return end


def _indent(line: str) -> tuple[int, str]:
    """Return the column of the first character, with tab stops at multiples of 4, and the line from there."""
    body = line.lstrip(" \t")
    lead = line[: len(line) - len(body)]
    return (len(lead.expandtabs(4)) if "\t" in lead else len(lead)), body


_CLOSING_MARKS = re.compile(r"(?<![ \t])[ \t]++#++[ \t]*+$")
_COMMENT = re.compile(r"<!--.{0,200}?-->")
_WIKI_LINK = re.compile(r"!?\[\[(?:[^\[\]|]{0,200}\|)?([^\[\]|]{1,200})\]\]")
_LINK = re.compile(r"!?\[([^\[\]]{0,200})\]\([^()]{0,400}\)")
_EMPHASIS = re.compile(r"(\*{1,3}|_{2,3}|~~|`{1,3})(?=\S)([^*`~]{1,200}?)(?<=\S)\1")
_LONGEST_TITLE = 200


def plain_title(title: str) -> str:
    """Return a heading's text without the marks of links, emphasis and code, at most 200 characters long."""
    text = _CLOSING_MARKS.sub("", title[: 4 * _LONGEST_TITLE].rstrip())
    for pattern, keep in ((_COMMENT, ""), (_WIKI_LINK, r"\1"), (_LINK, r"\1"), (_EMPHASIS, r"\2")):
        text = pattern.sub(keep, text)
    return " ".join(text.split())[:_LONGEST_TITLE].strip()
