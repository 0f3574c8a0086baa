"""The time that a question names, and the hits of that time.

Hits of the time come first, but some places are kept for the best of other days: a note about May may be dated in June,
and MEMORY.md has no day. Passages of the time need no minimum score; those below it come last.

The words of the time stay in the text that is searched for, because notes have them too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.filters import in_days
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    from memoriter.search._inputs import SearchSettings
    from memoriter.times import Days
    from memoriter.types import Filters, Hit, Query

OTHER_DAYS_SHARE = 3
"""One in so many hits may be of other days although there are enough of the time."""


def with_time(query: Query, text: str, today: Callable[[], date]) -> Query:
    """Return a question with the time that it names, or as a request for everything of its days.

    A question with days of its own, such as `since:7d` or an option, is not searched for a time.

    Args:
        query: the question, with its operators as filters.
        text: its text without anything in quotes.
        today: returns the user's day.
    """
    from memoriter.times import asks_for_all, time_in

    if query.any_day or query.filters.since or query.filters.until:
        dated = bool(query.filters.since or query.filters.until)
        return in_days(replace(query, newest=query.newest or (dated and asks_for_all(text))))
    named = time_in(text, today)
    if named is None:
        return query
    days = named.days
    time = {"words": named.words, "since": days.first and days.first.isoformat()}
    time |= {"until": days.last and days.last.isoformat()}
    shown = {"text": query.text, **(query.understood or {}), "time": {key: day for key, day in time.items() if day}}
    query = replace(query, time=days, understood=shown)
    if not asks_for_all(named.rest, named.language):
        return query
    return in_days(replace(query, newest=True, filters=of_time(query.filters, days)))


def in_order_of_time(
    inside: Sequence[Hit], hits: Sequence[Hit], time: Days, settings: SearchSettings
) -> tuple[Hit, ...]:
    """Return hits of a time, then the best of other days, then those of the time with too low a score.

    Args:
        inside: the hits of a search among what is dated in the time, whatever their score.
        hits: the hits of a search among everything.
        time: the time.
        settings: the number of hits, and the score that a hit has at least if no time is named.
    """
    limit = settings.max_results
    min_score = settings.min_score
    others = [replace(hit, outside_time=True) for hit in hits if hit.date not in time]
    others = others[: max(limit // OTHER_DAYS_SHARE, limit - len(inside))]
    inside = inside[: limit - len(others)]
    first = [hit for hit in inside if hit.score >= min_score]
    return (*first, *others, *(hit for hit in inside if hit.score < min_score))


def deciding(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return the hits that decide about a match: those of the time that the question names, if one of them is first."""
    return tuple([hit for hit in hits if hits[0].outside_time or not hit.outside_time])


def nothing_then(query: Query) -> Diagnostic:
    """Return the diagnostic that nothing is dated in the time that a question names."""
    words = (query.understood or {})["time"]["words"]
    days = query.time.in_words() if query.time else ""
    return Diagnostic(
        "filtered_out",
        f"None of the passages is dated in the time of the question ({words} = {days}).",
        "Ask without the time, or with --since any, which leaves the time unread.",
    )


def of_time(filters: Filters, time: Days) -> Filters:
    """Return filters that also leave only what is dated in a time."""
    return replace(filters, since=time.first, until=time.last)
