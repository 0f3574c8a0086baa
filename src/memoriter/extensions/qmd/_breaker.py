"""When a program that failed is asked again."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.types import Diagnostic

FIRST_PAUSE = 30.0
"""Seconds after a failure in which nobody asks."""
LONGEST_PAUSE = 900.0
"""Seconds. Each attempt that fails doubles the pause up to this."""


class Breaker:
    """Lets everyone ask until a failure; then nobody for a pause, and after it one at a time until one succeeds.

    Safe to share between threads.
    """

    def __init__(self, clock: Callable[[], float], first: float = FIRST_PAUSE, longest: float = LONGEST_PAUSE) -> None:
        """Start without a failure.

        Args:
            clock: monotonic seconds.
            first: the pause after the first failure, in seconds.
            longest: the longest pause, in seconds.
        """
        self._clock = clock
        self._first = first
        self._longest = longest
        self._lock = threading.Lock()
        self._reason: Diagnostic | None = None
        self._pause = first
        self._until = 0.0
        self._trying = False

    @property
    def reason(self) -> Diagnostic | None:
        """Why the program is not asked; None if it is."""
        return self._reason

    @property
    def seconds_left(self) -> float:
        """Seconds until the next attempt, at least 0."""
        return max(0.0, self._until - self._clock()) if self._reason else 0.0

    def admit(self) -> bool:
        """Return whether the caller may ask; it then calls `succeeded`, `failed` or `abandoned`."""
        with self._lock:
            if self._reason is None:
                return True
            if self._trying or self._clock() < self._until:
                return False
            self._trying = True
            return True

    def succeeded(self) -> None:
        """Let everyone ask again."""
        with self._lock:
            self._reason = None
            self._pause = self._first
            self._trying = False

    def failed(self, reason: Diagnostic) -> None:
        """Let nobody ask for a pause, which is twice as long if this was an attempt after a failure."""
        with self._lock:
            if self._trying:
                self._pause = min(2 * self._pause, self._longest)
            self._reason = reason
            self._trying = False
            self._until = self._clock() + self._pause

    def abandoned(self) -> None:
        """Forget an attempt that ended without a result; the next caller may try."""
        with self._lock:
            self._trying = False
