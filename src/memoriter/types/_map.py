"""A picture of the passages of an index: where their vectors lie in two dimensions, and which are nearly the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.values import dataclass

if TYPE_CHECKING:
    from memoriter.types._answers import Diagnostic


@dataclass(frozen=True, slots=True)
class MapPoint:
    """A passage with its place in the picture."""

    citation: str
    path: str
    start_line: int
    """1-based."""
    heading: tuple[str, ...]
    text: str
    """The beginning of the passage, in one line."""
    x: float
    """-1..1, as `y`; both axes have the same scale."""
    y: float
    group: int
    """The position in `PassageMap.groups`."""


@dataclass(frozen=True, slots=True)
class MapGroup:
    """Passages whose vectors are near to one centre, in all dimensions and not only in the two that are shown."""

    size: int
    centre: int
    """The position in `PassageMap.points` of the passage that is nearest to the centre."""
    files: tuple[tuple[str, int], ...]
    """The files with most passages of the group, with the number of these."""


@dataclass(frozen=True, slots=True)
class NearDuplicates:
    """Passages that are connected by pairs of nearly equal vectors."""

    points: tuple[int, ...]
    """Positions in `PassageMap.points`."""
    similarity: float
    """The lowest cosine of the pairs that connect them."""


@dataclass(frozen=True, slots=True)
class PassageMap:
    """The passages of an index in two dimensions."""

    points: tuple[MapPoint, ...]
    groups: tuple[MapGroup, ...]
    """The largest first."""
    duplicates: tuple[NearDuplicates, ...]
    """The largest first."""
    chunks: int
    """Passages of the index."""
    vectors: int
    """Passages of them that have a vector."""
    variance: tuple[float, float] = (0.0, 0.0)
    """The share of the variance of the vectors that each axis shows, 0..1."""
    similarity: float = 0.0
    """The cosine from which two passages count as nearly the same."""
    reasons: tuple[Diagnostic, ...] = ()
    """Why there is nothing to show."""
