"""The limits of each caller: requests over time, requests at once, and bytes over time.

They are counted by hand because the package `limits` has no token bucket, and reads the time itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from memoriter.discovery import BURST_SECONDS, Limits
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

PER_SECOND = Limits().per_second
"""Requests that a caller may send per second, over a longer time."""
BURST = PER_SECOND * BURST_SECONDS
"""Requests that a caller may send at once after a pause."""
MINUTE = 60.0
OWNER_LIMITS = Limits(at_once=None, bytes_per_minute=None)
"""The limits of the owner, whose requests are only counted over time."""


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class RateLimit:
    """A token bucket for each caller: it holds `burst` requests and is refilled by `per_second`."""

    def __init__(self, clock: Callable[[], float], *, per_second: float = PER_SECOND, burst: float = BURST) -> None:
        """Start with full buckets of `burst` requests, to which `per_second` are added."""
        self._clock = clock
        self._per_second = per_second
        self._burst = burst
        self._buckets: dict[str, _Bucket] = {}

    def take(self, name: str, cost: float = 1.0) -> float:
        """Count a request of a caller. Return 0, or the seconds to wait if the request is one too many."""
        bucket = self._refilled(name)
        if bucket.left < cost:
            return (cost - bucket.left) / self._per_second
        bucket.left -= cost
        return 0.0

    def charge(self, name: str, cost: float) -> None:
        """Count what has happened already, even if it is more than is left."""
        self._refilled(name).left -= cost

    def overdrawn(self, name: str) -> float:
        """Return the seconds after which what a caller has been charged is paid; 0 if it is."""
        return max(0.0, -self._refilled(name).left) / self._per_second

    def _refilled(self, name: str) -> _Bucket:
        now = self._clock()
        bucket = self._buckets.setdefault(name, _Bucket(self._burst, now))
        bucket.left = min(self._burst, bucket.left + max(0.0, now - bucket.at) * self._per_second)
        bucket.at = now
        return bucket


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

        Args:
            name: the caller; one caller always has the same limits.
            limits: its limits; None: those of the owner.
        """
        usage = self._usage(name, limits)
        if usage.limits.at_once is not None and usage.open >= usage.limits.at_once:
            return LimitReached("at_once", 1.0)
        if usage.bytes is not None and (seconds := usage.bytes.overdrawn("")):
            return LimitReached("bytes", seconds)
        if seconds := usage.requests.take(""):
            return LimitReached("requests", seconds)
        usage.open += 1
        return None

    def count_bytes(self, name: str, number: int) -> None:
        """Count bytes that were received from a caller or sent to it; the next request is refused if they were many."""
        usage = self._usages[name]
        if usage.bytes is not None:
            usage.bytes.charge("", number)

    def end(self, name: str) -> None:
        """Count a request that has ended."""
        self._usages[name].open -= 1

    def _usage(self, name: str, limits: Limits | None) -> _Usage:
        usage = self._usages.get(name)
        if usage is None:
            self._usages[name] = usage = _Usage(self._clock, limits or self._owner)
        return usage
