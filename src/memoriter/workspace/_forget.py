"""Select passages of notes (pure functions), and remove them in one step."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import groupby
from typing import TYPE_CHECKING

from memoriter.errors import UsageError, WriteConflict
from memoriter.folding import contains, find_all, search_forms
from memoriter.ids import bytes_hash, has_cr_alone, has_crlf, with_line_feeds
from memoriter.values import dataclass
from memoriter.workspace.chunking import scan_closed_blocks, subtree_ends
from memoriter.workspace.untrusted import authors_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from memoriter.workspace._workspace import Workspace
    from memoriter.workspace.chunking import Block


@dataclass(frozen=True, slots=True)
class RemovedPassage:
    """Lines of a note, 1-based and inclusive, with their current text."""

    start_line: int
    end_line: int
    text: str


@dataclass(frozen=True, slots=True)
class Removal:
    """The passages to remove from one note."""

    path: str
    """Path by which the note is cited."""
    file: Path
    hash: str
    """`ids.bytes_hash` of the note as it was read; a note with another hash is left unchanged."""
    passages: tuple[RemovedPassage, ...]
    whole: bool = False
    """True if the file itself is deleted."""


def all_of(content: bytes) -> tuple[RemovedPassage, ...]:
    """Return the whole note as one passage, or nothing for an empty note."""
    lines = _decode_lines(content)
    return (_passage(lines, 0, len(lines)),) if lines else ()


def lines_of(content: bytes, first: int, last: int) -> tuple[RemovedPassage, ...]:
    """Return the lines from `first` to `last` as one passage; raise UsageError if the note has no such lines."""
    lines = _decode_lines(content)
    if not 1 <= first <= last <= len(lines):
        requested = f"line {first}" if first == last else f"lines {first} to {last}"
        raise UsageError(
            f"There is no {requested}: the note has {len(lines)} lines.", remedy="Look with `memoriter get`."
        )
    return (_passage(lines, first - 1, last),)


def blocks_with(content: bytes, text: str) -> tuple[RemovedPassage, ...]:
    """Return every block that contains the text: a paragraph, a fence, or a list item with all its inner items.

    The words are compared as in a search (`folding.fold`), and any white space is equal. In a table, front matter or a
    heading, only the lines with the text are returned. No block runs over a mark of origin. A fence
    or comment whose end is missing or doubtful is no block: only the paragraph or list item with the text is returned.

    The time is proportional to the length of the note.
    """
    lines = _decode_lines(content)
    hits = _find_text(lines, text)
    if not hits:
        return ()
    return tuple(_passage(lines, start, end) for start, end in _merge_spans(_spans_to_remove(lines, hits)))


def holds(content: str, text: str) -> bool:
    """Return whether the content contains the text, compared as in `blocks_with`."""
    return contains(content, text)


def remove_passages(content: bytes, passages: Iterable[RemovedPassage]) -> bytes:
    """Return the note without the lines of the passages; every other byte is unchanged.

    Where a line would change its author by that, because the mark goes or because the line joins the item of somebody
    else, marks are written around it.
    """
    gone = {line for passage in passages for line in range(passage.start_line, passage.end_line + 1)}
    rows = [row for number, row in enumerate(_LINE.findall(with_line_feeds(content)), 1) if number not in gone]
    authors = [author for number, author in enumerate(authors_of(_decode_lines(content)), 1) if number not in gone]
    for _ in range(_PASSES):
        now = authors_of(_decode_lines(b"".join(rows)))
        wrong = [bool(row.strip()) and one != two for row, one, two in zip(rows, authors, now, strict=True)]
        if not any(wrong):
            break
        rows, authors = _with_marks(rows, authors, wrong, b"\r\n" if has_crlf(content) else b"\n")
    left = b"".join(rows)
    return left.replace(b"\n", b"\r") if has_cr_alone(content) else left


def apply_removal(removal: Removal, workspace: Workspace) -> None:
    """Remove the passages from their note, or the note itself.

    Raises:
        WriteConflict: the note has changed since it was read; it is left unchanged.
        WriteError: the note could not be written.
        PathRefused: the note does not exist any more, or leads through a link.
    """
    if removal.whole:
        workspace.remove(removal.path, expected=removal.hash, for_good=True)
        return
    content = workspace.raw(removal.path).content
    if bytes_hash(content) != removal.hash:
        raise WriteConflict(f"{removal.path!r} has changed since it was read.", remedy="Look and ask again.")
    left = remove_passages(content, removal.passages)
    workspace.replace(removal.path, left, expected=removal.hash, for_good=True)


def _with_marks(
    rows: Sequence[bytes], authors: Sequence[str], wrong: Sequence[bool], end: bytes
) -> tuple[list[bytes], list[str]]:
    """Return lines and their authors with marks around the lines whose marks are wrong."""
    found = list[tuple[bytes, str]]()
    parts = zip(rows, authors, wrong, strict=True)
    for (is_wrong, author), group in groupby(parts, key=lambda part: (part[2], part[1])):
        run = [(row, author) for row, _, _ in group]
        if is_wrong:
            if not run[-1][0].endswith(b"\n"):
                run[-1] = run[-1][0] + end, author
            name = author.rpartition(", ")[0] or author or "entry"
            closing = f"<!-- end: {name} -->".encode() + end, ""
            run = [(f"<!-- from: {author} -->".encode() + end, ""), *run, closing] if author else [closing, *run]
        found += run
    return [row for row, _ in found], [author for _, author in found]


_PASSES = 4
"""Times that marks are corrected; more than two are for notes that nobody has."""
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_SPACE = re.compile(r"\s+")
_TABLE = re.compile(r"[ \t]*\|")


def _decode_lines(content: bytes) -> list[str]:
    """Return the lines without their ends, as they are cited; invalid bytes become U+FFFD."""
    return [
        line.rstrip(b"\r\n").decode("utf-8", "replace")
        for line in _LINE.findall(with_line_feeds(content).removeprefix(b"\xef\xbb\xbf"))
    ]


def _passage(lines: Sequence[str], start: int, end: int) -> RemovedPassage:
    return RemovedPassage(start + 1, end, "\n".join(lines[start:end]))


@dataclass(frozen=True, slots=True)
class _FoldedText:
    """Folded lines with any white space as one space, and the line number of each part."""

    text: str
    starts: list[int]
    """Offsets in `text` at which the words of a line begin."""
    lines: list[int]
    """Number of that line, 0-based."""

    def line(self, at: int) -> int:
        return self.lines[bisect_right(self.starts, at) - 1]


def _join_lines(lines: Iterable[str]) -> _FoldedText:
    parts = list[str]()
    starts = list[int]()
    numbers = list[int]()
    at = 0
    for number, part in enumerate(lines):
        if part:
            parts.append(part)
            starts.append(at)
            numbers.append(number)
            at += len(part) + 1
    return _FoldedText(" ".join(parts), starts, numbers)


def _find_text(lines: Sequence[str], text: str) -> list[tuple[int, int]]:
    """Return the first and last line (0-based) of every occurrence of the text, each pair of lines once."""
    hits = set[tuple[int, int]]()
    for place, forms in enumerate(zip(*map(search_forms, lines), strict=True)):
        joined = _join_lines(forms)
        hits |= {(joined.line(at), joined.line(end - 1)) for at, end in find_all(place, joined.text, text)}
    return sorted(hits)


def _spans_to_remove(lines: Sequence[str], hits: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the lines to remove for each hit, from `start` up to but not including `end`."""
    blocks = scan_closed_blocks(lines)
    ends = [block.end for block in blocks]
    removed_ends = _removed_ends(blocks)
    for first, last in hits:
        at = bisect_right(ends, first)
        while at < len(blocks) and blocks[at].start <= last:
            block = blocks[at]
            start = max(block.start, first)
            end = min(block.end, last + 1)
            if block.kind in {"front", "heading"} or (block.kind == "text" and _TABLE.match(lines[start])):
                yield start, end
            else:
                yield block.start, removed_ends[at]
            at += 1


def _removed_ends(blocks: Sequence[Block]) -> list[int]:
    """Return the end of each block; a list item includes its inner blocks, which would else join another item."""
    ends = zip(blocks, subtree_ends(blocks), strict=True)
    return [blocks[end - 1].end if block.kind == "item" else block.end for block, end in ends]


def _merge_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans in order, and merge those that overlap or touch."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return merged
