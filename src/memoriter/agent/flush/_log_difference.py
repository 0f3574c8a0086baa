"""Compare a log at the request of a flush with the log now. Pure; only equal lines and entries count as the same.

Texts hold the bytes of the file (`surrogateescape`), so bytes that are not valid text are compared, too. Lines are
compared without their line endings.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

Entry = tuple[str, ...]
"""Lines of a list item with its continuation, of a heading, or of a paragraph."""

_ENTRY_START = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]|#{1,6}[ \t]")
_HEADING = re.compile(r"#{1,6}[ \t]")


@dataclass(frozen=True, slots=True)
class LogDifference:
    """The difference between two versions of a log."""

    new: tuple[str, ...]
    """Entries that only the later version has, each once and in order; headings do not count."""
    gone: tuple[str, ...]
    """Lines that only the earlier version has, because they were removed or changed."""


def log_difference(before: str, after: str) -> LogDifference:
    """Return the new entries of a log and the lines that it lost.

    Lines that only moved are neither new nor gone, and an entry that equals an older one is not new.
    """
    if before == after:
        return LogDifference((), ())
    earlier = Counter(_nonblank_lines(before))
    later = Counter(_nonblank_lines(after))
    previous = set(log_entries(before))
    new = {
        "\n".join(entry): None
        for entry in log_entries(after)
        if not _HEADING.match(entry[0]) and entry not in previous and any(later[line] > earlier[line] for line in entry)
    }
    # Appending to a last line without a line ending changes that line, but removes nothing.
    gone = () if after.startswith(before) else tuple((earlier - later).elements())
    return LogDifference(tuple(new), gone)


def log_entries(text: str) -> list[Entry]:
    """Return the entries of a log, without the blank lines between them."""
    entries = list[list[str]]()
    open_entry = False
    for line in _lines(text):
        if not line.strip(" \t\r"):
            open_entry = False
        elif open_entry and not _ENTRY_START.match(line):
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


def _nonblank_lines(text: str) -> Iterator[str]:
    return (line for line in _lines(text) if line.strip(" \t\r"))
