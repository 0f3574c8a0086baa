"""Notes as they may go to a model that did not ask for them: without orders, and with nothing hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from memoriter.agent._guard import gives_orders
from memoriter.workspace import foreign_lines, neutral, scan_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SHORT = 12
"""Lines: what orders something in a longer block is taken out by itself."""
WINDOW = 4
"""Lines that are looked at together in a longer block."""
JOINED = 400
"""Characters: two blocks that are shorter are also read as one sentence."""


def sifted(text: str, path: str, keep: Literal["beginning", "end"], most: int) -> tuple[str, int]:
    """Return a note for a model, and how many of its characters were not looked at.

    Entries that give orders to the reader are replaced by a line that says how many lines are missing and how to read
    them. In entries of others than the owner everything that speaks to a model counts as an order.

    Args:
        text: the note.
        path: as cited.
        keep: which end of a longer note is looked at.
        most: characters that are looked at, in whole lines.
    """
    lines = text.split("\n")
    foreign = foreign_lines(lines)
    first, last = _looked_at(lines, keep, most)
    kept = lines[first:last]
    unread = len(text) - sum(map(len, kept)) - max(0, len(kept) - 1)
    shown = _shown(kept, _ordering(kept, foreign[first:last]), path)
    return neutral("\n".join(shown)), max(0, unread)


def _looked_at(lines: Sequence[str], keep: Literal["beginning", "end"], most: int) -> tuple[int, int]:
    """The first line and the line after the last one of as many lines as `most` characters hold, one at least."""
    room = most
    order = range(len(lines)) if keep == "beginning" else range(len(lines) - 1, -1, -1)
    for taken, at in enumerate(order):
        room -= len(lines[at]) + 1
        if room < 0 and taken:
            return (0, at) if keep == "beginning" else (at + 1, len(lines))
    return 0, len(lines)


def _shown(lines: Sequence[str], gone: set[int], path: str) -> Iterator[str]:
    count = 0
    for at, line in enumerate(lines):
        if at in gone:
            count += 1
            if at + 1 not in gone:
                some = "1 line that gives orders" if count == 1 else f"{count} lines that give orders"
                yield f"[Withheld: {some} to the reader. memory_get {path} shows them.]"
                count = 0
        else:
            yield line


def _ordering(lines: Sequence[str], foreign: Sequence[bool]) -> set[int]:
    """The lines that belong to an order."""
    gone, before = set[int](), None
    for block in scan_blocks(lines):
        for start, end in _windows(block.start, block.end):
            if gives_orders("\n".join(lines[start:end]), owned=not any(foreign[start:end])):
                gone |= set(range(start, end))
        if before is not None and block.kind != "item" and not gone & set(range(before, block.end)):
            both = " ".join(line.strip() for line in lines[before : block.end])
            if len(both) <= JOINED and gives_orders(both, owned=not any(foreign[before : block.end])):
                gone |= set(range(before, block.end))
        before = block.start
    return gone


def _windows(start: int, end: int) -> Iterator[tuple[int, int]]:
    if end - start <= SHORT:
        yield start, end
        return
    for at in range(start, end, WINDOW // 2):
        yield at, min(end, at + WINDOW)
