"""Cut a note into chunks, along its Markdown structure or at its lines as OpenClaw does, and find a chunk's items."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from memoriter.types import ORIGIN, Chunk, Item
from memoriter.values import dataclass
from memoriter.workspace._cut import UNIT, slice_line, weigh
from memoriter.workspace.chunking._blocks import Block, line_label, plain_title, scan_blocks, subtree_ends

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MERGE_TOKENS = 96
"""Largest size in tokens of a chunk that joins tiny blocks.

Measured with 98 questions on the example workspace and on 20 other notes that were not used for tuning. At 48, 96 and
160 tokens, the right note is among the first three hits for 85, 89 and 88 questions, and the right lines for 75, 79 and
77."""
_TINY_SHARE = 4
_SMALLEST = 8
_NEWLINE = weigh("\n")


def chunk_markdown(text: str, *, tokens: int = 400, overlap: int = 80, merge: int = MERGE_TOKENS) -> tuple[Chunk, ...]:
    r"""Return the chunks of a note in order, without blank ones.

    A chunk is a block: a list item with all its inner items, a paragraph (if all its lines begin with `Name:`, each
    line is a block), a fence, a table or a quotation. The first chunk of a section begins with its heading; a heading
    with nothing below it is a chunk of its own. A short line that ends in a colon, a comment and a rule stay with a
    neighbour. Two neighbours in a section are joined if one of them has less than a quarter of `merge` tokens and both
    together have at most `merge` tokens.

    Args:
        text: the note. Lines end at `\n` only; a `\r` before it belongs to the line.
        tokens: limit of a chunk as `estimate_tokens` counts, at least 8. A larger block is cut: a list item between
            its inner items, any other block at the ends of lines or sentences, at spaces, or between graphemes.
        overlap: tokens that a piece of a cut block repeats from the piece before, at most half the limit.
        merge: limit of joined neighbours in tokens; 0 joins nothing.

    Returns:
        The chunks. `Chunk.text` is the lines from `start_line` to `end_line`, or a slice of one line that is too long.
    """
    note = _WeightedLines(text.split("\n"))
    limits = _Limits.of(tokens, overlap, merge)
    return tuple(chunk for section in _split_sections(note.lines) for chunk in _chunk_section(note, section, limits))


@dataclass(frozen=True, slots=True)
class _Limits:
    """Limits of a chunk in twelfths of a token."""

    size: int
    overlap: int
    merge: int

    @classmethod
    def of(cls, tokens: int, overlap: int, merge: int) -> _Limits:
        most = max(_SMALLEST, tokens) * UNIT
        return cls(most, max(0, min(overlap * UNIT, most // 2)), min(merge * UNIT, most))


class _WeightedLines:
    """The lines with cumulative weights, so that the weight of any range of lines is one subtraction."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self._sums = [0, *accumulate(weigh(line) + _NEWLINE for line in lines)]

    def weight(self, start: int, end: int) -> int:
        return self._sums[end] - self._sums[start] - _NEWLINE

    def text(self, start: int, end: int) -> str:
        return "\n".join(self.lines[start:end])


@dataclass(frozen=True, slots=True)
class _Section:
    heading: tuple[str, ...]
    blocks: list[Block]
    """Headings of the section (several if no other block is between them), then the blocks below them."""


@dataclass(frozen=True, slots=True)
class _Span:
    """Lines from `start` up to but not including `end` that become one chunk."""

    start: int
    end: int
    needs_next: bool = False
    """True if the span means little without the next one: a heading, comment, rule, or line that introduces a list."""
    needs_previous: bool = False
    """True if the span belongs to the previous one: a rule."""


def _split_sections(lines: Sequence[str]) -> Iterator[_Section]:
    path: list[Block] = []
    section = _Section((), [])
    for block in scan_blocks(lines):
        if block.kind == "heading":
            previous = section.blocks[-1] if section.blocks else None
            if previous and not (previous.kind == "heading" and previous.level < block.level):
                yield section
                section = _Section((), [])
            path = [*(outer for outer in path if outer.level < block.level), block]
            titles = (plain_title(outer.title) for outer in path)
            section = replace(section, heading=tuple(title for title in titles if title))
        section.blocks.append(block)
    yield section


def _chunk_section(note: _WeightedLines, section: _Section, limits: _Limits) -> Iterator[Chunk]:
    for span in _merge_spans(note, _make_spans(note, section.blocks, limits), limits):
        if note.weight(span.start, span.end) <= limits.size:
            yield Chunk(span.start + 1, span.end, note.text(span.start, span.end), section.heading)
        else:
            pieces = _cut_span(note, span, limits)
            yield from (
                replace(piece, heading=section.heading + piece.heading) for piece in pieces if piece.text.strip()
            )


def _make_spans(note: _WeightedLines, blocks: Sequence[Block], limits: _Limits) -> Iterator[_Span]:
    """Yield a span for each block; a list item includes its inner items if together they fit the limit."""
    ends = subtree_ends(blocks)
    at = 0
    while at < len(blocks):
        block = blocks[at]
        subtree_end = blocks[ends[at] - 1].end
        fits = note.weight(block.start, subtree_end) <= limits.size
        leans = block.kind in {"heading", "comment", "rule"} or _introduces_list(note, block, limits)
        yield _Span(block.start, subtree_end if fits else block.end, leans, needs_previous=block.kind == "rule")
        at = ends[at] if fits else at + 1


def _introduces_list(note: _WeightedLines, block: Block, limits: _Limits) -> bool:
    short = note.weight(block.start, block.end) * _TINY_SHARE < limits.merge
    return short and block.kind == "text" and note.lines[block.end - 1].rstrip().endswith((":", "："))


def _merge_spans(note: _WeightedLines, spans: Iterator[_Span], limits: _Limits) -> list[_Span]:
    merged: list[_Span] = []
    for span in spans:
        if merged and _should_join(note, merged[-1], span, limits):
            merged[-1] = _Span(merged[-1].start, span.end, merged[-1].needs_next and span.needs_next)
        else:
            merged.append(span)
    if len(merged) > 1 and merged[-1].needs_next and note.weight(merged[-2].start, merged[-1].end) <= limits.size:
        last = merged.pop()
        merged[-1] = replace(merged[-1], end=last.end)
    return merged


def _should_join(note: _WeightedLines, left: _Span, right: _Span, limits: _Limits) -> bool:
    if left.needs_next and note.weight(right.start, right.end) > limits.size:
        return True  # the block will be cut anyway, and its first piece takes the heading
    combined = note.weight(left.start, right.end)
    if left.needs_next or right.needs_previous:
        return combined <= limits.size
    smaller = min(note.weight(left.start, left.end), note.weight(right.start, right.end))
    return smaller * _TINY_SHARE < limits.merge and combined <= limits.merge


def _cut_span(note: _WeightedLines, span: _Span, limits: _Limits) -> Iterator[Chunk]:
    """Yield pieces of whole lines; a line above the limit is cut into pieces of its own."""
    first = span.start
    for at in range(span.start, span.end):
        if note.weight(at, at + 1) > limits.size:
            yield from _trimmed_chunk(note, first, at)
            line = note.lines[at]
            label = _label_of(note, span.start, at, limits)
            for a, b in slice_line(line, limits.size, limits.overlap):
                yield Chunk(at + 1, at + 1, line[a:b], label if a or not line_label(line) else ())
            first = at + 1
        elif note.weight(first, at + 1) > limits.size:
            yield from _trimmed_chunk(note, first, at)
            first = _overlap_start(note, first, at, limits)
    yield from _trimmed_chunk(note, first, span.end)


def _label_of(note: _WeightedLines, first: int, at: int, limits: _Limits) -> tuple[str, ...]:
    """Return the label of a line, at its beginning or as a short line above it, as a heading of its pieces."""
    label = line_label(note.lines[at])
    above = note.lines[at - 1].strip() if at > first else ""
    if not label and above.endswith((":", "：")) and note.weight(at - 1, at) * _TINY_SHARE < limits.merge:
        label = line_label(above) or above
    return (plain_title(label).rstrip(":："),) if label else ()


def _overlap_start(note: _WeightedLines, first: int, at: int, limits: _Limits) -> int:
    """Return where the piece with line `at` starts: earlier by up to the overlap, but after `first`."""
    start = at
    while start - 1 > first and note.weight(start - 1, at) <= limits.overlap:
        start -= 1
    while start < at and note.weight(start, at + 1) > limits.size:
        start += 1
    return start


def _trimmed_chunk(note: _WeightedLines, start: int, end: int) -> Iterator[Chunk]:
    """Yield a chunk of the lines without blank lines at the ends, or nothing if all are blank."""
    while start < end and not note.lines[start].strip():
        start += 1
    while end > start and not note.lines[end - 1].strip():
        end -= 1
    if start < end:
        yield Chunk(start + 1, end, note.text(start, end))


_SMALLEST_UNITS = 32
_PER_TOKEN = 4


def chunk_lines(text: str, *, tokens: float = 400, overlap: float = 80) -> tuple[Chunk, ...]:
    """Cut a text into chunks exactly as OpenClaw 2026.2.26 does.

    A line above the limit is cut at the limit, even inside a surrogate pair. Repeated lines can double a chunk's
    length. The result includes blank chunks, as in OpenClaw; the caller skips them.

    Args:
        text: the note.
        tokens: limit of a chunk, counted as four UTF-16 units per token; at least 32 units.
        overlap: tokens of whole lines that a chunk repeats from the one before.
    """
    limit = max(_SMALLEST_UNITS, tokens * _PER_TOKEN)
    carry = max(0, overlap * _PER_TOKEN)
    chunks: list[Chunk] = []
    pending: list[_Piece] = []
    pending_size = 0
    for number, line in enumerate(text.split("\n"), 1):
        for piece, size in _cut_line(line, limit):
            if pending and pending_size + size > limit:
                chunks.append(_make_chunk(pending))
                pending = _overlap_tail(pending, carry)
                pending_size = sum(size for _, _, size in pending)
            pending.append((number, piece, size))
            pending_size += size
    chunks.append(_make_chunk(pending))
    return tuple(chunks)


_Piece = tuple[int, str, int]
"""Line number, text, and length in UTF-16 units plus one for the newline."""


def _make_chunk(pieces: list[_Piece]) -> Chunk:
    return Chunk(pieces[0][0], pieces[-1][0], "\n".join(text for _, text, _ in pieces))


def _overlap_tail(pieces: list[_Piece], size: float) -> list[_Piece]:
    """Return the shortest run of last pieces whose length is at least `size`."""
    if size <= 0:
        return []
    total = 0
    first = len(pieces)
    while first and total < size:
        first -= 1
        total += pieces[first][2]
    return pieces[first:]


def _cut_line(line: str, limit: float) -> list[tuple[str, int]]:
    """Cut the line at the limit, and return each piece with its length plus one."""
    if len(line) * 2 <= limit or (len(line) <= limit and (line.isascii() or max(line) <= "\uffff")):
        return [(line, _length(line) + 1)]
    units = line.encode("utf-16-le", "surrogatepass")
    length = len(units) // 2
    starts = [0.0]
    while starts[-1] + limit < length:
        starts.append(starts[-1] + limit)
    cuts = [*(int(start) for start in starts), length]
    return [
        (units[first * 2 : last * 2].decode("utf-16-le", "surrogatepass"), last - first + 1)
        for first, last in pairwise(cuts)
    ]


def _length(line: str) -> int:
    return len(line) if line.isascii() else len(line.encode("utf-16-le", "surrogatepass")) // 2


LEAST_BYTES = 12
"""Shortest text of an item in UTF-8, without its marker: a shorter one means little on its own."""
NOTE_LINK = re.compile(
    r"!?\[\[[^\[\]]{1,400}\]\]"
    r"|!\[[^\s\[\]]{0,400}\]\([^()\s]{0,1000}\)"
    r"|(?<!!)\[[^\[\]]{0,400}\]\((?![a-zA-Z][\w+.-]*:)[^()\s]{0,1000}\)"
)
"""A link to another note, an embedded file, or an image. Of images, only those without a description count."""
_CONTINUATIONS = frozenset({"text", "fence"})


def items_of(chunk: Chunk) -> tuple[Item, ...]:
    """Return the items of a chunk in order; none if it has only one, because the chunk's own vector stands for it.

    An item is a list item with its paragraphs and fences but without its inner items, a paragraph, a fence, a row of a
    table, or a line of a quotation.
    """
    blocks = scan_blocks(chunk.text.split("\n"))
    lines = (ORIGIN.sub("", chunk.text) if "<!-- " in chunk.text else chunk.text).split("\n")
    items = [item for item in _find_items(lines, blocks) if _is_worth_a_vector(item.text(lines))]
    return tuple(items) if len(items) > 1 else ()


def _is_worth_a_vector(text: str) -> bool:
    """Return whether an item says something: an entry of a list of links only names the note that does."""
    return len(text.encode("utf-8", "replace")) >= LEAST_BYTES and any(map(str.isalnum, NOTE_LINK.sub("", text)))


def _find_items(lines: Sequence[str], blocks: Sequence[Block]) -> Iterator[Item]:
    at = 0
    while at < len(blocks):
        block = blocks[at]
        at += 1
        end = block.end
        if block.kind == "quote" or (block.kind == "text" and lines[block.start].lstrip().startswith("|")):
            yield from (Item(line, line) for line in range(block.start, end))
        elif block.kind in {"item", "text", "fence"}:
            while block.kind == "item" and at < len(blocks) and _continues(blocks[at], block):
                end = blocks[at].end
                at += 1
            yield Item(block.start, end - 1)


def _continues(block: Block, item: Block) -> bool:
    """Return whether a block is part of the list item before it."""
    return block.kind in _CONTINUATIONS and block.depth > item.depth
