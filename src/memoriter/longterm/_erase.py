"""Forget a memory everywhere: in the note, in the index of the notes, and in every version of the database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.errors import MemoriterError, WriteConflict, system_error_text
from memoriter.longterm._note import PATH
from memoriter.longterm._results import LongTermForgotten
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from memoriter.longterm._memories import LongTermMemories
    from memoriter.longterm._records import LongTermMemory

TRIES = 5


def erase(memories: LongTermMemories, memory: LongTermMemory) -> LongTermForgotten:
    """Delete a memory and return the receipt.

    Raises:
        WriteError: nothing was deleted.
    """
    lines, left = _erase_lines(memories, memory)
    rows = 0
    try:
        memories.parts.vectors.remove([memory.id])
    except OSError as error:
        left.append(
            Diagnostic("write", f"A copy of its vector is left: {system_error_text(error)}", "Delete that file.")
        )
    try:
        store = memories.opened()
        rows = store.delete([memory.id], principal=memories.parts.principal)
        if rows:
            store.maintain(erase=True)
    except MemoriterError as error:
        message = f"The memory may still be in the database {memories.parts.database!r}: {error.message}"
        left.append(Diagnostic(error.code, message, f"{error.remedy} Then run `memoriter ltm rebuild`."))
    return LongTermForgotten((memory,), lines=lines, rows=rows, left=tuple(left))


def _erase_lines(memories: LongTermMemories, memory: LongTermMemory) -> tuple[int, list[Diagnostic]]:
    """Delete the item from the note and its passages from the index of the notes; return the number of its lines."""
    for number in range(TRIES):
        content, entries = memories.file.parsed()
        del content
        found = next((entry for entry in entries if entry.memory.id == memory.id), None)
        if found is None:
            return 0, []
        try:
            plan = memories.parts.memory.plan_forget(f"{PATH}#L{found.start + 1}-L{found.end}")
            planned = [passage.text for removal in plan.notes for passage in removal.passages]
            if not any(memory.id in text or memory.text.split("\n")[0] in text for text in planned):
                continue  # the note has changed in between
            return found.end - found.start, list(memories.parts.memory.forget(plan).left)
        except WriteConflict:
            if number == TRIES - 1:
                raise
    message = f"{PATH!r} keeps changing, so the memory was not deleted."
    raise WriteConflict(message, remedy="Run the command again.")
