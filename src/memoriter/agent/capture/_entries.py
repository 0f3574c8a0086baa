"""Find captured entries in the notes, by the marks that are in the notes themselves."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from memoriter.errors import PathRefused, WriteConflict
from memoriter.values import dataclass
from memoriter.workspace import marked_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memoriter.backends import ForgetPlan
    from memoriter.memory_like import MemoryLike

CAPTURE = "capture"
"""The first word of the origin of a captured entry."""
_ORIGIN = re.compile(rf"{CAPTURE} (?P<id>[0-9a-f]{{8}}) \((?P<client>\S+) (?P<kind>summary|prompts)\), (?P<day>\S+)")
_IN_NOTE = f"<!-- from: {CAPTURE} "


@dataclass(frozen=True, slots=True)
class CapturedEntry:
    """A record of a conversation in a note."""

    id: str
    """Eight hexadecimal digits."""
    path: str
    """The note, as cited."""
    start_line: int
    """First line, 1-based."""
    end_line: int
    """Last line, inclusive."""
    day: str
    """The day on which it was written, as `YYYY-MM-DD`."""
    client: str
    """The program, such as `claude-code`."""
    kind: str
    """`summary`: a model's summary; `prompts`: what the owner asked."""
    text: str
    """Its lines, as the note has them."""

    @property
    def citation(self) -> str:
        """The lines of the note."""
        return f"{self.path}#L{self.start_line}-L{self.end_line}"


def find_captures(memory: MemoryLike) -> Iterator[CapturedEntry]:
    """Yield the captured entries of all notes that can be read, in the order of the notes' paths."""
    for source in memory.sources():
        if source.kind != "memory":
            continue
        lines: list[str] = []
        with suppress(PathRefused):
            lines = _lines_of(memory, source.path)
        yield from captures_in(source.path, lines)


def captures_in(path: str, lines: Sequence[str]) -> Iterator[CapturedEntry]:
    """Yield the captured entries among the lines of a note."""
    if not any(_IN_NOTE in line for line in lines):
        return
    for entry in marked_entries(lines):
        if match := _ORIGIN.fullmatch(entry.origin):
            text = "\n".join(lines[entry.start_line - 1 : entry.end_line])
            place = path, entry.start_line, entry.end_line
            yield CapturedEntry(match["id"], *place, match["day"], match["client"], match["kind"], text)


def plan_removal(plan_forget: Callable[[str], ForgetPlan], capture: CapturedEntry) -> ForgetPlan:
    """Return the plan that removes a record. Raises WriteConflict if its lines have changed since it was found."""
    plan = plan_forget(capture.citation)
    planned = [line for removal in plan.notes for passage in removal.passages for line in passage.text.split("\n")]
    if planned != [line.rstrip("\r") for line in capture.text.split("\n")]:
        message = f"{capture.path!r} has changed since the record was found; nothing was removed."
        raise WriteConflict(message, remedy="Run the command again.")
    return plan


def _lines_of(memory: MemoryLike, path: str) -> list[str]:
    """Return the lines of a note, which is read in parts. Raises PathRefused."""
    lines: list[str] = []
    while True:
        part = memory.read(path, start=len(lines) + 1)
        lines += part.text.removesuffix("\n").split("\n") if part.text else []
        if not part.truncated or not part.text:
            return lines
