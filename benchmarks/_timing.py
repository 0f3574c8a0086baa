"""Measurement of times: medians over repeats after a warm-up, and ratios of alternating measurements."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from statistics import median, quantiles
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Times:
    """The measured seconds."""

    seconds: tuple[float, ...]

    @property
    def p50(self) -> float:
        return median(self.seconds)

    @property
    def p95(self) -> float:
        return quantiles(self.seconds, n=20, method="inclusive")[-1] if len(self.seconds) > 1 else self.p50


def quantile(values: Iterable[float], share: float) -> float:
    """Return the smallest value that at least this share of them does not exceed. Raises ValueError: there is none."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("There is no value.")
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def timed(act: Callable[[], object]) -> float:
    """Return the seconds of one call."""
    start = perf_counter()
    act()
    return perf_counter() - start


def each(act: Callable[[_T], object], inputs: Sequence[_T], *, repeats: int) -> Times:
    """Return the median of `repeats` times for each input, after one warm-up round."""
    for item in inputs:
        act(item)
    rounds = [[timed(lambda item=item: act(item)) for item in inputs] for _ in range(repeats)]
    return Times(tuple(median(times) for times in zip(*rounds, strict=True)))


def repeated(act: Callable[[], object], repeats: int, *, warm_up: int = 1) -> Times:
    """Return the times of the same call, after `warm_up` calls."""
    for _ in range(warm_up):
        act()
    return Times(tuple(timed(act) for _ in range(repeats)))


def paired(
    ours: Callable[[_T], object], theirs: Callable[[_T], object], inputs: Sequence[_T]
) -> tuple[Times, Times, float]:
    """Measure both alternately on each input; return the times and the median of theirs / ours."""
    ours(inputs[0])
    theirs(inputs[0])
    pairs = [(timed(lambda item=item: ours(item)), timed(lambda item=item: theirs(item))) for item in inputs]
    left, right = (Times(tuple(side)) for side in zip(*pairs, strict=True))
    return left, right, median(their / our for our, their in pairs)
