"""What the commands about long-term memories show of OpenClaw's own table, which is only read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.errors import IndexUnavailable
from memoriter.extensions.longterm.commands._render import count_memories
from memoriter.types import Diagnostic
from memoriter.values import dataclass

if TYPE_CHECKING:
    from memoriter.cli import Screen
    from memoriter.extensions.longterm.api import LongTermHit, LongTermMemories, LongTermMemory

MARK = "in OpenClaw's table"


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
        return OpenClawRows(reasons=(Diagnostic(error.code, error.message, error.remedy),))
    return OpenClawRows(tuple(found), folder=str(memories.parts.openclaw))


def found_rows(memories: LongTermMemories, query: str, *, limit: int, floor: float, as_of: str | None) -> OpenClawRows:
    """Return the memories of the table that fit a query. One that cannot be read is a diagnostic."""
    from memoriter.extensions.longterm.api import search_openclaw

    try:
        answer = search_openclaw(memories, query, limit=limit, floor=floor, as_of=as_of)
    except IndexUnavailable as error:
        return OpenClawRows(reasons=(Diagnostic(error.code, error.message, error.remedy),))
    folder = str(memories.parts.openclaw)
    return OpenClawRows(hits=answer.hits, nearest=answer.nearest, folder=folder, reasons=answer.reasons)
