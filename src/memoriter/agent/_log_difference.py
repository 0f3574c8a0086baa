"""Compare a log as it was when a flush was requested with what it is now. Pure, and only equality counts.

Texts are whatever the bytes of the file are (`surrogateescape`), so that bytes that are no text are compared, too. A
line is compared without its line ending.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

Entry = tuple[str, ...]
"""The lines of a list item with its continuation, of a heading, or of a paragraph."""

_BEGINS = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]|#{1,6}[ \t]")
_HEADING = re.compile(r"#{1,6}[ \t]")


@dataclass(frozen=True, slots=True)
class LogDifference:
    """How a log differs from what it was."""

    new: tuple[str, ...]
    """Entries that were not there before, each once and in their order; headings do not count."""
    gone: tuple[str, ...]
    """Lines that were there before and are not there now, because they were removed or changed."""


def log_difference(before: str, after: str) -> LogDifference:
    """Return what is new in a log and what is gone from it.

    Lines that only moved are neither new nor gone, and an entry that equals an older one is not new.

    Args:
        before: the log when the flush was requested.
        after: the log now.
    """
    if before == after:
        return LogDifference((), ())
    earlier, later = Counter(_filled(before)), Counter(_filled(after))
    known = set(log_entries(before))
    new = {
        "\n".join(entry): None
        for entry in log_entries(after)
        if not _HEADING.match(entry[0]) and entry not in known and any(later[line] > earlier[line] for line in entry)
    }
    # An append to a last line that had no line ending changes that line, but nothing of it is gone.
    gone = () if after.startswith(before) else tuple((earlier - later).elements())
    return LogDifference(tuple(new), gone)


def log_entries(text: str) -> list[Entry]:
    """Return the entries of a log, without the blank lines between them."""
    entries, open_entry = list[list[str]](), False
    for line in _lines(text):
        if not line.strip(" \t\r"):
            open_entry = False
        elif open_entry and not _BEGINS.match(line):
            entries[-1].append(line)
        else:
            # An indented paragraph below a list item belongs to the item.
            if not open_entry and entries and line[0] in " \t" and not _HEADING.match(entries[-1][0]):
                entries[-1].append(line)
            else:
                entries.append([line])
            open_entry = not _HEADING.match(line)
    return [tuple(entry) for entry in entries]


def _lines(text: str) -> Iterator[str]:
    return (line.removesuffix("\r") for line in text.split("\n"))


def _filled(text: str) -> Iterator[str]:
    return (line for line in _lines(text) if line.strip(" \t\r"))
