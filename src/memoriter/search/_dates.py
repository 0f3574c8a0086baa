"""Months and days that a text speaks of, as terms: a question about February finds the notes of February.

Notes get the terms of the day their path names and of the dates they write; questions get those of the months they
name, in English, Korean, Chinese or Japanese. A term only adds to a score; what may be found at all is for filters.
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
"""Also words or names of something else: they need a word of time before them, or a number beside them."""
_NAME = "|".join(sorted(_MONTH_NUMBERS, key=len, reverse=True))
_ENGLISH = re.compile(
    r"(?P<before>\b(?:in|of|since|until|till|from|by|early|late|mid|last|this|next|during|before|after|\d{1,2})[ -]+)?"
    rf"\b(?P<name>{_NAME})\b\.?"
    r"(?:[ ,]+(?P<number>\d{1,2}(?:st|nd|rd|th)?\b(?!\d)[ ,]*)?(?P<year>(?:19|20)\d{2})?)?",
    re.IGNORECASE,
)
_MONTH_HINT = re.compile("|".join(sorted({name[:3] for name in _MONTHS})), re.IGNORECASE)
"""What every English month holds: most texts need no closer look."""
_ISO = re.compile(r"(?<![\d-])(?P<year>(?:19|20)\d{2})-(?P<month>0[1-9]|1[0-2])(?:-(?P<day>[0-2]\d|3[01]))?(?![\d-])")
_EASTERN = re.compile(
    r"(?:(?P<year>(?:19|20)\d{2})\s*[年년]\s*)?(?<!\d)(?P<month>1[0-2]|0?[1-9])\s*[月월](?!\w{0,4}요일)"
)


def terms_of_day(day: date) -> list[str]:
    """What a note of that day is found by; the day it is of counts more than a day it mentions."""
    return [f"@{day.month:02}", f"@{day.year}-{day.month:02}"] * 3


def terms_of_text(text: str) -> list[str]:
    """The months that a note writes about, as in its day's terms; repeated months once."""
    found = [*_named_months(text), *_iso_months(text)]
    return list(dict.fromkeys(term for _, terms in found for term in terms))


def extract_months(text: str) -> tuple[str, list[str]]:
    """A question without the months it names, and a term for each month: with the year where it is said.

    A date such as 2026-02-10 also stays in the question: notes may hold it as it is.
    """
    named = _named_months(text)
    asked = [terms[-1] for _, terms in (*named, *_iso_months(text))]
    kept, at = list[str](), 0
    for start, end in sorted(span for span, _ in named):
        kept += [text[at:start], " "]
        at = end
    return "".join([*kept, text[at:]]), list(dict.fromkeys(asked))


_Mention = tuple[tuple[int, int], list[str]]
"""Where a month is named, and its terms, the most exact last."""


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
    surrounded = match["before"] or match["number"] or match["year"]
    return bool(surrounded) or match["name"].lower() not in _AMBIGUOUS


def _month_terms(year: str | None, month: int) -> list[str]:
    return [f"@{month:02}", *([f"@{year}-{month:02}"] if year else [])]
