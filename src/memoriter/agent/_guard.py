"""Treat text from memory as untrusted: it must neither close its quotes nor give the model orders.

Orders and hidden text are removed from notes before they go to a model that did not request them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from memoriter.agent._orders import instructs_model, overrides_instructions
from memoriter.workspace import foreign_lines, neutral, scan_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
_OVERRIDES = re.compile(
    r"""(?ix)
      ignore \s (?: all | any | previous | above | prior ) \s instructions
    | do \s not \s follow \s (?: the \s )? (?: system | developer )
    | system \s prompt
    | developer \s message
    | < \s* (?: system | assistant | developer | tool | function | relevant-memories ) \b
    """
)
"""Sentences that address a model rather than a reader, in the words that OpenClaw looks for."""
_TOOL_CALLS = re.compile(r"(?is)\b(?:run|execute|call|invoke)\b.{0,40}\b(?:tool|command)\b")


def escape_for_prompt(text: str) -> str:
    """Return the text with every character escaped that could close its quotes."""
    return text.translate(_ESCAPES)


def source_label(folder: Path, origin: str) -> str:
    """Return the words that name the folder of quoted notes, and their author if it is not the owner alone.

    Args:
        folder: the workspace.
        origin: what the model must know about the author; empty if the notes are the owner's.
    """
    return neutral(" ".join((origin or f"The notes are in {folder}.").split()))


def as_quotation(text: str) -> str:
    """Return text of somebody else with a mark of quotation before each line.

    Coding agents pass what a hook returns to the model in the role `system` (Claude Code) or `developer` (Codex), so
    each line has to show by itself that nobody with that authority wrote it.
    """
    return "\n".join(f"> {line}" for line in text.split("\n"))


def looks_like_injection(text: str) -> bool:
    """Return whether a text of unknown origin tries to give a model orders, including calls of tools and commands.

    Some orders always pass this filter. It is a sieve; the quotes are the actual protection.
    """
    plain = " ".join(text.split())
    return bool(_OVERRIDES.search(plain) or _TOOL_CALLS.search(plain))


def gives_orders(text: str, *, owned: bool = True) -> bool:
    """Return whether a text tries to give a model orders.

    Args:
        text: a note, or a part of one.
        owned: True if the owner wrote it. In other text, whatever tells a model to act counts as an order.
    """
    return overrides_instructions(text) if owned else instructs_model(text)


SHORT_BLOCK = 12
"""Lines; in a longer block, only the lines that give an order are removed."""
WINDOW_LINES = 4
"""Lines of a longer block that are checked together."""
LONGEST_PAIR = 400
"""Characters; two adjacent blocks up to this length are also checked as one sentence."""


def withhold_orders(
    text: str, path: str, keep: Literal["beginning", "end"], most: int, *, owned: bool = True
) -> tuple[str, int]:
    """Return a note for a model, and the number of its characters that were not scanned.

    A notice replaces entries that give the reader orders; it names the number of missing lines and how to read them. In
    entries that the owner did not write, any text addressed to a model counts as an order.

    Args:
        text: the note.
        path: as cited.
        keep: which end of a longer note is scanned.
        most: number of characters to scan, in whole lines.
        owned: False if the whole note may be somebody else's.
    """
    lines = text.split("\n")
    foreign = foreign_lines(lines) if owned else [True] * len(lines)
    first, last = _scan_range(lines, keep, most)
    scanned = lines[first:last]
    unread = len(text) - sum(map(len, scanned)) - max(0, len(scanned) - 1)
    shown = _replace_orders(scanned, _find_orders(scanned, foreign[first:last]), path)
    return neutral("\n".join(shown)), max(0, unread)


def without_orders(text: str, citation: str, *, owned: bool, cited: bool = True) -> str | None:
    """Return a passage with a notice in place of its orders, or None if it holds nothing but orders and headings.

    Args:
        text: the passage.
        citation: its place; a name of a note may be an order too.
        owned: whether the owner wrote the passage.
        cited: whether a notice says where the orders can be read.
    """
    if gives_orders(citation):
        return None
    lines = text.split("\n")
    foreign = foreign_lines(lines) if owned else [True] * len(lines)
    ordering = _find_orders(lines, foreign)
    if not ordering:
        return text
    rest = [line.strip() for number, line in enumerate(lines) if number not in ordering]
    if all(not line or line.startswith("#") for line in rest):
        return None
    return "\n".join(_replace_orders(lines, ordering, citation.partition("#")[0] if cited else ""))


def _scan_range(lines: Sequence[str], keep: Literal["beginning", "end"], most: int) -> tuple[int, int]:
    """Return the first line and the line after the last one that `most` characters hold; at least one line."""
    room = most
    order = range(len(lines)) if keep == "beginning" else range(len(lines) - 1, -1, -1)
    for taken, number in enumerate(order):
        room -= len(lines[number]) + 1
        if room < 0 and taken:
            return (0, number) if keep == "beginning" else (number + 1, len(lines))
    return 0, len(lines)


def _replace_orders(lines: Sequence[str], ordering: set[int], path: str) -> Iterator[str]:
    count = 0
    for number, line in enumerate(lines):
        if number in ordering:
            count += 1
            if number + 1 not in ordering:
                subject = "1 line that gives orders" if count == 1 else f"{count} lines that give orders"
                yield f"[Withheld: {subject} to the reader.{f' memory_get {path} shows them.' if path else ''}]"
                count = 0
        else:
            yield line


def _find_orders(lines: Sequence[str], foreign: Sequence[bool]) -> set[int]:
    """Return the numbers of the lines that belong to an order."""
    ordering, previous_start = set[int](), None
    for block in scan_blocks(lines):
        for start, end in _windows(block.start, block.end):
            if gives_orders("\n".join(lines[start:end]), owned=not any(foreign[start:end])):
                ordering |= set(range(start, end))
        if previous_start is not None and block.kind != "item" and not ordering & set(range(previous_start, block.end)):
            joined = " ".join(line.strip() for line in lines[previous_start : block.end])
            if len(joined) <= LONGEST_PAIR and gives_orders(joined, owned=not any(foreign[previous_start : block.end])):
                ordering |= set(range(previous_start, block.end))
        previous_start = block.start
    return ordering


def _windows(start: int, end: int) -> Iterator[tuple[int, int]]:
    if end - start <= SHORT_BLOCK:
        yield start, end
        return
    for first in range(start, end, WINDOW_LINES // 2):
        yield first, min(end, first + WINDOW_LINES)
