"""The hits that a search shows: without repetitions, with a share for each kind of source, and with snippets.

Repetitions are reduced by maximal marginal relevance (Carbonell and Goldstein 1998), which is off by default. A passage
also gives way if it has the text of a better hit, or is a heading alone, or with a word below it, in a note that has a
better hit, or if its note has as many better hits as it may have.

Hits of the time that a question names come first, but some places are kept for the best of other days: a note about May
may be dated in June, and MEMORY.md has no day. Passages of the time need no minimum score; those below it come last.
The words of the time stay in the text that is searched for, because notes have them too.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from memoriter.filters import in_days
from memoriter.types import ORIGIN, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from datetime import date

    from memoriter.records import StoredChunk
    from memoriter.search._score import SearchSettings
    from memoriter.times import Days
    from memoriter.types import Chunk, Filters, Hit, Query


def jaccard(left: AbstractSet[Hashable], right: AbstractSet[Hashable]) -> float:
    """Return shared members over all members, 0..1; two empty sets give 1."""
    if not left and not right:
        return 1.0
    return len(left & right) / len(left | right)


def mmr_score(relevance: float, similarity: float, lambda_: float) -> float:
    """Return λ·relevance − (1 − λ)·similarity."""
    return lambda_ * relevance - (1 - lambda_) * similarity


def mmr_order(scores: Sequence[float], contents: Sequence[AbstractSet[Hashable]], *, lambda_: float) -> list[int]:
    """Return positions in the order of greedy MMR.

    Args:
        scores: relevance of each item; they are scaled to 0..1.
        contents: members of each item, compared by `jaccard`.
        lambda_: clamped to 0..1; 1 orders by score.
    """
    lambda_ = min(max(lambda_, 0.0), 1.0)
    remaining = sorted(range(len(scores)), key=lambda i: -scores[i]) if lambda_ == 1 else list(range(len(scores)))
    if lambda_ == 1 or len(remaining) <= 1:
        return remaining
    relevance = _normalize(scores)
    similarity = [0.0] * len(scores)
    order: list[int] = []
    while remaining:
        best = max(remaining, key=lambda i: (mmr_score(relevance[i], similarity[i], lambda_), scores[i]))
        remaining.remove(best)
        order.append(best)
        for i in remaining:
            similarity[i] = max(similarity[i], jaccard(contents[i], contents[best]))
    return order


def _normalize(scores: Sequence[float]) -> list[float]:
    low = min(scores)
    high = max(scores)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]


SHARE = 3
"""A kind that has hits gets at least one place in this many."""
_T = TypeVar("_T")


def interleave(ranked: Sequence[_T], kinds: Sequence[Hashable], limit: int) -> list[_T]:
    """Return the first `limit` items, best first, with at least a share for each kind that has items."""
    if limit <= 0:
        return []
    if len(set(kinds)) < 2:
        return list(ranked[:limit])
    share = max(1, limit // SHARE)
    positions = {
        kind: [position for position, item_kind in enumerate(kinds) if item_kind == kind]
        for kind in dict.fromkeys(kinds)
    }
    reserved = {0, *(position for of_kind in positions.values() for position in of_kind[:share])}
    if len(reserved) > limit:
        reserved = set(sorted(reserved)[:limit])
    rest = (position for position in range(len(ranked)) if position not in reserved)
    chosen = sorted([*reserved, *(position for position, _ in zip(rest, range(limit - len(reserved)), strict=False))])
    return [ranked[position] for position in chosen]


def beyond(places: Sequence[str], limit: int) -> list[int]:
    """Return the positions at which a place occurs more often than `limit` times so far.

    >>> beyond(["a", "b", "a", "a", "b"], 2)
    [3]
    """
    counts = Counter[str]()
    positions: list[int] = []
    for position, place in enumerate(places):
        counts[place] += 1
        if counts[place] > limit:
            positions.append(position)
    return positions


def repeated_rows(ranked: Iterable[int], chunks: Mapping[int, StoredChunk]) -> set[int]:
    """Return the rows that repeat a better one."""
    texts = set[str]()
    notes = set[str]()
    repeated = set[int]()
    for row in ranked:
        if (stored := chunks.get(row)) is None:
            continue
        text = _compared(stored.chunk.text)
        if text in texts or (stored.path in notes and _is_tiny(stored.chunk)):
            repeated.add(row)
        texts.add(text)
        notes.add(stored.path)
    return repeated


_MARKUP = re.compile(r"^[ \t]*[-*+][ \t]+(?:\d{1,2}:\d\d(?=[ \t]))?|\*\*|__|`", re.MULTILINE)
"""List markers with the time of an entry, and marks of emphasis and code."""
_TINY = 8
"""Letters below which a text in ASCII without a digit says nothing that a better hit of its note does not."""


def _compared(text: str) -> str:
    """Return a passage in lower case, without its markup, white space and marks of origin."""
    return " ".join(_MARKUP.sub("", ORIGIN.sub("", text)).casefold().split())


def _is_tiny(chunk: Chunk) -> bool:
    """Return whether a passage is a heading alone, or with a word below it that is no number."""
    body = chunk.contextual.partition("\n")[2] if chunk.heading else chunk.text
    return body.isascii() and sum(map(str.isalpha, body)) < _TINY and not any(map(str.isdigit, body))


SNIPPET_LENGTH = 700
"""Length limit in UTF-16 units, the unit in which agents count characters."""


def snippet(text: str, limit: int = SNIPPET_LENGTH) -> str:
    """Return the beginning of the text, at most `limit` UTF-16 units, ending between two graphemes (UAX #29)."""
    if len(text) <= limit // 2 or (text.isascii() and len(text) <= limit):
        return text
    head = _cut_units(text, limit)
    if len(head) == len(text) or text.isascii():
        return head
    return _cut_graphemes(text, len(head))


def _cut_units(text: str, limit: int) -> str:
    """Return the longest beginning of at most `limit` UTF-16 units that does not end in half a surrogate pair."""
    units = text.encode("utf-16-le", "surrogatepass")[: 2 * limit]
    half = len(units) >= 2 and 0xD8 <= units[-1] <= 0xDB
    return (units[:-2] if half else units).decode("utf-16-le", "surrogatepass")


def _cut_graphemes(text: str, end: int) -> str:
    """Return the longest run of whole graphemes in the first `end` characters. A single longer grapheme is cut."""
    import regex  # imported here because only long texts that are not ASCII need it

    start = max(text.rfind(" ", 0, end), text.rfind("\n", 0, end), 0)
    last = start
    for match in regex.finditer(r"\X", text[start : end + 64]):
        if start + match.end() > end:
            break
        last = start + match.end()
    return text[:last] or text[:end]


OTHER_DAYS_SHARE = 3
"""One in so many hits may be of other days although there are enough of the time."""


def with_time(query: Query, text: str, today: Callable[[], date]) -> Query:
    """Return a question with the time that it names, or as a request for everything of its days.

    A question with days of its own, such as `since:7d` or an option, is not searched for a time.
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
