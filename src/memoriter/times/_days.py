"""Ranges of days, by the arithmetic of the calendar. A week goes from Monday to Sunday."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Literal

from memoriter.values import dataclass

Unit = Literal["day", "week", "month", "year"]


@dataclass(frozen=True, slots=True)
class Days:
    """Days from the first to the last, both included; None: without an end on that side."""

    first: date | None = None
    last: date | None = None

    def __contains__(self, day: object) -> bool:
        """Return whether a day is one of them."""
        if not isinstance(day, date):
            return False
        return (self.first is None or self.first <= day) and (self.last is None or day <= self.last)

    def in_words(self) -> str:
        """Return the days as text.

        >>> Days(date(2026, 11, 16), date(2026, 11, 22)).in_words(), Days(date(2026, 1, 1)).in_words()
        ('2026-11-16 … 2026-11-22', '2026-01-01 …')
        """
        if self.first is not None and self.first == self.last:
            return self.first.isoformat()
        return f"{self.first or ''} … {self.last or ''}".strip()


ANY_DAY = Days()
"""All days, and notes without a day."""


def period_of(unit: Unit, offset: int, today: date) -> Days:
    """Return the day, week, month or year that is `offset` of them after today's.

    Raises ValueError or OverflowError if it is outside of the calendar.
    """
    match unit:
        case "day":
            day = today + timedelta(days=offset)
            return Days(day, day)
        case "week":
            monday = today + timedelta(days=7 * offset - today.weekday())
            return Days(monday, monday + timedelta(days=6))
        case "month":
            months = today.year * 12 + today.month - 1 + offset
            return month_of(months // 12, months % 12 + 1)
        case "year":
            return Days(date(today.year + offset, 1, 1), date(today.year + offset, 12, 31))


def month_of(year: int, month: int) -> Days:
    """Return a month, from 1. Raises ValueError or OverflowError if it is outside of the calendar.

    >>> month_of(2024, 2).last
    datetime.date(2024, 2, 29)
    """
    first = date(year, month, 1)
    return Days(first, (first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1))


def past(unit: Unit, count: int, today: date) -> Days:
    """Return the days from so many days, weeks, months or years ago until today.

    A month or a year ago is the same day of that month, or its last day if it is shorter.
    """
    if unit in {"day", "week"}:
        return Days(today - timedelta(days=count * (7 if unit == "week" else 1)), today)
    month = period_of("month", -count * (12 if unit == "year" else 1), today)
    assert month.first is not None
    assert month.last is not None
    return Days(month.first.replace(day=min(today.day, month.last.day)), today)
