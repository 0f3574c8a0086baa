"""Why a search found nothing where there is something: what was looked at, what was cut and by what, what helps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import floor, inf
from typing import TYPE_CHECKING

from memoriter.search._pipeline import rank
from memoriter.search._terms import query_terms
from memoriter.types import Diagnostic, Filters

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.search._ports import Reader
    from memoriter.search._settings import SearchSettings

REPHRASE = "Ask with other words, a name or a date."


@dataclass(frozen=True, slots=True)
class EmptyResult:
    """What a search that found nothing has looked at."""

    chunks: int
    """In the index."""
    searched: int
    """Of them, those that pass the filters."""
    min_score: float
    best: float | None = None
    """The best score among those that pass the filters, however low; `None` if none was proposed."""
    best_unfiltered: float | None = None
    """The same without the filters."""
    filters: Filters = field(default_factory=Filters)
    passing_alone: Mapping[str, int] = field(default_factory=dict[str, int])
    """Chunks that pass each of the filters alone, by the filter in words; only where none passes all."""
    has_vector: bool = False
    """Whether the vector leg served."""
    has_words: bool = True
    """Whether the question has any."""
    is_classic: bool = False
    """Whether a chunk had to hold all words of the question."""


def search_without_limits(
    reader: Reader,
    text: str,
    vector: NDArray[np.float32] | None,
    settings: SearchSettings,
    *,
    filters: Filters,
    now: float,
) -> EmptyResult:
    """Ask once more what `rank` found nothing for, without the lowest score, then without the filters."""
    floorless = replace(settings, min_score=-inf)
    hits = rank(reader, text, vector, floorless, filters=filters, now=now)
    anywhere = hits if filters.empty else rank(reader, text, vector, floorless, filters=Filters(), now=now)
    chunks = reader.corpus().chunks
    searched = chunks if filters.empty else reader.count(filters)
    return EmptyResult(
        chunks=chunks,
        searched=searched,
        min_score=settings.min_score,
        best=max((hit.score for hit in hits), default=None),
        best_unfiltered=max((hit.score for hit in anywhere), default=None),
        filters=filters,
        passing_alone={} if searched else {name: reader.count(part) for name, part in _split_filters(filters)},
        has_vector=vector is not None,
        has_words=bool(query_terms(text)),
        is_classic=settings.scoring == "classic",
    )


def diagnose_empty(nothing: EmptyResult) -> tuple[Diagnostic, ...]:
    """The reasons, the one that most likely matters first; none only for an index without a chunk."""
    return tuple(_diagnostics(nothing)) if nothing.chunks else ()


def _diagnostics(nothing: EmptyResult) -> Iterator[Diagnostic]:
    best, beyond = nothing.best, nothing.best_unfiltered
    outside = beyond is not None and (best is None or beyond >= nothing.min_score)
    if not nothing.filters.empty and (outside or not nothing.searched):
        yield Diagnostic("filtered_out", _filter_message(nothing), _filter_remedy(nothing))
    if best is not None:
        message = (
            f"{_chunk_count(nothing.searched)} could answer; the best scores {_round_down(best, 3)},"
            f" and the lowest score that counts is {nothing.min_score:g}."
        )
        yield Diagnostic("below_min_score", message, f"{REPHRASE}{_min_score_hint(best)}")
    elif beyond is None and not nothing.has_words:
        message = "The question has no word to look for, and its meaning could not be searched for."
        yield Diagnostic("no_words", message, REPHRASE)
    elif beyond is None and nothing.is_classic:
        message = f"None of {_chunk_count(nothing.chunks)} has every word of the question, as classic scoring wants."
        remedy = 'Ask with fewer words, or set memorySearch.query.scoring to "calibrated".'
        yield Diagnostic("words_apart", message, remedy)
    elif beyond is None:
        message = f"None of {_chunk_count(nothing.chunks)} has a word of the question; words alone were searched."
        yield Diagnostic("no_term_known", message, REPHRASE)


def _filter_message(nothing: EmptyResult) -> str:
    if not nothing.searched:
        alone = ", ".join(f"{name} alone leaves {count}" for name, count in nothing.passing_alone.items())
        return f"The filters leave none of {_chunk_count(nothing.chunks)}: {alone}."
    given = " and ".join(name for name, _ in _split_filters(nothing.filters))
    if nothing.best is None:
        what = "could be compared with" if nothing.has_vector else "has a word of"
        return (
            f"None of {_chunk_count(nothing.searched)} that the filters leave ({given}) {what} the question; others do."
        )
    best = _round_down(nothing.best_unfiltered or 0.0, 3)
    return f"The filters ({given}) leave out what answers better: without them the best scores {best}."


def _filter_remedy(nothing: EmptyResult) -> str:
    """What is promised here is what the same question then finds."""
    filters, given = nothing.filters, list[str]()
    if filters.since is not None and filters.since == filters.until:
        given.append("--on")
    else:
        given += ["--since"] if filters.since is not None else []
        given += ["--until"] if filters.until is not None else []
    given += ["--source"] if filters.sources is not None else []
    given += ["--path"] if filters.path is not None else []
    leave = f"Leave out {' and '.join(given)}."
    return (
        leave
        if nothing.best_unfiltered is None or nothing.best_unfiltered >= nothing.min_score
        else leave + _min_score_hint(nothing.best_unfiltered)
    )


def _min_score_hint(best: float) -> str:
    return f" With --min-score {_round_down(best, 2)} (minScore) you see what is nearest." if best >= 0 else ""


def _split_filters(filters: Filters) -> Iterator[tuple[str, Filters]]:
    """Each filter alone, in words."""
    if filters.sources is not None:
        yield f"source {' or '.join(sorted(filters.sources))}", Filters(sources=filters.sources)
    if filters.since is not None and filters.since == filters.until:
        yield f"on {filters.since}", Filters(since=filters.since, until=filters.until)
    else:
        if filters.since is not None:
            yield f"since {filters.since}", Filters(since=filters.since)
        if filters.until is not None:
            yield f"until {filters.until}", Filters(until=filters.until)
    if filters.path is not None:
        yield f"path {filters.path!r}", Filters(path=filters.path)


def _chunk_count(count: int) -> str:
    return f"{count:,} chunk{'' if count == 1 else 's'}"


def _round_down(score: float, digits: int) -> str:
    """The score with so many digits, and never more than it is: what is asked for by it is found."""
    step = 10**digits
    shown = floor(score * step) / step
    return f"{shown if shown <= score else shown - 1 / step:.{digits}f}"
