"""Diagnostics for a search without hits: what was searched, which limit removed candidates, and what helps."""

from __future__ import annotations

from dataclasses import replace
from math import floor, inf
from typing import TYPE_CHECKING

from memoriter.filters import days_first, split_filters
from memoriter.search._pipeline import rank
from memoriter.search._terms import query_terms
from memoriter.search._typed_ranking import rank_lines
from memoriter.types import Diagnostic, Filters
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.search._score import SearchSettings, TypedQuery
    from memoriter.store import Passages

REPHRASE = "Ask with other words, a name or a date."


@dataclass(frozen=True, slots=True)
class EmptyResult:
    """The scope of a search without hits, and the best scores without its limits."""

    chunks: int
    """Chunks in the index."""
    searched: int
    """Chunks that pass the filters."""
    min_score: float
    best: float | None = None
    """Best score of the chunks that pass the filters, however low; `None` without candidates."""
    best_unfiltered: float | None = None
    """Best score without the filters; `None` without candidates."""
    filters: Filters = field(default_factory=Filters)
    passing_alone: Mapping[str, int] = field(default_factory=dict[str, int])
    """Number of chunks that pass each filter alone, by the filter in words; empty if a chunk passes all filters."""
    has_vector: bool = False
    """True if the vector retriever was used."""
    has_words: bool = True
    """True if the query contains a term."""
    undated: int = 0
    """Number of chunks without a day that would pass if the last change of their file counted as their day."""


def search_without_limits(
    reader: Passages,
    text: str,
    vector: NDArray[np.float32] | None,
    settings: SearchSettings,
    *,
    filters: Filters,
    now: float,
    typed: TypedQuery | None = None,
) -> EmptyResult:
    """Repeat a search without hits, first without the minimum score, then without the filters as well.

    The filters of the lines of a typed query count together.
    """
    unlimited = replace(settings, min_score=-inf)
    bare = Filters()
    if typed is None:
        hits = rank(reader, text, vector, unlimited, filters=filters, now=now)
        unfiltered = hits if filters.empty else rank(reader, text, vector, unlimited, filters=bare, now=now)
        counts = [reader.count(filters)]
        words = [text]
    else:
        own = [replace(each.line.filters, sources=filters.sources) for each in typed.lines]
        hits = rank_lines(reader, typed, unlimited, filters=filters, now=now)
        unfiltered = rank_lines(reader, _without_filters(typed), unlimited, filters=bare, now=now)
        counts = [*map(reader.count, own)]
        words = [each.line.text for each in typed.lines if each.line.kind == "lex"]
        filters = _together(filters, own)
    chunks = reader.corpus().chunks
    searched = chunks if filters.empty else max(counts)
    is_dated = filters.since is not None or filters.until is not None
    return EmptyResult(
        chunks=chunks,
        searched=searched,
        min_score=settings.min_score,
        best=max((hit.score for hit in hits), default=None),
        best_unfiltered=max((hit.score for hit in unfiltered), default=None),
        filters=filters,
        passing_alone={} if searched else {each.words: reader.count(each.filters) for each in split_filters(filters)},
        undated=reader.count(replace(filters, changed=True)) if is_dated and not searched else 0,
        has_vector=vector is not None,
        has_words=any(map(query_terms, words)),
    )


def _without_filters(typed: TypedQuery) -> TypedQuery:
    lines = [replace(each, line=replace(each.line, filters=Filters())) for each in typed.lines]
    return replace(typed, lines=lines)


def _together(filters: Filters, others: Sequence[Filters]) -> Filters:
    """Return filters with those of several lines added."""
    tags = frozenset(tag for each in (filters, *others) for tag in each.tags or ())
    return replace(
        filters,
        since=next((each.since for each in others if each.since), filters.since),
        until=next((each.until for each in others if each.until), filters.until),
        path=next((each.path for each in others if each.path), filters.path),
        tags=tags or None,
        phrases=tuple(dict.fromkeys(phrase for each in others for phrase in each.phrases)),
        without=tuple(dict.fromkeys(phrase for each in others for phrase in each.without)),
    )


def diagnose_empty(result: EmptyResult) -> tuple[Diagnostic, ...]:
    """Return the diagnostics, the most likely cause first; an empty tuple only for an index without chunks."""
    return tuple(_diagnostics(result)) if result.chunks else ()


def _diagnostics(result: EmptyResult) -> Iterator[Diagnostic]:
    best = result.best
    unfiltered = result.best_unfiltered
    filters_hide_hits = unfiltered is not None and (best is None or unfiltered >= result.min_score)
    if not result.filters.empty and (filters_hide_hits or not result.searched):
        yield Diagnostic("filtered_out", _filter_message(result), _filter_remedy(result))
    if best is not None:
        message = (
            f"{_chunk_count(result.searched)} could answer; the best scores {_round_down(best, 3)},"
            f" and the lowest score that counts is {result.min_score:g}."
        )
        yield Diagnostic("below_min_score", message, f"{REPHRASE}{_min_score_hint(best)}")
    elif unfiltered is None and not result.has_words:
        message = "The question has no word to search for, and vector search was not available."
        yield Diagnostic("no_words", message, REPHRASE)
    elif unfiltered is None:
        message = f"None of {_chunk_count(result.chunks)} has a word of the question; only keyword search ran."
        yield Diagnostic("no_term_known", message, REPHRASE)


def _filter_message(result: EmptyResult) -> str:
    if not result.searched:
        counts = ", ".join(f"{name} alone leaves {count}" for name, count in result.passing_alone.items())
        return f"The filters leave none of {_chunk_count(result.chunks)}: {counts}."
    names = " and ".join(part.words for part in split_filters(result.filters))
    if result.best is None:
        verb = "could be compared with" if result.has_vector else "has a word of"
        return (
            f"None of {_chunk_count(result.searched)} that the filters leave ({names}) {verb} the question; others do."
        )
    best = _round_down(result.best_unfiltered or 0.0, 3)
    return f"The filters ({names}) leave out what answers better: without them the best scores {best}."


def _filter_remedy(result: EmptyResult) -> str:
    """Return the remedy. The same query finds what the remedy promises."""
    options = days_first(part.option for part in split_filters(result.filters))
    remedy = f"Leave out {' and '.join(options)}."
    if result.undated:
        remedy += f" Or add --changed: {_chunk_count(result.undated)} without a day changed then."
    return (
        remedy
        if result.best_unfiltered is None or result.best_unfiltered >= result.min_score
        else remedy + _min_score_hint(result.best_unfiltered)
    )


def _min_score_hint(best: float) -> str:
    return f" With --min-score {_round_down(best, 2)} (minScore) you see what is nearest." if best >= 0 else ""


def _chunk_count(count: int) -> str:
    return f"{count:,} chunk{'' if count == 1 else 's'}"


def _round_down(score: float, digits: int) -> str:
    """Format the score with `digits` digits, rounded down, so that a search with it as minimum score has hits."""
    step = 10**digits
    rounded = floor(score * step) / step
    return f"{rounded if rounded <= score else rounded - 1 / step:.{digits}f}"
