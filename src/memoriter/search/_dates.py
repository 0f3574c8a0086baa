"""Dates: terms for the months and days that a text mentions, the day in a path, and the decay of dated notes.

Notes get terms for the day in their path and for the dates in their text. Queries get terms for the months they name,
in English, Korean, Chinese or Japanese, so that a query about February finds the notes of February. A term only adds to
a score; only filters exclude notes. By decay, which is off by default, dated notes and transcripts lose score with age,
and evergreen notes do not.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from memoriter.times import FIRST_YEAR, path_date

if TYPE_CHECKING:
    from memoriter.types import SourceKind

_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905
_MONTH_NUMBERS = {name: number for number, name in enumerate(_MONTHS, 1)} | {
    name[:3]: number for number, name in enumerate(_MONTHS, 1)
}
_MONTH_NUMBERS["sept"] = 9
_AMBIGUOUS = frozenset({"may", "march", "mar", "dec", "jan", "sep", "oct", "nov"})
"""Months that are also other words or names. They count only after a word of time or next to a number."""
_NAME = "|".join(sorted(_MONTH_NUMBERS, key=len, reverse=True))
_ENGLISH = re.compile(
    r"(?P<before>\b(?:in|of|since|until|till|from|by|early|late|mid|last|this|next|during|before|after|\d{1,2})[ -]+)?"
    rf"\b(?P<name>{_NAME})\b\.?"
    r"(?:[ ,]+(?P<number>\d{1,2}(?:st|nd|rd|th)?\b(?!\d)[ ,]*)?(?P<year>(?:19|20)\d{2})?)?",
    re.IGNORECASE,
)
_MONTH_HINTS = tuple(name[:3] for name in _MONTHS)
"""The beginning of every English month. A text without any of them, in any case, contains no English month."""
_WORD = re.compile("[a-z]+")
_ISO = re.compile(r"(?<![\d-])(?P<year>(?:19|20)\d{2})-(?P<month>0[1-9]|1[0-2])(?:-(?P<day>[0-2]\d|3[01]))?(?![\d-])")
_EASTERN_MONTH = re.compile(r"\d\s*[月월]")
_EASTERN = re.compile(
    r"(?:(?P<year>(?:19|20)\d{2})\s*[年년]\s*)?(?<!\d)(?P<month>1[0-2]|0?[1-9])\s*[月월](?!\w{0,4}요일)"
)


def terms_of_day(day: date) -> list[str]:
    """Return the terms of a note of that day, three times each, so that they count more than a day in its text."""
    return [f"@{day.month:02}", f"@{day.year}-{day.month:02}"] * 3


def terms_of_text(text: str) -> list[str]:
    """Return the terms of the months that a note mentions, each once, in the form of `terms_of_day`."""
    mentions = [*_named_months(text), *_iso_months(text)]
    return list(dict.fromkeys([term for _, terms in mentions for term in terms]))


def extract_months(text: str) -> tuple[str, list[str]]:
    """Return the query without the months it names, and one term for each month, with the year if the query has it.

    A date such as 2026-02-10 stays in the query as well, because notes may contain it literally.
    """
    mentions = _named_months(text)
    iso_months = _iso_months(text)
    if not mentions and not iso_months:
        return text, []
    month_terms = [terms[-1] for _, terms in (*mentions, *iso_months)]
    kept = list[str]()
    position = 0
    for start, end in sorted(span for span, _ in mentions):
        kept += [text[position:start], " "]
        position = end
    return "".join([*kept, text[position:]]), list(dict.fromkeys(month_terms))


_Mention = tuple[tuple[int, int], list[str]]
"""The span of a month in a text, and its terms, the most exact last."""


def _named_months(text: str) -> list[_Mention]:
    lower = text.lower()
    has_hint = any(map(lower.__contains__, _MONTH_HINTS)) and not _MONTH_NUMBERS.keys().isdisjoint(_WORD.findall(lower))
    english = [
        (match.span("name"), _month_terms(match["year"], _MONTH_NUMBERS[match["name"].lower()]))
        for match in (_ENGLISH.finditer(text) if has_hint else ())
        if _is_month(match)
    ]
    if _EASTERN_MONTH.search(text) is None:
        return english
    return english + [
        (match.span(), _month_terms(match["year"], int(match["month"]))) for match in _EASTERN.finditer(text)
    ]


def _iso_months(text: str) -> list[_Mention]:
    if "-0" not in text and "-1" not in text:
        return []
    return [(match.span(), _month_terms(match["year"], int(match["month"]))) for match in _ISO.finditer(text)]


def _is_month(match: re.Match[str]) -> bool:
    name = match["name"].lower()
    has_context = match["before"] or match["number"] or match["year"]
    # Where case does not matter, a pattern takes `ı`, `İ` and `ſ` for `i` and `s`, and `APRİL` is no name of a month.
    return name in _MONTH_NUMBERS and (bool(has_context) or name not in _AMBIGUOUS)


def _month_terms(year: str | None, month: int) -> list[str]:
    return [f"@{month:02}", *([f"@{year}-{month:02}"] if year else [])]


_CLASSIC_DATED = re.compile(r"(?:^|/)memory/(\d{4})-(\d{2})-(\d{2})\.md$")
SECONDS_PER_DAY = 86_400.0


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
    return day if day.year >= FIRST_YEAR else None
