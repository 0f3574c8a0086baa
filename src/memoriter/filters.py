"""The table of search filters. The command line, the agent's tool and the reasons of empty results derive from it.

`types.Filters` holds the values, and `index/files/_queries.py` the SQL condition of each filter, by the same names.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

from memoriter.errors import UsageError
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from datetime import date

    from memoriter.times import Days
    from memoriter.types import Filters, Query, SourceKind

DAY_FORMS = "YYYY-MM-DD, today, yesterday, or 7d for seven days ago, or words such as last week or October 2025"
"""The forms of a day as text. Words are understood in nine languages."""
ANY = "any"
"""The text that means all days where a day is given, so that no time is read from the question."""
ON = "--on"
"""The option of the command line that sets `since` and `until` to the same day or days."""


def parse_days(text: str, today: date) -> Days | None:
    """Return the days that a text names, or None if it names none.

    >>> from datetime import date
    >>> parse_days("last month", date(2026, 2, 10)).in_words()
    '2026-01-01 … 2026-01-31'
    """
    from memoriter.times import ANY_DAY, days_named

    return ANY_DAY if text.strip().lower() == ANY else days_named(text, today)


def parse_day(text: str, today: date) -> date | None:
    """Return the day that a text names, or None if it names none, or more than one.

    >>> from datetime import date
    >>> parse_day("7d", date(2026, 2, 10)), parse_day("last week", date(2026, 2, 10))
    (datetime.date(2026, 2, 3), None)
    """
    days = parse_days(text, today)
    return days.first if days is not None and days.first == days.last else None


@dataclass(frozen=True, slots=True)
class Filter:
    """One filter of a search."""

    name: str
    """The field of `Filters`, and the argument of `Memory.search`."""
    parameter: str
    """The parameter of the agent's tool; with two hyphens, the option of the command line."""
    kind: Literal["source", "day", "text", "tags", "flag"]
    """The type of the value: kinds of sources, a day, any text, names of tags, or True."""
    help: str
    """Text for people."""
    description: str
    """Text for agents."""

    @property
    def option(self) -> str:
        return f"--{self.parameter}"

    def in_words(self, filters: Filters) -> str:
        """Return the filter with its value, such as `since 2026-02-10`."""
        value: Any = getattr(filters, self.name)
        match self.kind:
            case "source":
                return f"{self.parameter} {' or '.join(sorted(value))}"
            case "day":
                return f"{self.parameter} {value}"
            case "text":
                return f"{self.parameter} {value!r}"
            case "tags":
                return f"{self.parameter} {' and '.join(sorted(value))}"
            case "flag":
                return self.parameter


FILTERS = (
    Filter(
        "sources",
        "source",
        "source",
        "Only notes, or only conversations. Default: both.",
        "memory: only the notes. sessions: only past conversations. all (default): both.",
    ),
    Filter(
        "since",
        "since",
        "day",
        f"Only passages of this day or later: {DAY_FORMS}. With `any`, a time in the question is left unread.",
        "Only what is dated this day or later: YYYY-MM-DD, or words such as last week. With any, a time in the query is"
        " left unread.",
    ),
    Filter(
        "until",
        "until",
        "day",
        "Only passages of this day or earlier.",
        "Only what is dated this day or earlier: YYYY-MM-DD, or words such as last week.",
    ),
    Filter(
        "changed",
        "changed",
        "flag",
        "For a note without a day, count the day of the last change of its file.",
        "With days: count the last change of its file as the day of a note that has none.",
    ),
    Filter(
        "path",
        "path",
        "text",
        "Only this file, folder or pattern, such as 'memory/work/*'.",
        "Only this file or folder, or a pattern such as memory/work/*.",
    ),
    Filter(
        "tags",
        "tag",
        "tags",
        "Only notes with this tag, or one below it ('a/b' is below 'a'). Several: notes with all of them.",
        "Only notes with this tag; several, with commas between them: notes with all of them.",
    ),
)


class FilterPart(NamedTuple):
    """One filter of a search alone, or both days together if they are the same."""

    words: str
    option: str
    filters: Filters


def split_filters(filters: Filters) -> Iterator[FilterPart]:
    """Yield each filter that is set."""
    from memoriter.types import Filters

    one_day = filters.since is not None and filters.since == filters.until
    for each in FILTERS:
        value: Any = getattr(filters, each.name)
        if each.name == "since" and one_day:
            yield FilterPart(f"on {filters.since}", ON, Filters(since=filters.since, until=filters.until))
        elif value is not None and not (each.name == "until" and one_day):
            yield FilterPart(each.in_words(filters), each.option, Filters(**{each.name: value}))
    for phrase in filters.phrases:
        yield FilterPart(f"the phrase {phrase!r}", f'the quotes of "{phrase}"', Filters(phrases=(phrase,)))
    for phrase in filters.without:
        option = f'-"{phrase}"' if " " in phrase else f"-{phrase}"
        yield FilterPart(f"without {phrase!r}", option, Filters(without=(phrase,)))


def days_first(options: Iterable[str]) -> list[str]:
    """Return options of filters in the order of messages: the days, then the others."""
    days = [*(each.option for each in FILTERS if each.kind == "day"), ON]
    return sorted(options, key=lambda option: option not in days)


def all_options() -> list[str]:
    """Return the options of all filters in the order of messages."""
    days = [each.option for each in FILTERS if each.kind == "day"]
    return [*days, ON, *(each.option for each in FILTERS if each.kind != "day")]


def search_arguments(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `Memory.search` for values by parameter. A single source or tag becomes a list."""
    arguments = {each.name: values[each.parameter] for each in FILTERS}
    for each in FILTERS:
        if each.kind in {"source", "tags"}:
            value: str | Iterable[str] | None = arguments[each.name]
            arguments[each.name] = ([value] if isinstance(value, str) else list(value or ())) or None
    return arguments


class SearchArguments(TypedDict, total=False):
    """The arguments of `Memory.search` that decide which passages are hits."""

    max_results: int | None
    min_score: float | None
    sources: Collection[SourceKind] | None
    since: date | str | None
    until: date | str | None
    on: date | str | None
    changed: bool | None
    path: str | None
    tags: Collection[str] | None


def make_query(
    text: str,
    today: Callable[[], date],
    *,
    max_results: int | None = None,
    min_score: float | None = None,
    sources: Collection[SourceKind] | None = None,
    since: date | str | None = None,
    until: date | str | None = None,
    on: date | str | None = None,
    changed: bool | None = None,
    path: str | None = None,
    tags: Collection[str] | None = None,
    explain: bool = False,
    deadline_ms: int | None = None,
    update: bool = True,
    session: str | None = None,
) -> Query:
    """Return the query for the arguments of `Memory.search`; `today` returns the day for `yesterday` or `7d`.

    With days, there is no minimum score unless one is given; a blank text then asks for the newest passages.

    Raises:
        UsageError: a number is out of its range, a text is no day, the days exclude each other, or a tag has no name.
    """
    from memoriter.types import Filters, Query

    check_range("max_results", max_results, 1, 1_000)
    check_range("min_score", min_score, 0.0, 1.0)
    check_range("deadline_ms", deadline_ms, 1, 86_400_000)
    first = last = None
    given = not (since is until is on is None)
    if given:
        arguments = {"since": since, "until": until, "on": on}
        days = day_range(*(_days_of(name, day, today) for name, day in arguments.items()))
        first = days.first
        last = days.last
    wanted = _split_tags([tags] if isinstance(tags, str) else tags) if tags else None
    if tags and not wanted:
        raise UsageError(f"There is no tag in {tags!r}.", remedy="Give one, such as `recipe` or `work/plan`.")
    kinds = frozenset(sources) if sources else None
    filters = Filters(kinds, first, last, path, wanted or None, changed=(changed and given) or None)
    query = Query(text, max_results, min_score, filters, explain, deadline_ms, update, session=session)
    return in_days(replace(query, any_day=True)) if given else query


def in_days(query: Query) -> Query:
    """Return a query with what the days among its filters mean: no minimum score, and a listing if nothing is asked."""
    if query.filters.since is None and query.filters.until is None:
        return query
    score = 0.0 if query.min_score is None else query.min_score
    if not query.newest and query.text.strip():
        return replace(query, min_score=score)
    return replace(query, min_score=score, newest=True, understood={**(query.understood or {}), "newest": True})


def day_range(
    since: Days | None = None, until: Days | None = None, on: Days | None = None, *, prefix: str = ""
) -> Days:
    """Return the days of a search; messages put `prefix` before the names of the arguments.

    Raises:
        UsageError: `on` is given together with `since` or `until`, or the first day is later than the last.
    """
    from memoriter.times import Days

    since_name, until_name, on_name = (f"{prefix}{name}" for name in ("since", "until", "on"))
    if on is not None and (since or until):
        kind = "option" if prefix else "argument"
        raise UsageError(
            f"The {kind} {on_name} is one day: it cannot be combined with {since_name} or {until_name}.",
            remedy=f"Give {on_name} alone, or {since_name} and {until_name} without it.",
        )
    if on is not None:
        return on
    days = Days(since and since.first, until and until.last)
    if days.first and days.last and days.first > days.last:
        raise UsageError(
            f"The day of {since_name}, {days.first}, is later than that of {until_name}, {days.last}.",
            remedy="Swap the two days.",
        )
    return days


def check_range(name: str, value: float | None, low: float, high: float) -> None:
    """Raise UsageError if the value of an argument is given and out of its range."""
    if value is not None and not low <= value <= high:
        raise UsageError(
            f"The value of {name} is {value!r}, which is out of range.",
            remedy=f"Give a number from {low:g} to {high:g}.",
        )


def _days_of(name: str, value: date | str | None, today: Callable[[], date]) -> Days | None:
    """Return the days that an argument means; a time means its day. Raises UsageError."""
    from datetime import date, datetime

    from memoriter.times import Days

    days = parse_days(value, today()) if isinstance(value, str) else None
    if days is not None or value is None:
        return days
    if isinstance(value, date):
        day = value.date() if isinstance(value, datetime) else value
        return Days(day, day)
    raise UsageError(
        f"The value of {name} is {value!r}, which is not a day.",
        remedy=f"Give a date, or one of these texts: {DAY_FORMS}.",
    )


def _split_tags(values: Iterable[str]) -> frozenset[str]:
    """Return the tags in texts, which commas separate, without `#`.

    >>> sorted(_split_tags(["#a/b, c", "d"]))
    ['a/b', 'c', 'd']
    """
    tags = (tag.strip().lstrip("#").strip("/ ") for value in values for tag in value.split(","))
    return frozenset(tag for tag in tags if tag)
