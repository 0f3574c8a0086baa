"""What each caller may use of a server: requests over time and at once, bytes over time, streams and threads.

They are counted by hand because the package `limits` has no token bucket, and reads the time itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import anyio

from memoriter.discovery import Limits
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoriter.access._callers import Caller

MINUTE = 60.0
OWNER_LIMITS = Limits(at_once=None, bytes_per_minute=None)
"""The limits of the owner, whose requests are only counted over time."""


class RateLimit:
    """A token bucket: it holds `burst` requests or bytes, and is refilled by `per_second`."""

    def __init__(self, clock: Callable[[], float], *, per_second: float, burst: float) -> None:
        """Start with a full bucket."""
        self._clock = clock
        self._per_second = per_second
        self._burst = burst
        self._left = burst
        self._at = clock()

    def take(self) -> float:
        """Count a request. Return 0, or the seconds to wait if the request is one too many."""
        self._refill()
        if self._left < 1.0:
            return (1.0 - self._left) / self._per_second
        self._left -= 1.0
        return 0.0

    def charge(self, cost: float) -> None:
        """Count what has happened already, even if it is more than is left."""
        self._refill()
        self._left -= cost

    def overdrawn(self) -> float:
        """Return the seconds after which what was charged is paid; 0 if it is."""
        self._refill()
        return max(0.0, -self._left) / self._per_second

    def _refill(self) -> None:
        now = self._clock()
        self._left = min(self._burst, self._left + max(0.0, now - self._at) * self._per_second)
        self._at = now


@dataclass(frozen=True, slots=True)
class LimitReached:
    """Why a request is refused for now."""

    limit: Literal["requests", "at_once", "bytes", "streams"]
    seconds: float
    """Seconds after which the caller may try again."""


class _Usage:
    """What one caller has used of its limits."""

    def __init__(self, clock: Callable[[], float], limits: Limits) -> None:
        self.limits = limits
        self.open = 0
        self.requests = RateLimit(clock, per_second=limits.per_second, burst=limits.burst)
        allowed = limits.bytes_per_minute
        self.bytes = None if allowed is None else RateLimit(clock, per_second=allowed / MINUTE, burst=float(allowed))


class CallerLimits:
    """The limits of all callers of a server. One caller's requests take nothing from another's."""

    def __init__(self, clock: Callable[[], float], *, owner: Limits = OWNER_LIMITS) -> None:
        """Start without requests."""
        self._clock = clock
        self._owner = owner
        self._usages: dict[str, _Usage] = {}

    def begin(self, name: str, limits: Limits | None) -> LimitReached | None:
        """Count a request that begins, unless it is over a limit; then return which. Each `begin` needs an `end`.

        One caller always has the same limits; None: those of the owner.
        """
        usage = self._usage(name, limits)
        if usage.limits.at_once is not None and usage.open >= usage.limits.at_once:
            return LimitReached("at_once", 1.0)
        if usage.bytes is not None and (seconds := usage.bytes.overdrawn()):
            return LimitReached("bytes", seconds)
        if seconds := usage.requests.take():
            return LimitReached("requests", seconds)
        usage.open += 1
        return None

    def count_bytes(self, name: str, number: int) -> None:
        """Count bytes that were received from a caller or sent to it; the next request is refused if they were many."""
        usage = self._usages[name]
        if usage.bytes is not None:
            usage.bytes.charge(number)

    def end(self, name: str) -> None:
        """Count a request that has ended."""
        self._usages[name].open -= 1

    def _usage(self, name: str, limits: Limits | None) -> _Usage:
        usage = self._usages.get(name)
        if usage is None:
            self._usages[name] = usage = _Usage(self._clock, limits or self._owner)
        return usage


class Shares:
    """Places for a number of things at once. No caller can take a place from the owner, or all of them from others."""

    def __init__(self, *, owner: int, each: int, others: int) -> None:
        """Start with all places free: of the owner, of each other caller, and of all other callers together."""
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
