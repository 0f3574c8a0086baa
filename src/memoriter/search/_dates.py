"""Terms for the months and days that a text mentions, so that a query about February finds the notes of February.

Notes get terms for the day in their path and for the dates in their text. Queries get terms for the months they name,
in English, Korean, Chinese or Japanese. A term only adds to a score; only filters exclude notes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import date

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
_MONTH_HINT = re.compile("|".join(sorted({name[:3] for name in _MONTHS})), re.IGNORECASE)
"""The beginning of every English month. A text without a match contains no English month."""
_ISO = re.compile(r"(?<![\d-])(?P<year>(?:19|20)\d{2})-(?P<month>0[1-9]|1[0-2])(?:-(?P<day>[0-2]\d|3[01]))?(?![\d-])")
_EASTERN = re.compile(
    r"(?:(?P<year>(?:19|20)\d{2})\s*[年년]\s*)?(?<!\d)(?P<month>1[0-2]|0?[1-9])\s*[月월](?!\w{0,4}요일)"
)


def terms_of_day(day: date) -> list[str]:
    """Return the terms of a note of that day, three times each, so that they count more than a day in its text."""
    return [f"@{day.month:02}", f"@{day.year}-{day.month:02}"] * 3


def terms_of_text(text: str) -> list[str]:
    """Return the terms of the months that a note mentions, each once, in the form of `terms_of_day`."""
    mentions = [*_named_months(text), *_iso_months(text)]
    return list(dict.fromkeys(term for _, terms in mentions for term in terms))


def extract_months(text: str) -> tuple[str, list[str]]:
    """Return the query without the months it names, and one term for each month, with the year if the query has it.

    A date such as 2026-02-10 stays in the query as well, because notes may contain it literally.
    """
    mentions = _named_months(text)
    month_terms = [terms[-1] for _, terms in (*mentions, *_iso_months(text))]
    kept, position = list[str](), 0
    for start, end in sorted(span for span, _ in mentions):
        kept += [text[position:start], " "]
        position = end
    return "".join([*kept, text[position:]]), list(dict.fromkeys(month_terms))


_Mention = tuple[tuple[int, int], list[str]]
"""The span of a month in a text, and its terms, the most exact last."""


def _named_months(text: str) -> list[_Mention]:
    english = [
        (match.span("name"), _month_terms(match["year"], _MONTH_NUMBERS[match["name"].lower()]))
        for match in (_ENGLISH.finditer(text) if _MONTH_HINT.search(text) else ())
        if _is_month(match)
    ]
    if "月" not in text and "월" not in text:
        return english
    return english + [
        (match.span(), _month_terms(match["year"], int(match["month"]))) for match in _EASTERN.finditer(text)
    ]


def _iso_months(text: str) -> list[_Mention]:
    if "-0" not in text and "-1" not in text:
        return []
    return [(match.span(), _month_terms(match["year"], int(match["month"]))) for match in _ISO.finditer(text)]


def _is_month(match: re.Match[str]) -> bool:
    has_context = match["before"] or match["number"] or match["year"]
    return bool(has_context) or match["name"].lower() not in _AMBIGUOUS


def _month_terms(year: str | None, month: int) -> list[str]:
    return [f"@{month:02}", *([f"@{year}-{month:02}"] if year else [])]
