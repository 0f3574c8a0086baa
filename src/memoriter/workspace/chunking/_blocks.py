"""Split lines of Markdown into blocks: only where each begins and ends, not what it contains.

No block runs over a mark of origin: whatever an entry opens ends with the entry, so that it cannot take in the entries
of other authors.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from memoriter.values import dataclass
from memoriter.workspace.untrusted import foreign_lines, origin_edges

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

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
_COMMENT_END = re.compile("-->")
_COMMENT_START = re.compile(r"[ \t]*<!--")
_ENTRY = re.compile(r"[-*+][ \t]|#{1,6}[ \t]")
"""What may begin an entry or a section of its own, and may as well be a line of code."""
_FRONT = re.compile(r"[\w.\"-]+[ \t]*[:=]|#|\[|---")
_FRONT_ENDS = {"---": {"---", "..."}, "+++": {"+++"}}
"""The lines that end front matter, YAML or TOML, by its first one."""
_LABEL = re.compile(
    r"(?:\[[^\]]{1,40}\][ \t]?)?(?:\*\*|__)?\w[\w .'()/-]{0,39}(?:\*\*|__)?[:：](?:\*\*|__)?(?=[ \t\r]|$)"
)
"""`Alice:`, `**Alice:**` or `[14:15] Alice:` before a message or fact."""
_NESTED = 2
"""Columns from a list marker to the content of the item; CommonMark requires 3 after `1.`, but people write 2."""


def scan_blocks(lines: Sequence[str]) -> list[Block]:
    """Return the blocks in order; every line that is not blank is in exactly one block.

    A fence, a comment or raw HTML without a closing line extends to the end of its list item, to the next mark of
    origin, or to the end of the text.
    """
    return _scan(lines, origin_edges(lines)).blocks


def scan_closed_blocks(lines: Sequence[str]) -> list[Block]:
    """Return the blocks of a text in which only what certainly belongs together is a fence, a comment or raw HTML.

    The extent of one is doubtful if it has no closing line, if one opens again or an entry or a section may begin
    before that line, or if that line may open another fence. Then all of them between the same two marks of origin are
    only the lines that open and close them, each a block of its own, and what is between these lines is Markdown.
    """
    edges = origin_edges(lines)
    return _scan(lines, edges, _scan(lines, edges)).blocks


def closing_line(lines: Sequence[str]) -> str:
    """Return the line that closes the fence, comment or raw HTML that a text leaves open; empty if it leaves none open.

    What a list item leaves open ends with the item.
    """
    scanner = _scan(lines, origin_edges(lines))
    return scanner.left_open or (scanner.cut.closing_line if scanner.cut else "")


def line_label(line: str) -> str:
    """Return the label at the beginning of a line, such as `Alice:` or `**Summary:**`; empty if it has none.

    >>> line_label("- **Summary:** We met."), line_label("We met: twice, on Monday and on Friday, near the old lock.")
    ('**Summary:**', 'We met:')
    """
    body = line.lstrip(" \t")
    marker = _BULLET.match(body) or _NUMBER.match(body)
    match = _LABEL.match(body[marker.end() :].lstrip() if marker else body)
    return match[0] if match else ""


def subtree_ends(blocks: Sequence[Block]) -> list[int]:
    """Return for each block the index after the last block inside it."""
    ends = [len(blocks)] * len(blocks)
    inside: list[int] = []
    for at, block in enumerate(blocks):
        while inside and blocks[inside[-1]].depth >= block.depth:
            ends[inside.pop()] = at
        inside.append(at)
    return ends


def entry_spans(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Return the lines of each entry of a note, from 0 and without the last: outermost blocks with what is in them."""
    blocks = scan_blocks(lines)
    return [
        (block.start, blocks[end - 1].end)
        for block, end in zip(blocks, subtree_ends(blocks), strict=True)
        if not block.depth and block.kind in {"item", "text", "quote", "fence"}
    ]


@dataclass(frozen=True, slots=True)
class _Verbatim:
    """A fence, a comment or raw HTML: lines that are no Markdown, up to the line that closes them."""

    kind: Literal["fence", "comment"]
    closing: re.Pattern[str]
    opening: re.Pattern[str]
    """Matches the beginning of a line that opens another one of the same kind."""
    closing_line: str
    skip: int = 0
    """Lines at its beginning that cannot close it."""


def _verbatim(body: str) -> _Verbatim | None:
    """Return what a line opens, if it opens a fence, a comment or raw HTML."""
    if match := _FENCE.match(body):
        mark = rf"[ \t]*{re.escape(match[1][0])}{{{len(match[1])},}}[ \t]*"
        return _Verbatim("fence", re.compile(rf"\A{mark}\r?$"), re.compile(rf"{mark}\w"), match[1], skip=1)
    if match := _RAW.match(body):
        closing = re.compile(rf"</{match[1]}>", re.IGNORECASE)
        opening = re.compile(rf"[ \t]*<{match[1]}(?=[\s>])", re.IGNORECASE)
        return _Verbatim("fence", closing, opening, f"</{match[1]}>")
    if not body.startswith("<!--") or ("-->" in body and body.rpartition("-->")[2].strip()):
        return None
    return _Verbatim("comment", _COMMENT_END, _COMMENT_START, "-->")


def _scan(lines: Sequence[str], edges: Sequence[int], first: _Scanner | None = None) -> _Scanner:
    scanner = _Scanner(lines, edges, first)
    line = scanner.front_matter()
    while line < len(lines):
        line = scanner.step(line)
    return scanner


class _Scanner:
    """A pass over the lines that tracks the open list items and whether the last block may continue."""

    def __init__(self, lines: Sequence[str], edges: Sequence[int], first: _Scanner | None) -> None:
        """Start before the first line.

        A part of the text begins at each of the `edges`; part 0 ends before the first of them. The doubtful parts of a
        `first` pass have no fences and comments of several lines.
        """
        self.lines = lines
        self.edges = edges
        self.starts = frozenset(edges)
        self.no_verbatim: AbstractSet[int] = first.doubtful if first else frozenset()
        self.single: AbstractSet[int] = first.closed if first else frozenset()
        self.doubtful = set[int]()
        """Parts with a fence, comment or raw HTML of which the extent is doubtful."""
        self.closed = set[int]()
        """Lines that close one."""
        self.foreign = foreign_lines(lines) if edges else [False] * len(lines)
        self.cut: _Verbatim | None = None
        """A fence of the owner that ended at a mark: the line that was to close it opens no other one."""
        self.late: set[int] = first.late if first else set()
        """Lines that were to close a fence which ended at a mark."""
        self.left_open = ""
        """The line that would close what is open at the end of the text."""
        self.blocks: list[Block] = []
        self.items: list[int] = []
        """First column of the content of each open list item, outermost first."""
        self.open = False
        """True if a plain line may continue the last block."""

    def front_matter(self) -> int:
        """Return the line after the front matter, or 0 if the text has none."""
        lines = self.lines
        closes = _FRONT_ENDS.get(lines[0].rstrip()) if len(lines) > 1 else None
        if closes is None or not _FRONT.match(lines[1]):
            return 0
        closing = (at for at in range(1, self._part_end(0)) if lines[at].rstrip() in closes)
        end = next(closing, None)
        return 0 if end is None else self._add("front", 0, end + 1)

    def step(self, at: int) -> int:
        """Consume the line `at`, and those of its block where it opens one, and return the next line to consume."""
        line = self.lines[at]
        if not line.strip():
            self.open = False
            return at + 1
        if at in self.starts:
            self.open = False
        column, body = _indent(line)
        return (
            self._underlined(at)
            or self._fence_or_comment(at, column, body)
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

    def _fence_or_comment(self, at: int, column: int, body: str) -> int:
        """Add a fence or a comment; a comment directly below a block belongs to it, otherwise to a neighbour."""
        verbatim = _verbatim(body)
        is_doubtful = self._part(at) in self.no_verbatim
        if self._closes_cut(verbatim, at):
            self._close_items(column)
            return self._add("rule", at, at + 1)
        if verbatim is None:
            if not (is_doubtful and at in self.single):
                return 0
            self._close_items(column)
            return self._add("fence", at, at + 1)
        end = self._verbatim_end(verbatim, at, column)
        if verbatim.kind == "comment" and self.open and not is_doubtful:
            self.blocks[-1] = replace(self.blocks[-1], end=end)
            return end
        self._close_items(column)
        return self._add(verbatim.kind, at, end)

    def _closes_cut(self, verbatim: _Verbatim | None, at: int) -> bool:
        """Return whether a line was to close a fence of the owner that a mark has ended."""
        if verbatim and verbatim.skip and not self.foreign[at]:
            if self.cut and self.cut.closing.search(self.lines[at]):
                self.late.add(at)
            self.cut = None
        return at in self.late

    def _verbatim_end(self, verbatim: _Verbatim, at: int, column: int) -> int:
        """Return the line after a fence, comment or raw HTML, and note whether its extent is doubtful."""
        part = self._part(at)
        stop = self._part_end(at)
        if part in self.no_verbatim:
            return at + 1
        inside = max((limit for limit in self.items if limit <= column), default=0)
        for line in range(at + verbatim.skip, stop):
            text = self.lines[line]
            if inside and line > at and text.strip() and _indent(text)[0] < inside:
                stop = line
                break
            if line > at and (verbatim.opening.match(text) or _ENTRY.match(text)):
                self.doubtful.add(part)
            if verbatim.closing.search(text):
                after = self.lines[line + 1 : min(line + 2, stop)]
                alone = verbatim.skip or text.strip() == verbatim.closing_line
                if alone and not inside and not self.lines[line - 1].strip() and any(map(str.strip, after)):
                    self.doubtful.add(
                        part
                    )  # memoriter has added it, or the entries below, and may have read it wrongly
                self.closed.add(line)
                return line + 1
        self.doubtful.add(part)
        if not inside and stop == len(self.lines):
            self.left_open = verbatim.closing_line
        elif not inside and verbatim.skip and not self.foreign[at]:
            self.cut = verbatim
        return self._last_nonblank(at, stop)

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
        bullet = _BULLET.match(body)
        number = _NUMBER.match(body)
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
        verbatim = _verbatim(rest)
        if verbatim is None or verbatim.kind == "comment":
            return at + 1
        end = self._verbatim_end(verbatim, at, column + _NESTED)
        self.blocks[-1] = replace(self.blocks[-1], end=end)
        return end

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

    def _part(self, at: int) -> int:
        return bisect_right(self.edges, at)

    def _part_end(self, at: int) -> int:
        """Return the first line after the part of a line."""
        part = self._part(at)
        return self.edges[part] if part < len(self.edges) else len(self.lines)

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


@lru_cache(maxsize=1_024)
def plain_title(title: str) -> str:
    """Return a heading's text without the marks of links, emphasis and code, at most 200 characters long."""
    text = _CLOSING_MARKS.sub("", title[: 4 * _LONGEST_TITLE].rstrip())
    for pattern, keep in ((_COMMENT, ""), (_WIKI_LINK, r"\1"), (_LINK, r"\1"), (_EMPHASIS, r"\2")):
        text = pattern.sub(keep, text)
    return " ".join(text.split())[:_LONGEST_TITLE].strip()
