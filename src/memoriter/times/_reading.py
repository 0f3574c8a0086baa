"""The days that a text, a property of a note or a path certainly names. A week goes from Monday to Sunday."""

from __future__ import annotations

import re
from datetime import date, timedelta
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal, NamedTuple

from memoriter.times._languages import KOREAN, LANGUAGES, Language
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from memoriter.times._languages import Unit


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


LONGEST_TEXT = 200
"""Characters of the longest text in which times are looked for. A longer one is a note rather than a question, and a
"today" in it is the day of its writer."""
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DAY = r"(?P<day>0?[1-9]|[12]\d|3[01])"
_COUNT = r"\d{1,3}"
_TO_NUMBER = r"\s*(?:-|–|—|~|〜|to|bis|à|a|al|até|по)\s*\d"
"""What follows the first of two times: "from 2000 to 2005"."""
NUMERALS = "一二三四五六七八九十百"
NUMERIC = (
    r"(?P<year>(?:19|20)\d\d)(?P<sign>[-/.])(?P<month>1[0-2]|0?[1-9])(?P=sign)" + _DAY,
    _DAY + r"\. ?(?P<month>1[0-2]|0?[1-9])\. ?" + _YEAR,
    r"(?P<either>\d{1,2})(?P<sign>[-/])(?P<other>\d{1,2})(?P=sign)" + _YEAR,
)
"""Dates in numbers alone. Of `12/10/2025`, nobody knows the month, unless only one of both numbers can be one."""
_ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_ISO_MONTH = re.compile(r"(?P<year>(?:19|20)\d\d)-(?P<month>1[0-2]|0[1-9])")
_AGO = re.compile(r"(\d{1,5})d")
Kind = Literal["period", "ago", "past", "alone", "with_preposition", "of_week", "numeric"]
BOUNDS = ("since", "after", "before", "until")


@dataclass(frozen=True, slots=True)
class NamedTime:
    """A time in a text."""

    words: str
    """As the text has them."""
    days: Days
    language: Language
    rest: str
    """The text without the time."""


def read_time(text: str, today: date) -> NamedTime | None:
    """Return the time that a text names; None if it certainly names none, or more than one.

    >>> read_time("what did I do last week", date(2026, 11, 27)).days.in_words()
    '2026-11-16 … 2026-11-22'
    >>> read_time("last week of the project", date(2026, 11, 27)) is None
    True
    """
    return time_in(text, lambda: today)


def time_in(text: str, today: Callable[[], date]) -> NamedTime | None:
    """Return what `read_time` does; `today` is called only if the text may name a time."""
    if len(text) > LONGEST_TEXT or "\n" in text:
        return None
    mentions = list(_mentions(text))
    if not mentions:
        return None
    day = today()
    found = [each for each in _longest(mentions) if each.days(text, day) is not None]
    spans = [each.span for each in found]
    if len(found) == 2:
        joined = _joined(found[0], found[1], text, day)
    else:
        joined = found[0].days(text, day) if len(found) == 1 else None
    if joined is None:
        return None
    start = spans[0][0]
    end = spans[-1][1]
    rest = " ".join(f"{text[:start]} {text[end:]}".split())
    return NamedTime(text[start:end].strip(), joined, found[0].language, rest)


def days_named(text: str, today: date) -> Days | None:
    """Return the days that a whole text names, such as `yesterday`, `October 2025` or `7d`; None if it names none.

    >>> days_named("7d", date(2026, 2, 10)), days_named("monday meeting", date(2026, 2, 10))
    (Days(first=datetime.date(2026, 2, 3), last=datetime.date(2026, 2, 3)), None)
    """
    text = " ".join(text.lower().split())
    try:
        if ago := _AGO.fullmatch(text):
            return period_of("day", -int(ago[1]), today)
        if _ISO_DAY.fullmatch(text):
            day = date.fromisoformat(text)
            return Days(day, day)
        if month := _ISO_MONTH.fullmatch(text):
            return month_of(int(month["year"]), int(month["month"]))
    except (ValueError, OverflowError):
        return None
    whole = [
        each.days(text, today)
        for each in _mentions(text, bare=True)
        if each.span == (0, len(text)) and not any(each.match[name] for name in BOUNDS)
    ]
    return next((days for days in whole if days is not None), None)


def day_in_words(text: str) -> date | None:
    """Return the one day that a text names together with its year; None if it names none, or several.

    >>> day_in_words("Tuesday, March 5th 2024, 10:11 am"), day_in_words("March 2024"), day_in_words("yesterday")
    (datetime.date(2024, 3, 5), None, None)
    """
    with_year = [each for each in _longest(_mentions(text, bare=True)) if not each.floating]
    found = {each.days(text, date.max) for each in with_year if not any(each.match[name] for name in BOUNDS)}
    days = {days.first for days in found if days is not None and days.first == days.last}
    return days.pop() if len(days) == 1 else None


def asks_for_all(text: str, language: Language | None = None) -> bool:
    """Return whether the rest of a question, without its time, has no word to search for.

    >>> asks_for_all("what did I do"), asks_for_all("what did Kim do")
    (True, False)
    """
    languages = LANGUAGES if language is None else (language,)
    return any(re.search(r"\w", _fillers(each).sub(" ", text)) is None for each in languages)


class _Mention(NamedTuple):
    """A part of a text that may name a time."""

    span: tuple[int, int]
    match: re.Match[str]
    kind: Kind
    language: Language

    def days(self, text: str, today: date, year: int | None = None) -> Days | None:
        """Return the days it names; None if it names none. `year`: of a day or month without one."""
        if self.kind in {"alone", "with_preposition"} and self.floating and self._is_ahead(text):
            return None
        try:
            days = self._named(today, year)
        except (ValueError, OverflowError):
            return None
        return None if days is None or self._counts_from(text) else self._bounded(days)

    @property
    def weekday(self) -> int | None:
        return _place(self.language.weekdays, self.match.groupdict().get("weekday"))

    @property
    def floating(self) -> bool:
        """Whether it has no year."""
        return self.match.groupdict().get("year") is None

    @property
    def says_last(self) -> bool:
        """Whether it is a weekday or month with a word such as "last"; in spaced languages, they have no other form."""
        return self.kind == "alone" and self.language.spaced and self.floating and not self.match.groupdict().get("day")

    def _counts_from(self, text: str) -> bool:
        """Return whether the text has a distance from the time, as in "two weeks before 3 May"."""
        distance = self.language.distance
        if not distance or not (self.match["before"] or self.match["after"]):
            return False
        return re.search(rf"(?i)\b(?:{distance})\s+$", text[: self.span[0]]) is not None

    def _is_ahead(self, text: str) -> bool:
        future = self.language.future
        if self.says_last:
            return False
        words = rf"(?<!\w)(?:{future})(?!\w)" if self.language.spaced else future
        return re.search(words, text, re.IGNORECASE) is not None

    def _named(self, today: date, year: int | None) -> Days | None:
        parts = self.match.groupdict()
        match self.kind:
            case "period":
                return period_of(*_period(self.language, parts["period"]), today)
            case "ago" | "past":
                unit = _unit(self.language, parts["unit"])
                count = _count(self.language, parts.get("n"))
                return past(unit, count, today) if self.kind == "past" else period_of(unit, -count, today)
            case "of_week":
                forms = self.language.of_week
                offset = next(forms[form] for form in forms if _pattern(form, self.language).fullmatch(parts["core"]))
                return _day_of_week(period_of("week", offset, today), self.weekday or 0)
            case "numeric":
                return _numeric(parts)
            case "alone" | "with_preposition":
                return self._of_calendar(parts, today, year)

    def _of_calendar(self, parts: dict[str, str | None], today: date, year: int | None) -> Days | None:
        if self.weekday is not None:
            day = today - timedelta(days=(today.weekday() - self.weekday - 1) % 7 + 1)
            return Days(day, day)
        year = int(parts.get("year") or 0) or year
        named = _place(self.language.months, parts.get("month"))
        if named is None:
            return None if year is None else Days(date(year, 1, 1), date(year, 12, 31))
        month = named + 1
        day = int(parts.get("day") or 0)
        if day:
            return _day_of_month(year, month, day, today)
        if year is None:
            year = today.year - (month > today.month or (month == today.month and self.says_last))
        return month_of(year, month)

    def _bounded(self, days: Days) -> Days:
        """Return the days with what a preposition such as "since" makes of them."""
        one = timedelta(days=1)
        bound = next((name for name in BOUNDS if self.match[name]), None)
        match bound:
            case "since":
                return Days(days.first)
            case "after":
                return Days(days.last and days.last + one)
            case "before":
                return Days(None, days.first and days.first - one)
            case "until":
                return Days(None, days.last)
            case _:
                return days


def _joined(first: _Mention, second: _Mention, text: str, today: date) -> Days | None:
    """Return the day or month of two adjacent mentions, as in "on Monday last week" and "last year in May"."""
    if re.sub(r"(?i)\b(?:of|de|du|des)\b|[の的의,\s]", "", text[first.span[1] : second.span[0]]):
        return None
    if any(each.match[name] for each in (first, second) for name in BOUNDS):
        return None
    period, other = (first, second) if first.kind == "period" else (second, first)
    if period.kind != "period" or other.kind not in {"alone", "with_preposition"} or not other.floating:
        return None
    days = period.days(text, today)
    unit = _period(period.language, period.match["period"])[0]
    if days is None or days.first is None:
        return None
    if other.weekday is not None:
        return _day_of_week(days, other.weekday) if unit == "week" else None
    return other.days(text, today, year=days.first.year) if unit == "year" else None


def _longest(mentions: Iterable[_Mention]) -> list[_Mention]:
    """Return the mentions that are no part of a longer one, in the order of the text."""
    kept = list[_Mention]()
    for each in sorted(mentions, key=lambda each: (each.span[0] - each.span[1], each.span[0])):
        start, end = each.span
        if all(end <= other.span[0] or other.span[1] <= start for other in kept):
            kept.append(each)
    return sorted(kept, key=lambda each: each.span)


def _mentions(text: str, *, bare: bool = False) -> Iterator[_Mention]:
    """Yield all mentions in a text, of which some overlap; `bare`: also names without the preposition they need."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a capital letter has two small ones
        return
    for language in LANGUAGES:
        if not any(map(lowered.__contains__, language.hints.split())):
            continue
        for kind, pattern in _patterns(language):
            for match in pattern.finditer(lowered):
                needed = kind == "with_preposition" and not bare
                if needed and not any(match[name] for name in ("at", *BOUNDS)):
                    continue
                proof = language.evidence.get(match["core"])
                if proof and not bare and not re.search(proof, text):
                    continue
                yield _Mention(match.span(), match, kind, language)
    if any(map(str.isdecimal, text)):
        for pattern in _numeric_patterns():
            for match in pattern.finditer(lowered):
                yield _Mention(match.span(), match, "numeric", LANGUAGES[0])


@cache
def _patterns(language: Language) -> Sequence[tuple[Kind, re.Pattern[str]]]:
    """Return the compiled forms of a language."""
    return tuple((kind, _pattern(form, language, whole=False)) for kind, form in _forms(language))


def _forms(language: Language) -> Iterator[tuple[Kind, str]]:
    yield "period", f"(?P<period>{'|'.join(language.periods)})"
    for form in language.ago:
        yield "ago", form
    for form in language.past:
        yield "past", form
    for form in language.alone:
        yield "alone", form
    for form in language.with_preposition:
        yield "with_preposition", form
    for form in language.of_week:
        yield "of_week", form


@cache
def _pattern(form: str, language: Language, *, whole: bool = True) -> re.Pattern[str]:
    """Return a form as a pattern; unless `whole`, with what must and must not stand around it."""
    names = {
        "{n}": f"(?P<n>{_COUNT}|{_alternatives(language.numbers)})",
        "{unit}": f"(?P<unit>{'|'.join(language.units.values())})",
        "{weekday}": f"(?P<weekday>{_alternatives(language.weekdays)})",
        "{month}": f"(?P<month>{_alternatives(language.months)})",
        "{year}": _YEAR,
        "{day}": _DAY,
    }
    for name, pattern in names.items():
        form = form.replace(name, pattern)
    return re.compile(form if whole else _surrounded(f"(?P<core>{form})", [language], spaced=language.spaced))


@cache
def _numeric_patterns() -> Sequence[re.Pattern[str]]:
    spaced = [language for language in LANGUAGES if language.spaced]
    return [re.compile(_surrounded(f"(?P<core>{form})", spaced, spaced=True)) for form in NUMERIC]


def _surrounded(core: str, languages: Sequence[Language], *, spaced: bool) -> str:
    """Return a pattern with the prepositions of languages, and with what must not stand around it."""
    prepositions = "|".join(
        f"(?P<{name}>{words or '(?!)'})"
        for name in ("at", *BOUNDS)
        for words in ["|".join(filter(None, (getattr(language, name) for language in languages)))]
    )
    unless = "|".join(filter(None, (language.unless for language in languages if len(languages) == 1)))
    unless = f"(?!{_TO_NUMBER})" + (f"(?!{unless})" if unless else "")
    if spaced:
        return rf"(?<![\w@#/:-])(?:(?:{prepositions})\s+)?{core}(?![0-9a-z_@/]|-\w|\.\w|[^\W\d_]){unless}"
    (language,) = languages
    if language is KOREAN:  # it has spaces, and its particles follow without one
        return rf"(?<![\w.-]){core}(?:\s?(?:{prepositions}))?(?!\w){unless}"
    return rf"(?<![\d{NUMERALS}{language.not_after}]){core}{unless}(?:\s?(?:{prepositions}))?"


def _alternatives(names: str) -> str:
    return "|".join(names.split())


def _place(names: str, name: str | None) -> int | None:
    """Return the place of a name in a list of the table, from 0."""
    if name is None:
        return None
    return next((at for at, each in enumerate(names.split()) if re.fullmatch(each, name)), None)


def _count(language: Language, words: str | None) -> int:
    """Return a number in digits or words; without one, as in Russian "неделю назад", 1."""
    if words is None:
        return 1
    return int(words) if words.isdecimal() else (_place(language.numbers, words) or 0) + 1


def _unit(language: Language, word: str) -> Unit:
    return next(unit for unit, words in language.units.items() if re.fullmatch(words, word))


def _period(language: Language, words: str) -> tuple[Unit, int]:
    return next(period for form, period in language.periods.items() if re.fullmatch(form, words))


def _day_of_week(week: Days, weekday: int) -> Days | None:
    if week.first is None:
        return None
    day = week.first + timedelta(days=weekday)
    return Days(day, day)


def _day_of_month(year: int | None, month: int, day: int, today: date) -> Days | None:
    """Return a date; without a year, the last one that is not in the future. Raises ValueError if there is none."""
    if year is not None:
        return Days(date(year, month, day), date(year, month, day))
    for earlier in range(9):  # 29 February, around a year such as 1900
        try:
            found = date(today.year - earlier, month, day)
        except ValueError:
            continue
        if found <= today:
            return Days(found, found)
    return None


def _numeric(parts: dict[str, str | None]) -> Days | None:
    year = int(parts["year"] or 0)
    if parts.get("either") is None:
        day = date(year, int(parts["month"] or 0), int(parts["day"] or 0))
        return Days(day, day)
    either = int(parts["either"] or 0)
    other = int(parts["other"] or 0)
    if either <= 12 and other <= 12 and either != other:
        return None
    day = date(year, min(either, other), max(either, other)) if max(either, other) > 12 else date(year, either, other)
    return Days(day, day)


@cache
def _fillers(language: Language) -> re.Pattern[str]:
    """Return a pattern for the words of a question that asks for everything of a time."""
    words = "|".join(map(re.escape, sorted(language.fillers.split(), key=len, reverse=True)))
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)" if language.spaced else words, re.IGNORECASE)


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
