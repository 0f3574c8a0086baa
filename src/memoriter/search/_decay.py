"""Recency: dated notes and transcripts fade with age, evergreen notes never. Off by default."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime

_DATED = re.compile(r"(?:^|/)(\d{4})-(\d{2})-(\d{2})(?=[-_. ][^/]*$|[^/\d]*\.md$|/)", re.IGNORECASE)
_CLASSIC_DATED = re.compile(r"(?:^|/)memory/(\d{4})-(\d{2})-(\d{2})\.md$")
SECONDS_A_DAY = 86_400.0


def path_date(path: str) -> date | None:
    """The day that a path names, at any depth and with a slug: `memory/work/2026-02-10-router.md`."""
    found = [made for match in _DATED.finditer(path) if (made := _day(match))]
    return found[-1] if found else None


def classic_path_date(path: str) -> date | None:
    """As OpenClaw 2026.2.26 reads it: only `memory/YYYY-MM-DD.md` itself."""
    match = _CLASSIC_DATED.search(_normal(path))
    return _day(match) if match else None


def is_evergreen(path: str) -> bool:
    """Notes of the memory that carry no date: they state what holds, not what happened."""
    return _is_memory(path) and path_date(path) is None


def is_classic_evergreen(path: str) -> bool:
    """As OpenClaw 2026.2.26 decides it."""
    normal = _normal(path)
    return _is_memory(normal) and not _CLASSIC_DATED.search(normal)


def decay_rate(half_life_days: float) -> float:
    """λ = ln 2 / half-life, per day; 0 for a half-life that is not a positive number."""
    return math.log(2) / half_life_days if math.isfinite(half_life_days) and half_life_days > 0 else 0.0


def decay(age_days: float, half_life_days: float) -> float:
    """e^(−λ·age), 1 for the future and for ages that are not finite numbers."""
    rate = decay_rate(half_life_days)
    return math.exp(-rate * max(age_days, 0.0)) if rate and math.isfinite(age_days) else 1.0


def age_in_days(day: date, now: float) -> float:
    """Days from the start of a day (UTC) to `now` (seconds since 1970), never negative."""
    start = datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
    return max(now - start, 0.0) / SECONDS_A_DAY


def _normal(path: str) -> str:
    return re.sub(r"^(?:\./)+", "", path.replace("\\", "/"))


def _is_memory(path: str) -> bool:
    normal = _normal(path)
    return normal in {"MEMORY.md", "memory.md"} or normal.startswith("memory/")


def _day(match: re.Match[str]) -> date | None:
    try:
        return date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return None
