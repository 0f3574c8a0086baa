"""Chains of memories that replaced each other: what replaces one now, and what forgetting one changes. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection

    from memoriter.extensions.longterm._records import LongTermMemory


def current_replacement(memory: LongTermMemory, known: Collection[LongTermMemory]) -> LongTermMemory | None:
    """Return the memory at the end of the chain that replaced a superseded one; None if nothing known replaced it."""
    newer = {each.supersedes: each for each in sorted(known, key=lambda each: each.created_at, reverse=True)}
    seen = {memory.id}
    last = None
    following = newer.get(memory.id) if memory.status == "superseded" else None
    while following is not None and following.id not in seen:
        seen.add(following.id)
        last = following
        following = newer.get(following.id)
    return last


def check_replaceable(memory: LongTermMemory, known: Collection[LongTermMemory]) -> None:
    """Raise UsageError if another memory has replaced this one already; its chain would have two ends."""
    if (current := current_replacement(memory, known)) is not None:
        message = f"The memory {memory.id} is replaced already, and {current.id} is current: {current.text[:200]!r}."
        raise UsageError(message, remedy=f"Replace {current.id}, or forget it if it is wrong.")


def after_forgetting(memory: LongTermMemory, left: Collection[LongTermMemory]) -> list[LongTermMemory]:
    """Return the memories that change when one is forgotten and all others are left, as they are then.

    What replaced the forgotten memory replaces what that one had replaced. If nothing does, the older memory is current
    again.
    """
    newer = [replace(each, supersedes=memory.supersedes) for each in left if each.supersedes == memory.id]
    if newer or not memory.supersedes or any(each.supersedes == memory.supersedes for each in left):
        return newer
    older = [each for each in left if each.id == memory.supersedes and each.status == "superseded"]
    return [replace(each, status="active") for each in older]
