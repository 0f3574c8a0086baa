"""How an edited text differs from a note, and how it keeps what a browser's text field cannot hold."""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Literal

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CONTEXT = 3
"""Unchanged lines that are shown around each change."""
MOST_COMPARED = 4_000_000
"""Pairs of lines that are compared at most; a larger change is shown as the removal of all and the addition of all."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$")

Opcode = tuple[str, int, int, int, int]


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One line of the difference between two texts."""

    kind: Literal["same", "removed", "added", "gap"]
    """`gap` stands for unchanged lines that are left out."""
    before: int | None
    """Its number in the first text, from 1."""
    after: int | None
    text: str


def difference(before: str, after: str) -> list[DiffRow]:
    """Return the lines that differ between two texts, with unchanged ones around them; empty if they are equal."""
    first = _lines(before)
    second = _lines(after)
    rows: list[DiffRow] = []
    shown = 0
    for group in _grouped(_opcodes(first, second)):
        if group[0][1] > shown:
            rows.append(DiffRow("gap", None, None, ""))
        for tag, start, end, new_start, new_end in group:
            if tag == "equal":
                rows += [DiffRow("same", at + 1, new_start + at - start + 1, first[at]) for at in range(start, end)]
            else:
                rows += [DiffRow("removed", at + 1, None, first[at]) for at in range(start, end)]
                rows += [DiffRow("added", None, at + 1, second[at]) for at in range(new_start, new_end)]
            shown = end
    if rows and shown < len(first):
        rows.append(DiffRow("gap", None, None, ""))
    return [] if before == after else rows


def with_endings(original: str, edited: str) -> str:
    """Return an edited text with the ends of lines that the original has, because browsers replace them.

    Args:
        original: the text of the note.
        edited: the text of a form, whose lines end with CRLF.

    Returns:
        The edited text. Lines that were not changed have the end that they had, and others the most common one.
    """
    lines = _LINE.findall(original)
    ends = [line[len(line.rstrip("\r\n")) :] for line in lines]
    common = Counter(end for end in ends if end).most_common(1)
    usual = common[0][0] if common else "\n"
    texts = edited.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if set(ends) <= {usual, ""}:
        return usual.join(texts)
    bare = [line.rstrip("\r\n") for line in lines]
    kept = [usual] * len(texts)
    for tag, start, end, new_start, _ in _opcodes(bare, texts):
        if tag == "equal":
            kept[new_start : new_start + end - start] = [each or usual for each in ends[start:end]]
    for at in range(len(texts) - 2, 0, -1):  # CR before an empty line with LF would become one end, CRLF
        if (kept[at - 1], texts[at], kept[at]) == ("\r", "", "\n"):
            kept[at - 1] = "\n"
    return "".join(text + end for text, end in zip(texts[:-1], kept, strict=False)) + texts[-1]


def merged(base: str, mine: str, theirs: str) -> str | None:
    r"""Return a text with the changes of both, or None if they touch the same lines or lines side by side.

    >>> merged("one\ntwo\nthree", "ONE\ntwo\nthree", "one\ntwo\nTHREE")
    'ONE\ntwo\nTHREE'
    >>> merged("one", "mine", "theirs") is None
    True
    """
    old = _lines(base)
    changes = sorted([*_changes(old, _lines(mine)), *_changes(old, _lines(theirs))])
    result: list[str] = []
    done = 0
    previous: tuple[int, int, list[str]] | None = None
    for change in changes:
        if change == previous:
            continue
        start, end, new = change
        if previous is not None and start <= previous[1]:
            return None
        result += [*old[done:start], *new]
        done = end
        previous = change
    return "\n".join([*result, *old[done:]])


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, list[str]]]:
    """Yield which lines are replaced, and by which."""
    for tag, start, end, new_start, new_end in _opcodes(old, new):
        if tag != "equal":
            yield start, end, [*new[new_start:new_end]]


def _lines(text: str) -> list[str]:
    return text.split("\n")


def _opcodes(first: Sequence[str], second: Sequence[str]) -> list[Opcode]:
    """Return the steps from one list of lines to another, as `difflib` does, in bounded time."""
    head = next((at for at, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]), None)
    head = min(len(first), len(second)) if head is None else head
    most = min(len(first), len(second)) - head
    tail = next((at for at in range(most) if first[-1 - at] != second[-1 - at]), most)
    old = first[head : len(first) - tail]
    new = second[head : len(second) - tail]
    if len(old) * len(new) > MOST_COMPARED:
        middle: list[Opcode] = [("replace", 0, len(old), 0, len(new))]
    else:
        # Lines that are frequent in a long text, such as blank ones, are left out of the search for what is common.
        middle = [*SequenceMatcher(None, old, new).get_opcodes()]
    moved: list[Opcode] = [(tag, a + head, b + head, c + head, d + head) for tag, a, b, c, d in middle]
    start: list[Opcode] = [("equal", 0, head, 0, head)] if head else []
    after: list[Opcode] = [("equal", len(first) - tail, len(first), len(second) - tail, len(second))] if tail else []
    return [*start, *moved, *after]


def _grouped(opcodes: Sequence[Opcode]) -> Iterator[list[Opcode]]:
    """Yield the changes with at most `CONTEXT` unchanged lines around each."""
    group: list[Opcode] = []
    for at, (tag, a, b, c, d) in enumerate(opcodes):
        if tag != "equal":
            group.append((tag, a, b, c, d))
            continue
        is_last = at == len(opcodes) - 1
        if group and not is_last and b - a <= 2 * CONTEXT:
            group.append((tag, a, b, c, d))
            continue
        if group:
            size = min(CONTEXT, b - a)
            yield [*group, (tag, a, a + size, c, c + size)]
            group = []
        if not is_last:
            size = min(CONTEXT, b - a)
            group = [(tag, b - size, b, d - size, d)]
    if group:
        yield group
