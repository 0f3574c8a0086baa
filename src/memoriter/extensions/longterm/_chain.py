"""Chains of memories that replaced each other: what replaces one now, and what forgetting one changes. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

from memoriter.errors import UsageError
from memoriter.filters import parse_day

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from memoriter.extensions.longterm._records import LongTermMemory

AsOf = float | date | str | None
"""A time: seconds since 1970, or a day (UTC), whose end is meant: a date, or text such as `2026-02-10`, `yesterday`
or `7d`; None: now."""


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


def moment_of(as_of: AsOf, now: float) -> float | None:
    """Return a time in seconds since 1970; None: now.

    >>> moment_of("1970-01-01", now=0.0)
    86399.999

    Raises:
        UsageError: the text is no day.
    """
    if isinstance(as_of, str):
        day = parse_day(as_of.strip(), datetime.fromtimestamp(now, tz=UTC).date())
        if day is None:
            remedy = "Give a day such as 2026-02-10, yesterday or 7d."
            raise UsageError(f"{as_of!r} is not a day such as 2026-02-10.", remedy=remedy)
        as_of = day
    if isinstance(as_of, datetime):
        return as_of.timestamp()
    if isinstance(as_of, date):
        return round(datetime.combine(as_of, time(), UTC).timestamp() + timedelta(days=1).total_seconds() - 0.001, 3)
    return as_of


def memories_at(
    memories: Sequence[LongTermMemory], at: float | None, known: Iterable[LongTermMemory]
) -> list[LongTermMemory]:
    """Return the memories as they were at a time: later ones are left out, and what they replaced is current again.

    A memory that is current now was so at all times: what had replaced it meanwhile was forgotten. One that the note
    calls superseded, and that nothing replaced, stays superseded. The links of all `known` memories tell when one was
    replaced. The time is in seconds since 1970; None: now.
    """
    if at is None:
        return list(memories)
    since = dict[str, float]()
    for each in known:
        if each.supersedes:
            since[each.supersedes] = min(each.created_at, since.get(each.supersedes, each.created_at))

    def as_it_was(memory: LongTermMemory) -> LongTermMemory:
        return memory if since.get(memory.id, at) <= at else replace(memory, status="active")

    return [as_it_was(each) for each in memories if each.created_at <= at]


def replacements(known: Iterable[LongTermMemory], at: float | None) -> dict[str, str]:
    """Return the id of the first replacement of each superseded memory, by the id of the older one.

    Replacements after `at`, in seconds since 1970, are left out; None: now.
    """
    memories = sorted(known, key=lambda each: each.created_at, reverse=True)
    newer = {each.supersedes: each.id for each in memories if each.supersedes and (at is None or each.created_at <= at)}
    return {each.id: newer[each.id] for each in memories if each.status == "superseded" and each.id in newer}
