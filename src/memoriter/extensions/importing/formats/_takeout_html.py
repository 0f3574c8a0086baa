"""Activities of Google Takeout in HTML: one long page, which is read one activity at a time.

An activity is a cell with the product and a cell with the title, the time, and the answer, each after a line break. The
time is in the owner's language, and its zone is often an abbreviation.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

from memoriter.errors import UsageError
from memoriter.extensions.importing._json import open_text
from memoriter.extensions.importing.formats._html import markdown_of
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.extensions.importing._files import Files

_SUFFIXES = (".html", ".htm")
_CELL = b'class="outer-cell'
_STYLE = b"mdl-"
_LONGEST = 32 << 20
"""Bytes of one activity, and of the styles before the first one."""
_READ_AGAIN = "Export again, and give the whole file."
_START = 1 << 18
_PART = 1 << 20
_HEADER = "mdl-typography--title"
_BODY = "mdl-typography--body-1"
_CAPTION = "mdl-typography--caption"
_NEXT_CELL = '<div class="content-cell'
"""An answer has elements of its own, so the end of its cell is the beginning of the next one."""
_BREAK = re.compile(r"<br ?/?>", re.IGNORECASE)
_TIME = re.compile(r"(\d{1,2}):(\d\d):(\d\d)")
_NUMBERS = re.compile(r"\d{1,4}")
_MONTH = re.compile(r"\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\b")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_AFTERNOON = re.compile(r"PM|p\.\s?m\.|오후|下午|午後")
_MORNING = re.compile(r"AM|a\.\s?m\.|오전|上午|午前")
_OFFSET = re.compile(r"(?:UTC|GMT)([+\u2212-])(\d{1,2})(?::?(\d\d))?")
_HOURS = {
    0: "UTC GMT WET",
    1: "CET MEZ BST WEST",
    2: "CEST MESZ EET",
    3: "EEST",
    9: "JST KST",
    -4: "EDT",
    -5: "EST CDT",
    -6: "CST MDT",
    -7: "MST PDT",
    -8: "PST",
}
"""Abbreviations of time zones by their hours from UTC, without those with several common meanings, such as IST."""
_ZONES = {name: hours for hours, names in _HOURS.items() for name in names.split()}
_NAME = re.compile(r"\b[A-Z]{3,4}\b")


@dataclass(frozen=True, slots=True)
class Activity:
    """One activity."""

    products: tuple[str, ...]
    title: str
    answer: str
    """Markdown."""
    at: datetime | None
    """None: the time is in a form that is not known."""
    time: str
    """The time as it is in the page."""


def is_page(files: Files, name: str) -> bool:
    """Return whether a file is a page of activities."""
    if not name.lower().endswith(_SUFFIXES):
        return False
    with open_text(files, name) as opened:
        start = opened.read(_START)
    return _CELL in start or _STYLE in start


def activities(files: Files, name: str) -> Iterator[Activity]:
    """Yield the activities of a page. Raises UsageError."""
    for cell in _cells(files, name):
        header = _after(cell, _HEADER, "</p>")
        body = _after(cell, _BODY, _NEXT_CELL)
        parts = _BREAK.split(body.removesuffix("</div>"))
        place = next((number for number, part in enumerate(parts) if number and _is_time(part)), None)
        if place is None:
            yield Activity(_products(cell, header), _plain("\n".join(parts)), "", None, "")
            continue
        time = _plain(parts[place])
        answer = markdown_of("<br>".join(parts[place + 1 :]))
        yield Activity(_products(cell, header), _plain("<br>".join(parts[:place])), answer, moment_of(time), time)


def _cells(files: Files, name: str) -> Iterator[str]:
    """Yield the HTML of each activity. Raises UsageError if one is too long, or the last one is cut off."""
    with open_text(files, name) as opened:
        rest = b""
        seen = False
        while part := opened.read(_PART):
            *whole, rest = (rest + part).split(_CELL)
            for each in whole:
                if seen:
                    yield each.decode("utf-8", "replace")
                seen = True
            if len(rest) > _LONGEST:
                message = f"The file {name!r} is refused: an activity has more than {_LONGEST >> 20} MiB."
                raise UsageError(message, remedy=_READ_AGAIN)
        if seen and _CAPTION.encode() not in rest:
            raise UsageError(f"The file {name!r} ends within an activity.", remedy=_READ_AGAIN)
        if seen:
            yield rest.decode("utf-8", "replace")


def _after(html: str, mark: str, end: str) -> str:
    """Return what is in the first element with a class, up to a text."""
    return html.partition(mark)[2].partition(">")[2].partition(end)[0]


def _products(cell: str, header: str) -> tuple[str, ...]:
    return _plain(header), _plain(_after(cell, _CAPTION, "</div>"))


def _plain(html: str) -> str:
    return markdown_of(html).replace("\xa0", " ").replace("\u202f", " ").replace("\u2003", " ").strip()


def _is_time(html: str) -> bool:
    return len(html) < 100 and "<" not in html and bool(_TIME.search(html)) and bool(re.search(r"20\d\d", html))


def moment_of(text: str) -> datetime | None:
    """Return a time of a page; None if the order of its numbers, or its zone, is not known.

    >>> moment_of("Mar 14, 2025, 12:30:05 PM UTC").isoformat(), moment_of("14.03.2025, 13:30:05 MEZ").isoformat()
    ('2025-03-14T12:30:05+00:00', '2025-03-14T13:30:05+01:00')
    """
    time = _TIME.search(text)
    zone = _zone(text)
    if time is None or zone is None:
        return None
    hour, minute, second = map(int, time.groups())
    if hour <= 12 and (_AFTERNOON.search(text) or _MORNING.search(text)):  # a clock of 12 hours
        hour = hour % 12 + (12 if _AFTERNOON.search(text) else 0)
    day = _day(text[: time.start()])
    try:
        return datetime(*day, hour, minute, second, tzinfo=zone) if day else None
    except ValueError:
        return None


def _day(text: str) -> tuple[int, int, int] | None:
    """Return the year, month and day."""
    numbers = _NUMBERS.findall(text)
    month = _MONTH.search(text)
    if month and len(numbers) == 2:  # the day and the year
        day, year = sorted(numbers, key=len)
        return int(year), _MONTHS.index(month[1]) + 1, int(day)
    if len(numbers) != 3:
        return None
    first, second, third = map(int, numbers)
    if len(numbers[0]) == 4:
        return first, second, third
    if "/" in text and max(first, second) <= 12:  # 3/4 is a day in March or in April
        return None
    return (third, first, second) if "/" in text and second > first else (third, second, first)


def _zone(text: str) -> timezone | None:
    if offset := _OFFSET.search(text):
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        return timezone(timedelta(minutes=minutes if offset[1] == "+" else -minutes))
    names = [name for name in _NAME.findall(text) if name in _ZONES]
    hours = _ZONES[names[-1]] if names else None
    return None if hours is None else (UTC if hours == 0 else timezone(timedelta(hours=hours)))
