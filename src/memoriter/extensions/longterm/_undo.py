"""Take back decisions about long-term memories: an answer to a candidate of the inbox, or an approval."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.errors import UsageError
from memoriter.extensions.longterm._item import clean_text
from memoriter.masking import mask

if TYPE_CHECKING:
    from memoriter.extensions.longterm._candidates import Candidate
    from memoriter.extensions.longterm._inbox import InboxFile
    from memoriter.extensions.longterm._memories import LongTermMemories
    from memoriter.extensions.longterm._records import LongTermMemory
    from memoriter.extensions.longterm._results import LongTermForgotten


def put_back(
    inbox: InboxFile, candidate: Candidate, memories: LongTermMemories, *, stored: str = ""
) -> LongTermForgotten | None:
    """Put a candidate back into the inbox as it was before it was accepted, rejected or edited.

    The candidate is written first, so nothing is lost if the rest fails.

    Args:
        inbox: where it waits again.
        candidate: the candidate as it was.
        memories: where it was stored.
        stored: the id of the memory that accepting has stored, which is forgotten; empty: accepting stored none. An
            older memory that it had replaced is current again.

    Returns:
        The receipt of the memory that was forgotten; None if there was none to forget.

    Raises:
        UsageError: there is no such memory, it says something else, or the candidate has expired. Nothing was changed.
        WriteError: a note could not be written.
    """
    memory = _memory(memories, stored) if stored else None
    if memory is not None and memory.text != mask(clean_text(candidate.text)):
        message = f"The memory {memory.id} is not what this candidate became: its words are different."
        raise UsageError(message, remedy="Give the `memory.id` of the answer that accepted the candidate.")
    if memory is not None and memory.origin == "owner":
        inbox.record([candidate])
    inbox.put_back(candidate)
    if memory is None:
        return None
    return memories.forget_id(memory.id)


def withdraw_approval(memories: LongTermMemories, identifier: str) -> LongTermMemory:
    """Withhold a memory again that somebody else wrote and the owner approved, and return it.

    Raises:
        UsageError: there is no such memory, or the owner wrote it.
        WriteError: the note could not be written.
    """
    memory = _memory(memories, identifier)
    if memory.origin == "owner":
        remedy = "Forget it, if it must not be put before a turn."
        raise UsageError("The memory needs no approval, because you wrote it.", remedy=remedy)
    memories.parts.own.remove(memory)
    withdrawn = replace(memory, approved=False)
    memories.change(withdrawn)
    return withdrawn


def _memory(memories: LongTermMemories, identifier: str) -> LongTermMemory:
    wanted = identifier.strip().lower()
    found = next((entry.memory for entry in memories.entries() if entry.memory.id == wanted), None)
    if found is None:
        raise UsageError(f"There is no memory with the id {identifier!r}.", remedy="See `memoriter ltm list`.")
    return found
