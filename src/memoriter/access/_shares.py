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

    def take(self, caller: Caller | None) -> Place | None:
        """Return a place, or None if the caller has its share. For None as the caller, see `wait`."""
        place = Place()
        try:
            for limiter in self._limiters(caller):
                limiter.acquire_on_behalf_of_nowait(place)
                place.limiters.append(limiter)
        except anyio.WouldBlock:
            place.leave()
            return None
        return place

    async def wait(self, caller: Caller | None) -> Place:
        """Return a place as soon as the caller has one. None: the server itself, which has the places of the owner."""
        place = Place()
        try:
            for limiter in self._limiters(caller):
                await limiter.acquire_on_behalf_of(place)
                place.limiters.append(limiter)
        except BaseException:
            place.leave()
            raise
        return place

    def _limiters(self, caller: Caller | None) -> Sequence[anyio.CapacityLimiter]:
        if caller is None or caller.has_owner_share:
            return (self._owner,)
        # First a place of its own: so a caller has no more requests in the queue than it may have places.
        return (self._callers.setdefault(caller.key, anyio.CapacityLimiter(self._each)), self._others)


class Place:
    """One place, until its holder leaves it."""

    def __init__(self) -> None:
        self.limiters: list[anyio.CapacityLimiter] = []

    def leave(self) -> None:
        """Free the place, in the event loop; later calls do nothing."""
        while self.limiters:
            self.limiters.pop().release_on_behalf_of(self)

    def __enter__(self) -> None:
        """Keep the place inside the context."""

    def __exit__(self, *_: object) -> None:
        self.leave()
