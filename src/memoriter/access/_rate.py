"""A limit on the requests of each caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

PER_SECOND = 100.0
"""Requests that a caller may send per second, over a longer time."""
BURST = 1_000.0
"""Requests that a caller may send at once after a pause."""


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class RateLimit:
    """A token bucket for each caller: it holds `burst` requests and is refilled by `per_second`."""

    def __init__(self, clock: Callable[[], float], *, per_second: float = PER_SECOND, burst: float = BURST) -> None:
        """Start with full buckets.

        Args:
            clock: returns monotonic seconds.
            per_second: requests per second over a longer time.
            burst: requests at once.
        """
        self._clock, self._per_second, self._burst = clock, per_second, burst
        self._buckets: dict[str, _Bucket] = {}

    def take(self, name: str) -> float:
        """Count a request of a caller. Return 0, or the seconds to wait if the request is one too many."""
        now = self._clock()
        bucket = self._buckets.setdefault(name, _Bucket(self._burst, now))
        bucket.left = min(self._burst, bucket.left + max(0.0, now - bucket.at) * self._per_second)
        bucket.at = now
        if bucket.left < 1.0:
            return (1.0 - bucket.left) / self._per_second
        bucket.left -= 1.0
        return 0.0
