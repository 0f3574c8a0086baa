"""The page Days: what was written, captured and recalled on a day, the newest day first, with a small calendar."""

from __future__ import annotations

from calendar import Calendar, month_name
from datetime import date
from typing import TYPE_CHECKING, Any

from memoriter.errors import UsageError
from memoriter.pages._markdown import rendered
from memoriter.pages._page import Page, PageRoute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.responses import Response

    from memoriter.pages._page import Visit

LEVELS = 4
"""Shades of days with notes."""
WEEKDAYS = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")
FOLDED = 8
"""Other notes of a day that are listed at once."""


async def show(visit: Visit) -> Response:
    """Return a day: the one in the address, or else the latest with a note, beside the days of its year."""
    wanted = _day(visit.parameter("day"))
    year = _year(visit.parameter("year"))
    year = year or (wanted.year if wanted else None)
    days = await visit.perform("days", **({"year": year} if year else {}))
    if not year and not days["days"] and len(days["years"]) > 1:  # nothing was written this year
        days = await visit.perform("days", year=days["years"][-2])
    written = {date.fromisoformat(row["day"]): row for row in days["days"]}
    chosen = wanted or max(written, default=None)
    day = await visit.perform("day", day=chosen.isoformat()) if chosen else None
    values: dict[str, Any] = {
        "day": day,
        "name": day_name(chosen) if chosen else "",
        "notes": await _shown_notes(visit, day),
        "captures": day["captures"] if day else [],
        "folded": FOLDED,
        "earlier": max((each for each in written if chosen and each < chosen), default=None),
        "later": min((each for each in written if chosen and each > chosen), default=None),
    }
    if visit.fragment == "day":
        return await visit.render("days/_day.html", **values)
    limits = level_limits([row["lines"] for row in written.values()])
    shown = chosen or date.fromisoformat(days["today"])
    month = shown.month if shown.year == days["year"] else 12
    return await visit.render(
        "days/page.html",
        **values,
        days=days,
        listed=[(row, f"{at:%a} {at.day} {at:%B}") for at, row in sorted(written.items(), reverse=True)],
        months=[_month(days["year"], number, written, limits) for number in range(12, 0, -1)],
        open_month=month,
        weekdays=WEEKDAYS,
        chosen=chosen.isoformat() if chosen else "",
        back=visit.parameter("back"),
    )


def day_name(day: date) -> str:
    """Return a day for people.

    >>> day_name(date(2026, 2, 10))
    'Tuesday, 10 February 2026'
    """
    return f"{day:%A}, {day.day} {day:%B %Y}"


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
    count = sum(1 for at in written if (at.year, at.month) == (year, number))
    return {"number": number, "name": month_name[number], "weeks": weeks, "days": count}


async def _shown_notes(visit: Visit, day: Any) -> list[dict[str, Any]]:
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
        path = note["path"]
        html = await visit.with_memory(
            "read",
            lambda memory, parts=parts, path=path: [
                rendered(part["text"], path=path, names=visit.library.listing(memory).names) for part in parts
            ],
        )
        shown = [{**part, "html": each} for part, each in zip(parts, html, strict=True)]
        notes.append({**note, "parts": shown})
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
    "Days",
    "See what was written, captured and recalled on each day.",
    (PageRoute("/days", show),),
    place=30,
)
