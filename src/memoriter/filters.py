"""From the arguments of a search to its query, and from its filters to words for people.

`types.Query` and `types.Filters` declare the arguments, and `index/_content.py` has the SQL condition of each
filter, by the same names.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from memoriter.errors import UsageError
from memoriter.types import DAY_FORMS, ON, Filters, Query, filter_arguments, search_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from datetime import date

    from memoriter.times import Days
    from memoriter.types import Argument, SourceKind

ANY = "any"
"""The text that means all days where a day is given, so that no time is read from the question."""


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


class FilterPart(NamedTuple):
    """One filter of a search alone, or both days together if they are the same."""

    words: str
    option: str
    filters: Filters


def split_filters(filters: Filters) -> Iterator[FilterPart]:
    """Yield each filter that is set."""
    one_day = filters.since is not None and filters.since == filters.until
    for name, argument in filter_arguments().items():
        value: Any = getattr(filters, name)
        if name == "since" and one_day:
            yield FilterPart(f"on {filters.since}", ON.option, Filters(since=filters.since, until=filters.until))
        elif value is not None and not (name == "until" and one_day):
            yield FilterPart(_in_words(argument, value), argument.option, Filters(**{name: value}))
    for phrase in filters.phrases:
        yield FilterPart(f"the phrase {phrase!r}", f'the quotes of "{phrase}"', Filters(phrases=(phrase,)))
    for phrase in filters.without:
        option = f'-"{phrase}"' if " " in phrase else f"-{phrase}"
        yield FilterPart(f"without {phrase!r}", option, Filters(without=(phrase,)))


def _in_words(argument: Argument, value: Any) -> str:
    """Return a filter with its value, such as `since 2026-02-10`."""
    name = argument.option.removeprefix("--")
    match argument.kind:
        case "choices":
            return f"{name} {' or '.join(sorted(value))}"
        case "names":
            return f"{name} {' and '.join(sorted(value))}"
        case "text":
            return f"{name} {value!r}"
        case "flag":
            return name
        case _:
            return f"{name} {value}"


def days_first(options: Iterable[str]) -> list[str]:
    """Return options of filters in the order of messages: the days, then the others."""
    days = {each.option for each in search_arguments().values() if each.kind == "day"}
    return sorted(options, key=lambda option: option not in days)


def all_options() -> list[str]:
    """Return the options of all filters in the order of messages."""
    return days_first(
        [each.option for each in search_arguments().values() if each is ON or each.name in filter_arguments()]
    )


def make_query(
    text: str,
    today: Callable[[], date],
    *,
    sources: Collection[SourceKind] | None = None,
    since: date | str | None = None,
    until: date | str | None = None,
    on: date | str | None = None,
    changed: bool | None = None,
    tags: Collection[str] | None = None,
    **others: Any,
) -> Query:
    """Return the query for the arguments of `Memory.search`; `today` returns the day for `yesterday` or `7d`.

    With days, there is no minimum score unless one is given; a blank text then asks for the newest passages.

    Raises:
        UsageError: a number is out of its range, a text is no day, the days exclude each other, or a tag has no name.
    """
    for name, argument in search_arguments().items():
        if argument.low is not None and argument.high is not None:
            check_range(name, others.get(name), argument.low, argument.high)
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
    filters = Filters(
        sources=frozenset(sources) if sources else None,
        since=first,
        until=last,
        changed=(changed and given) or None,
        tags=wanted or None,
        **{name: others.pop(name) for name in filter_arguments() if name in others},
    )
    query = Query(text, filters=filters, **others)
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
