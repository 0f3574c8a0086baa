"""The time of an operation: its limit, which every stage reads, and how long each stage takes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping


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


class Stopwatch:
    """Adds up the time of named stages, for one thread. A stage inside another one counts for itself alone."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Start. `clock` returns monotonic seconds."""
        self._clock = clock
        self._began = self._mark = clock()
        self._stack: list[str] = []
        self._seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """Count the time inside for this stage."""
        self._switch()
        self._stack.append(name)
        try:
            yield
        finally:
            self._switch()
            self._stack.pop()

    @property
    def milliseconds(self) -> float:
        """The time since the start."""
        return (self._clock() - self._began) * 1000

    def timings(self) -> dict[str, float]:
        """Return the milliseconds of each stage that was entered, and of the whole as `total`, to a hundredth."""
        stages = {name: round(seconds * 1000, 2) for name, seconds in self._seconds.items()}
        return {**stages, "total": round(self.milliseconds, 2)}

    def _switch(self) -> None:
        """Count the time since the last switch for the innermost stage."""
        now = self._clock()
        if self._stack:
            name = self._stack[-1]
            self._seconds[name] = self._seconds.get(name, 0.0) + now - self._mark
        self._mark = now


class Listed:
    """Timings whose text is made only if a log shows it.

    >>> str(Listed({"rank": 1.26, "total": 3.0}))
    'rank 1.3 ms, total 3.0 ms'
    """

    def __init__(self, timings: Mapping[str, float]) -> None:
        self._timings = timings

    def __str__(self) -> str:
        return ", ".join(f"{name} {milliseconds:.1f} ms" for name, milliseconds in self._timings.items())
