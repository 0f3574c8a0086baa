"""The page Timeline: a calendar of the daily notes, and what is recorded of a day."""

from __future__ import annotations

from calendar import Calendar, month_name
from datetime import date
from typing import TYPE_CHECKING, Any

from memoriter.errors import UsageError
from memoriter.pages._page import Page, PageRoute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.responses import Response

    from memoriter.pages._page import Visit

LEVELS = 4
"""Shades of days with notes."""
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


async def show(visit: Visit) -> Response:
    """Return the calendar of a year, and a day of it: the one in the address, or else the latest with a note."""
    wanted = _day(visit.parameter("day"))
    year = _year(visit.parameter("year"))
    year = year or (wanted.year if wanted else None)
    days = await visit.perform("days", **({"year": year} if year else {}))
    written = {date.fromisoformat(row["day"]): row for row in days["days"]}
    chosen = wanted or max(written, default=None)
    day = await visit.perform("day", day=chosen.isoformat()) if chosen else None
    values: dict[str, Any] = {"day": day, "notes": _shown_notes(day), "captures": day["captures"] if day else []}
    if visit.fragment == "day":
        return await visit.render("timeline/_day.html", **values)
    limits = level_limits([row["lines"] for row in written.values()])
    months = [_month(days["year"], number, written, limits) for number in range(1, 13)]
    return await visit.render(
        "timeline/page.html",
        **values,
        days=days,
        limits=limits,
        months=months,
        weekdays=WEEKDAYS,
        chosen=chosen.isoformat() if chosen else "",
        lines=sum(row["lines"] for row in written.values()),
    )


def level_limits(lines: Sequence[int]) -> list[int]:
    """Return the fewest lines of each shade, so that each shade has about as many days.

    >>> level_limits([1, 2, 3, 10, 20, 30, 40, 400])
    [1, 3, 20, 40]
    >>> level_limits([5, 5])
    [5]
    """
    ordered = sorted(lines)
    return sorted({ordered[len(ordered) * level // LEVELS] for level in range(LEVELS)}) if ordered else []


def _month(year: int, number: int, written: Mapping[date, Mapping[str, Any]], limits: Sequence[int]) -> dict[str, Any]:
    """Return a month as weeks of seven cells; a cell outside the month is None."""

    def cell(day: date) -> dict[str, Any] | None:
        if (day.year, day.month) != (year, number):
            return None
        lines = written[day]["lines"] if day in written else 0
        level = sum(lines >= limit for limit in limits) if day in written else 0
        name = f"{day.day} {month_name[number]} {year}"
        return {"day": day.isoformat(), "number": day.day, "name": name, "lines": lines, "level": level}

    weeks = [[cell(day) for day in week] for week in Calendar().monthdatescalendar(year, number)]
    return {"name": f"{month_name[number]} {year}", "weeks": weeks}


def _shown_notes(day: Any) -> list[dict[str, Any]]:
    """Return the notes of a day, each in parts: lines of the owner, and entries with the mark of another author."""
    notes: list[dict[str, Any]] = []
    found: list[Any] = day["notes"] if day else []
    for note in found:
        lines = note["text"].removesuffix("\n").split("\n")
        parts = list[dict[str, Any]]()
        at = 1
        for entry in note["others"]:
            _add_part(parts, lines, at, max(at, entry["startLine"]) - 1, "")
            _add_part(parts, lines, max(at, entry["startLine"]), entry["endLine"], entry["origin"])
            at = max(at, entry["endLine"] + 1)
        _add_part(parts, lines, at, len(lines), "")
        notes.append({**note, "parts": parts})
    return notes


def _add_part(parts: list[dict[str, Any]], lines: Sequence[str], first: int, last: int, origin: str) -> None:
    text = "\n".join(lines[first - 1 : last])
    if text.strip():
        parts.append({"first": first, "last": last, "origin": origin, "text": text})


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError as error:
        raise UsageError(f"There is no day {text!r}.", remedy="Give a day as YYYY-MM-DD.") from error


def _year(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:5]) <= 9_998):
        raise UsageError(f"There is no year {text!r}.", remedy="Give a year as YYYY.")
    return int(text)


PAGE = Page(
    "Timeline",
    "See what was written, captured and recalled on each day.",
    (PageRoute("/timeline", show),),
    place=30,
)
