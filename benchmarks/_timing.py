"""Taking times: medians over repeats after a warm-up, and ratios of things that were timed in turns."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median, quantiles
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds, one for each thing that was timed."""

    seconds: tuple[float, ...]

    @property
    def p50(self) -> float:
        return median(self.seconds)

    @property
    def p95(self) -> float:
        return quantiles(self.seconds, n=20, method="inclusive")[-1] if len(self.seconds) > 1 else self.p50


def timed(act: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = perf_counter()
    act()
    return perf_counter() - start


def each(act: Callable[[_T], object], inputs: Sequence[_T], *, repeats: int) -> Times:
    """The median of `repeats` times for each input, after a round that does not count."""
    for item in inputs:
        act(item)
    rounds = [[timed(lambda item=item: act(item)) for item in inputs] for _ in range(repeats)]
    return Times(tuple(median(times) for times in zip(*rounds, strict=True)))


def repeated(act: Callable[[], object], repeats: int, *, warm_up: int = 1) -> Times:
    """The same call several times."""
    for _ in range(warm_up):
        act()
    return Times(tuple(timed(act) for _ in range(repeats)))


def paired(
    ours: Callable[[_T], object], theirs: Callable[[_T], object], inputs: Sequence[_T]
) -> tuple[Times, Times, float]:
    """Both on each input in turns, and the median of theirs / ours: whatever slows the machine meets both."""
    ours(inputs[0])
    theirs(inputs[0])
    pairs = [(timed(lambda item=item: ours(item)), timed(lambda item=item: theirs(item))) for item in inputs]
    left, right = (Times(tuple(side)) for side in zip(*pairs, strict=True))
    return left, right, median(their / our for our, their in pairs)
