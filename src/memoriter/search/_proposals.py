"""What both retrievers propose. No note and no script takes all places.

A note with thousands of passages would otherwise take the places of the right one, and notes in the language of a
question those of notes in another script: texts in one language are near each other whatever they are about.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, Protocol

from memoriter.search._hits import beyond

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memoriter.records import ScoringRow
    from memoriter.store import Passages

FURTHER = (8, 64)
"""Times as many chunks that are looked at when one note crowds out the others, and again if it still does."""
OTHER_SCRIPTS = 8
"""One chunk in so many that are near to a question is in another script than most, if there are any."""


class _Nearest(Protocol):
    def __call__(self, *, limit: int, last: str = "") -> list[int]: ...


class _KeywordSearch(Protocol):
    def __call__(self, *, limit: int) -> Sequence[tuple[int, float]]: ...


class Proposals(NamedTuple):
    """The chunks that the retrievers propose, best first."""

    by_keyword: list[int]
    by_vector: list[int]
    stored: Mapping[int, ScoringRow]
    """These chunks and those beside them, by row."""


def make_room(
    reader: Passages, proposals: Proposals, with_words: _KeywordSearch, nearest: _Nearest, *, limit: int
) -> Proposals:
    """Return the proposals with room for other notes and other scripts than those that have most places.

    Args:
        reader: the index.
        proposals: what the retrievers propose at first.
        with_words: finds so many chunks with the words of the query.
        nearest: returns so many chunks near to the query, those in a script, if one is named, after all others.
        limit: chunks from each retriever.
    """
    by_keyword, by_vector, stored = proposals
    if _is_crowded(stored, by_keyword, limit):
        by_keyword = _spread(reader, lambda wanted: [row for row, _ in with_words(limit=wanted)], limit)
        stored = {**stored, **_around(reader, by_keyword)}
    if _is_crowded(stored, by_vector, limit):
        by_vector = _spread(reader, lambda wanted: nearest(limit=wanted), limit)
        stored = {**stored, **_around(reader, by_vector)}
    scripts = Counter([stored[row].script for row in by_vector if row in stored])
    script, places = scripts.most_common(1)[0] if scripts else ("", 0)
    if len(by_vector) >= limit and scripts.total() - places < limit // OTHER_SCRIPTS:
        known = set(by_vector)
        if more := [row for row in nearest(limit=limit // OTHER_SCRIPTS, last=script) if row not in known]:
            stored = {**stored, **_around(reader, more)}
            by_vector = by_vector + [row for row in more if row in stored and stored[row].script != script]
    return Proposals(by_keyword, by_vector, stored)


def _around(reader: Passages, rows: Sequence[int]) -> Mapping[int, ScoringRow]:
    """Return what is stored of chunks and of those beside them, by row."""
    return reader.scoring_rows({row + step for row in rows for step in (-1, 0, 1)})


def _is_crowded(stored: Mapping[int, ScoringRow], rows: Sequence[int], limit: int) -> bool:
    """Return whether one note has more than half of the places, and there may be more proposals."""
    if len(rows) < limit:
        return False
    return max(Counter([stored[row].path for row in rows if row in stored]).values(), default=0) > limit // 2


def _spread(reader: Passages, propose: Callable[[int], list[int]], limit: int) -> list[int]:
    """Return the best `limit` proposals of a retriever, at most half of them from one note if others have as many."""
    chosen = list[int]()
    for wanted in (limit * each for each in FURTHER):
        rows = propose(wanted)
        stored = reader.scoring_rows(rows)
        present = [row for row in rows if row in stored]
        over_limit = beyond([stored[row].path for row in present], limit // 2)
        order = [*sorted(set(range(len(present))).difference(over_limit)), *over_limit]
        chosen = [present[at] for at in sorted(order[:limit])]
        if len(rows) < wanted or len(present) - len(over_limit) >= limit:
            break
    return chosen
