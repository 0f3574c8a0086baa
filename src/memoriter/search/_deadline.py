"""The time limit of a search, one object that every stage reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on a monotonic clock (seconds)."""

    clock: Callable[[], float]
    at: float

    @classmethod
    def within(cls, milliseconds: float, clock: Callable[[], float]) -> Deadline:
        """Return a deadline that many milliseconds from now."""
        return cls(clock, clock() + milliseconds / 1000)

    @property
    def left(self) -> float:
        """Seconds until the deadline, at least 0."""
        return max(self.at - self.clock(), 0.0)

    @property
    def passed(self) -> bool:
        """True from the deadline on."""
        return self.clock() >= self.at
