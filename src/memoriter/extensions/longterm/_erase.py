"""Forget a memory everywhere: in the note, in the index of the notes, and in every version of the database.

What it had replaced is current again, unless another memory replaces it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.backends import ForgetRequest
from memoriter.errors import MemoriterError, WriteConflict, sentence
from memoriter.extensions.longterm._chain import after_forgetting
from memoriter.extensions.longterm._note import PATH
from memoriter.extensions.longterm._results import LongTermForgotten
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.extensions.longterm._parts import LongTermParts
    from memoriter.extensions.longterm._records import LongTermMemory
    from memoriter.extensions.longterm._store import LongTermStore
    from memoriter.extensions.longterm._writing import NoteFile

TRIES = 5


def erase(
    memory: LongTermMemory,
    parts: LongTermParts,
    note: NoteFile,
    *,
    opened: Callable[[], LongTermStore],
    change: Callable[[LongTermMemory], None],
) -> LongTermForgotten:
    """Delete a memory and return the receipt.

    Args:
        memory: the memory.
        parts: what it is stored in.
        note: the file with its line.
        opened: returns the database.
        change: writes a changed memory into the note and the database.

    Raises:
        WriteError: nothing was deleted.
    """
    parts.own.remove(memory)
    lines, left = _erase_lines(memory, parts, note)
    if memory.note != parts.note:
        message = (
            "Its line is in the note of another folder, and a rebuild there adds the memory to the database again."
        )
        left.append(Diagnostic("elsewhere", message, "Run `memoriter ltm forget` in that folder, too."))
    rows = 0
    try:
        parts.vectors.remove([memory.id])
    except OSError as error:
        left.append(
            Diagnostic(
                "write", f"A copy of its vector is left: {sentence(error.strerror or error)}", "Delete that file."
            )
        )
    try:
        store = opened()
        rows = store.delete([memory.id], principal=parts.principal)
        if rows:
            store.maintain(erase=True)
    except MemoriterError as error:
        message = f"The memory may still be in the database {parts.database!r}: {error.message}"
        left.append(Diagnostic(error.code, message, f"{error.remedy} Then run `memoriter ltm rebuild`."))
    restored = _mend_chain(memory, note, change, left)
    return LongTermForgotten((memory,), lines=lines, rows=rows, restored=restored, left=tuple(left))


def _mend_chain(
    memory: LongTermMemory, note: NoteFile, change: Callable[[LongTermMemory], None], left: list[Diagnostic]
) -> tuple[LongTermMemory, ...]:
    """Write what forgetting a memory changes in its chain, and return the memories that are current again."""
    changed = after_forgetting(memory, [entry.memory for entry in note.entries()])
    try:
        for each in changed:
            change(each)
    except MemoriterError as error:
        message = f"{PATH} still has links to the forgotten memory: {error.message}"
        remedy = "Delete the word `superseded` from the comment of the older memory, if it is to be current again."
        left.append(Diagnostic(error.code, message, remedy))
        return ()
    return tuple(each for each in changed if each.id == memory.supersedes)


def _erase_lines(memory: LongTermMemory, parts: LongTermParts, note: NoteFile) -> tuple[int, list[Diagnostic]]:
    """Delete the item from the note and its passages from the index of the notes; return the number of its lines."""
    for number in range(TRIES):
        found = next((entry for entry in note.entries() if entry.memory.id == memory.id), None)
        if found is None:
            return 0, []
        if parts.apart:  # no index has this note
            return (found.end - found.start) * note.change({memory.id: None}), []
        try:
            lines = f"{PATH}#L{found.start + 1}-L{found.end}"
            plan = parts.backend.plan_forget(ForgetRequest.of(lines, None, None))
            planned = [passage.text for removal in plan.notes for passage in removal.passages]
            if not any(memory.id in text or memory.text.split("\n")[0] in text for text in planned):
                continue  # the note has changed in between
            return found.end - found.start, list(parts.backend.forget(plan).left)
        except WriteConflict:
            if number == TRIES - 1:
                raise
    message = f"{PATH!r} keeps changing, so the memory was not deleted."
    raise WriteConflict(message, remedy="Run the command again.")
