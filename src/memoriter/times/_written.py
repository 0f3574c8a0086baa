"""The day that people write into a property, or into the name of a file or its folders."""

from __future__ import annotations

import re
from datetime import date
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from memoriter.times._reading import day_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST_YEAR = 100
"""Lowest number that counts as a year."""
_LONGEST = 200
_PLAIN = r"(?P<year>\d{4})(?P<sign>[-/._])(?P<month>\d{1,2})(?P=sign)(?P<day>\d{1,2})(?!\d)"
_COMPACT = r"(?P<year>(?:19|20)\d\d)(?P<month>0[1-9]|1[0-2])(?P<day>0[1-9]|[12]\d|3[01])(?:[T_-]?\d{4}(?:\d\d)?)?(?!\d)"
"""Eight digits, which a time of day may follow, as in `20240305T1011` and the ids of a Zettelkasten."""
_VALUES = (re.compile(rf"\W{{0,3}}{_PLAIN}"), re.compile(rf"\W{{0,3}}{_COMPACT}"))
_NAMES = (
    re.compile(r"(?P<year>\d{4})(?P<sign>[-._ ])(?P<month>\d\d)(?P=sign)(?P<day>\d\d)(?!\d)"),
    re.compile(_COMPACT),
)
_IN_NAME = re.compile(r"(?:^|(?<=[-_ (]))(?=\d{4})")
"""The places in a file name where a day may begin."""
_FOLDERS = re.compile(
    r"(?:^|/)(?P<year>(?:19|20)\d\d)(?:/(?P=year))?[-/](?P<month>0?[1-9]|1[0-2])(?:[-_. ][^/\d]*)?/"
    r"(?:(?:(?P=year)-)?(?P=month)-)?(?P<day>[12]\d|3[01]|0?[1-9])(?=[-_. /]|$)"
)
"""Folders of a year and a month above the day: `2024/03/05.md`, `2024/03-March/05 Tuesday.md`, `2024-03/05.md`."""
_NAMED_MONTH = re.compile(
    r"(?:^|/)(?P<year>(?:19|20)\d\d)/(?P<month>[^/\d]{3,20})/(?P<day>0?[1-9]|[12]\d|3[01])(?:\.\w+)?$"
)
"""The end of a path with the name of a month: `2024/March/5.md`."""
_HYPHENS = re.compile(r"(?<=\d)-(?=[^\W\d])|(?<=[^\W\d])-(?=\d)")
_SOME_DAY = re.compile(r"(?=.*(?:19|20)\d\d)(?=.*(?<!\d)\d{1,2}(?!\d))")
"""A text with a year and another number, which alone may be a day in words."""


def written_day(text: str) -> date | None:
    """Return the day that the value of a property is, or begins with; None if it certainly is none.

    >>> written_day("2024/3/5 10:11"), written_day("Tuesday, March 5th 2024"), written_day("05/03/2024")
    (datetime.date(2024, 3, 5), datetime.date(2024, 3, 5), None)
    """
    for form in _VALUES:
        if match := form.match(text):
            return _day(match)
    return _in_words(_HYPHENS.sub(" ", text))


def begins_with_day(text: str) -> bool:
    """Return whether a text begins with a day in numbers, the year first."""
    return any(_day(match) for form in _VALUES for match in [form.match(text)] if match)


def path_date(path: str) -> date | None:
    """Return the day in the name of a file, or else in its folders, the innermost first; None if there is none.

    >>> path_date("memory/work/2026-02-10-router.md"), path_date("journals/2024_03_05.md"), path_date("2024/03/05.md")
    (datetime.date(2026, 2, 10), datetime.date(2024, 3, 5), datetime.date(2024, 3, 5))
    """
    if not re.search(r"\d{2}", path):
        return None
    return next(_days_of_path(path), None)


def _days_of_path(path: str) -> Iterator[date]:
    *folders, name = path.split("/")
    stem = PurePosixPath(name).stem
    for place in _IN_NAME.finditer(stem):
        yield from _days_at(stem, place.start())
    if day := _in_words(stem.replace("_", " ")):
        yield day
    for match in _FOLDERS.finditer(path):
        if day := _day(match):
            yield day
    if match := _NAMED_MONTH.search(path):
        named = (f"{match['day']}{point} {match['month']} {match['year']}" for point in ("", "."))
        yield from filter(None, map(_in_words, named))
    for folder in reversed(folders):
        yield from _days_at(folder, 0)


def _days_at(name: str, at: int) -> Iterator[date]:
    for form in _NAMES:
        if (match := form.match(name, at)) and (day := _day(match)):
            yield day


def _in_words(text: str) -> date | None:
    return day_in_words(text) if len(text) <= _LONGEST and _SOME_DAY.match(text) else None


def _day(match: re.Match[str]) -> date | None:
    year = int(match["year"])
    if year < FIRST_YEAR:
        return None
    try:
        return date(year, int(match["month"]), int(match["day"]))
    except ValueError:
        return None
