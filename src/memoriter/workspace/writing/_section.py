"""Put an entry below a heading of a note."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoriter.folding import fold_name
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.workspace.chunking import Block


_EXTRAS = re.compile(r"^\d+(?:\.\d+)*[.)]?\s+(?=\D)|(?:\s+(?:#[\w/-]+|\{#[^{}]*\}))+$")
"""A number before a heading, and tags and an id after it."""


@dataclass(frozen=True, slots=True)
class Section:
    """The lines of a section, from 0: its heading, and the place below what it holds before the next heading."""

    start: int
    end: int


def find_section(lines: Sequence[str], title: str) -> Section | None:
    """Return the first section with this heading, or else with a number before it or tags and an id after it, or None.

    What is in a fence is no heading.
    """
    from memoriter.workspace.chunking import plain_title, scan_blocks

    wanted = fold_name(title)
    headings: list[Block] = [block for block in scan_blocks(lines) if block.kind == "heading"]
    names = [plain_title(heading.title) for heading in headings]
    bare = [_EXTRAS.sub("", name) for name in names]
    folded = [fold_name(name) for name in (*names, *bare)]
    if wanted not in folded:
        return None
    at = folded.index(wanted) % len(headings)
    end = headings[at + 1].start if at + 1 < len(headings) else len(lines)
    while end > headings[at].end and not lines[end - 1].strip():
        end -= 1
    return Section(headings[at].start, end)


def with_entry(lines: Sequence[str], section: Section, entry: str) -> tuple[list[str], int]:
    """Return the lines of a note with an entry at the end of a section, and the line of the entry, from 0.

    A fence, a comment or raw HTML that the section leaves open is closed first.
    """
    from memoriter.workspace.chunking import closing_line, scan_blocks

    above = list(lines[: section.end])
    below = list(lines[section.end :])
    if closing := closing_line(above):
        above.append(closing)
    last = scan_blocks(above)[-1]
    begins_item = entry.startswith(("- ", "* ", "+ "))
    if closing or not (begins_item and last.kind == "item"):
        above.append("")
    if below and below[0].strip():
        below.insert(0, "")
    return [*above, *entry.removesuffix("\n").split("\n"), *(below or [""])], len(above)
