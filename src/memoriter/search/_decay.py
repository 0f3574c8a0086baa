"""Recency: dated notes and transcripts lose score with age, evergreen notes do not. Off by default."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoriter.types import SourceKind

_DATED = re.compile(r"(?:^|/)(\d{4})-(\d{2})-(\d{2})(?=[-_. ][^/]*$|[^/\d]*\.md$|/)", re.IGNORECASE)
_CLASSIC_DATED = re.compile(r"(?:^|/)memory/(\d{4})-(\d{2})-(\d{2})\.md$")
SECONDS_PER_DAY = 86_400.0
MIN_YEAR = 100
"""Lowest number that counts as a year in a path."""


def path_date(path: str) -> date | None:
    """Return the date in a path, or None. Any depth and a slug are allowed: `memory/work/2026-02-10-router.md`."""
    days = [day for match in _DATED.finditer(path) if (day := _parse_day(match))]
    return days[-1] if days else None


def classic_path_date(path: str) -> date | None:
    """Return the date in a path by OpenClaw 2026.2.26's rule, which accepts only `memory/YYYY-MM-DD.md`."""
    match = _CLASSIC_DATED.search(_normalize_path(path))
    return _parse_day(match) if match else None


def is_evergreen(path: str) -> bool:
    """Return whether a path is a memory note without a date. Such a note states facts, not events."""
    return _is_memory_path(path) and path_date(path) is None


def is_classic_evergreen(path: str) -> bool:
    """Return whether a path is evergreen by OpenClaw 2026.2.26's rule."""
    normal = _normalize_path(path)
    return _is_memory_path(normal) and not _CLASSIC_DATED.search(normal)


def decay_rate(half_life_days: float) -> float:
    """Return λ = ln 2 / half-life, per day, or 0 for a half-life that is not a positive finite number."""
    return math.log(2) / half_life_days if math.isfinite(half_life_days) and half_life_days > 0 else 0.0


def decay(age_days: float, half_life_days: float) -> float:
    """Return e^(−λ·age), or 1 for the future and for ages that are not finite numbers."""
    rate = decay_rate(half_life_days)
    return math.exp(-rate * max(age_days, 0.0)) if rate and math.isfinite(age_days) else 1.0


def start_of(day: date) -> float:
    """Return the first moment of a day (UTC), in seconds since 1970."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


def age_in_days(since: float, now: float) -> float:
    """Return the days between two moments (seconds since 1970), at least 0."""
    return max(now - since, 0.0) / SECONDS_PER_DAY


def classic_start(path: str, source: SourceKind, changed: float | None) -> float | None:
    """Return the moment (seconds since 1970) from which OpenClaw 2026.2.26 counts a chunk's age.

    Args:
        path: path of the chunk, as cited.
        source: kind of source of the chunk.
        changed: last change of the file, or None if it is unknown (as for every transcript in OpenClaw).

    Returns:
        The moment, or None for a chunk that does not decay.
    """
    day = classic_path_date(path)
    if day is not None:
        return start_of(day)
    return None if source == "memory" and is_classic_evergreen(path) else changed


def _normalize_path(path: str) -> str:
    return re.sub(r"^(?:\./)+", "", path.replace("\\", "/"))


def _is_memory_path(path: str) -> bool:
    normal = _normalize_path(path)
    return normal in {"MEMORY.md", "memory.md"} or normal.startswith("memory/")


def _parse_day(match: re.Match[str]) -> date | None:
    try:
        day = date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return None
    return day if day.year >= MIN_YEAR else None
