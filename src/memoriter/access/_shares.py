"""What each caller may hold at once of what a server has little of: streams of events, and threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.access._caller import Caller


class Shares:
    """Places for a number of things at once. No caller can take a place from the owner, or all of them from others."""

    def __init__(self, *, owner: int, each: int, others: int) -> None:
        """Start with all places free.

        Args:
            owner: places of the owner, which nobody else can take.
            each: places that one other caller may have.
            others: places of all other callers together.
        """
        self._owner = anyio.CapacityLimiter(owner)
        self._others = anyio.CapacityLimiter(others)
        self._each = each
        self._callers: dict[str, anyio.CapacityLimiter] = {}

    def acquire(self, caller: Caller | None) -> Permit | None:
        """Return a permit, or None if the caller has its share. For None as the caller, see `wait`."""
        permit = Permit()
        try:
            for limiter in self._limiters(caller):
                limiter.acquire_on_behalf_of_nowait(permit)
                permit.limiters.append(limiter)
        except anyio.WouldBlock:
            permit.release()
            return None
        return permit

    async def wait(self, caller: Caller | None) -> Permit:
        """Return a permit as soon as the caller may have one.

        None as the caller is the server itself, which has the places of the owner.
        """
        permit = Permit()
        try:
            for limiter in self._limiters(caller):
                await limiter.acquire_on_behalf_of(permit)
                permit.limiters.append(limiter)
        except BaseException:
            permit.release()
            raise
        return permit

    def _limiters(self, caller: Caller | None) -> Sequence[anyio.CapacityLimiter]:
        if caller is None or caller.has_owner_share:
            return (self._owner,)
        # First a place of its own: so a caller has no more requests in the queue than it may have places.
        return (self._callers.setdefault(caller.key, anyio.CapacityLimiter(self._each)), self._others)


class Permit:
    """One place, until its holder releases it."""

    def __init__(self) -> None:
        self.limiters: list[anyio.CapacityLimiter] = []

    def release(self) -> None:
        """Free the place in the event loop; later calls do nothing."""
        while self.limiters:
            self.limiters.pop().release_on_behalf_of(self)

    def __enter__(self) -> None:
        """Keep the place inside the context."""

    def __exit__(self, *_: object) -> None:
        self.release()
