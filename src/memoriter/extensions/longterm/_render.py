"""What the commands of `memoriter ltm` share: the opened memory, the lines that show memories, OpenClaw's table."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memoriter.errors import IndexUnavailable
from memoriter.extras import require
from memoriter.types import Diagnostic
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from memoriter.cli import GlobalOptions, Line, Screen
    from memoriter.extensions.longterm.api import LongTermForgotten, LongTermHit, LongTermMemories, LongTermMemory
    from memoriter.memory import Memory


SHORT_ID = 8
"""Characters of the id of a memory that another line names."""
MARK = "in OpenClaw's table"


def open_long_term(options: GlobalOptions) -> Memory:
    """Open the selected memory. Raises MissingPackage if the extra is not installed."""
    require("longterm", "The command `memoriter ltm`")
    return options.open_memory()


def count_memories(number: int) -> str:
    """Return a number of memories in words."""
    return f"{number:,} {'memory' if number == 1 else 'memories'}"


def memory_line(memory: LongTermMemory, replaced: Mapping[str, str] | None = None, mark: str = "") -> Line:
    """Return a memory as one line that ends with its id.

    `replaced` has the ids of what replaced superseded memories, by the ids of these; `mark` is what else there is to
    say.
    """
    newer = (replaced or {}).get(memory.id, "")[:SHORT_ID]
    superseded = [f"superseded by {newer}" if newer else "superseded"] if memory.status == "superseded" else []
    day = datetime.fromtimestamp(memory.created_at, tz=UTC).date().isoformat()
    marks = [day, *([memory.origin] if memory.origin != "owner" else [])]
    marks += ["approved"] * memory.approved + superseded + [mark] * bool(mark)
    text = " ".join(memory.text.split())
    return (f"[{memory.category}] ", "bold"), (text, ""), (f"  ({', '.join(marks)})  ", "dim"), (memory.id, "dim")


def restored_lines(receipt: LongTermForgotten) -> Iterator[Line]:
    """Yield a line for each memory that is current again, because what had replaced it was forgotten."""
    for memory in receipt.restored:
        yield (("Current again: ", ""), *memory_line(memory))


def show_hits(
    hits: Sequence[LongTermHit],
    screen: Screen,
    replaced: Mapping[str, str] | None = None,
    marks: Mapping[str, str] | None = None,
) -> None:
    """Print the memories that a search found, numbered, with their scores; `marks`: what else to say, by their ids."""
    for number, hit in enumerate(hits, 1):
        mark = (marks or {}).get(hit.memory.id, "")
        screen.show([((f"{number}. {hit.score:.2f} ", ""), *memory_line(hit.memory, replaced, mark))])


@dataclass(frozen=True, slots=True)
class OpenClawRows:
    """Memories of OpenClaw's table that were not copied yet."""

    memories: tuple[LongTermMemory, ...] = ()
    hits: tuple[LongTermHit, ...] = ()
    """The memories that a search found."""
    nearest: tuple[LongTermHit, ...] = ()
    """If it found none: the best of the others."""
    folder: str = ""
    reasons: tuple[Diagnostic, ...] = ()

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the memories and hits."""
        return frozenset(each.id for each in (*self.memories, *(hit.memory for hit in (*self.hits, *self.nearest))))

    @property
    def marks(self) -> dict[str, str]:
        """What to say about each of them, by its id."""
        return dict.fromkeys(self.ids, MARK)

    def json_mark(self, memory: LongTermMemory) -> dict[str, bool]:
        """Return what JSON adds to a memory of the table; nothing to others."""
        return {"inOpenClaw": True} if memory.id in self.ids else {}

    def show_note(self, screen: Screen) -> None:
        """Print where the memories are that were shown, and how they are copied."""
        if number := len(self.ids):
            text = f"{count_memories(number)} {'is' if number == 1 else 'are'} {MARK}, which is only read."
            screen.note(((f"{text} To copy all: memoriter ltm import {self.folder}", ""),))
        screen.show_diagnostics(self.reasons)


def listed_rows(memories: LongTermMemories, as_of: str | None) -> OpenClawRows:
    """Return all memories of the table. One that cannot be read is a diagnostic."""
    from memoriter.extensions.longterm.api import openclaw_memories

    try:
        found = openclaw_memories(memories, as_of=as_of)
    except IndexUnavailable as error:
        return OpenClawRows(reasons=(Diagnostic.of(error),))
    return OpenClawRows(tuple(found), folder=str(memories.parts.openclaw))


def found_rows(memories: LongTermMemories, query: str, *, limit: int, floor: float, as_of: str | None) -> OpenClawRows:
    """Return the memories of the table that fit a query. One that cannot be read is a diagnostic."""
    from memoriter.extensions.longterm.api import search_openclaw

    try:
        answer = search_openclaw(memories, query, limit=limit, floor=floor, as_of=as_of)
    except IndexUnavailable as error:
        return OpenClawRows(reasons=(Diagnostic.of(error),))
    folder = str(memories.parts.openclaw)
    return OpenClawRows(hits=answer.hits, nearest=answer.nearest, folder=folder, reasons=answer.reasons)
