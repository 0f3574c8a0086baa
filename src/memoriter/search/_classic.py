"""OpenClaw 2026.2.26's ranking, reproduced exactly: the oracle of our tests and the baseline of our measurements.

Its text score is 1 for every keyword match, because FTS5's bm25 is negative and the formula clamps it at 0.
This module keeps that behaviour.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from datetime import date
from typing import TYPE_CHECKING

from memoriter.search._hits import mmr_order, snippet
from memoriter.search._score import age_in_days, decay, is_memory_path, normalize_path, start_of
from memoriter.search._terms import classic_terms, is_common
from memoriter.times import FIRST_YEAR

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.records import StoredChunk
    from memoriter.search._score import SearchSettings
    from memoriter.store import Passages
    from memoriter.types import Filters, SourceKind

NON_FINITE_RANK = 999.0
_CLASSIC_DATED = re.compile(r"(?:^|/)memory/(\d{4})-(\d{2})-(\d{2})\.md$")
_ASCII_WORD = re.compile(r"[a-z0-9_]+")


def text_score(rank: float) -> float:
    """Return 1 / (1 + max(0, rank)); a rank that is not finite counts as 999."""
    return 1 / (1 + (max(0.0, rank) if math.isfinite(rank) else NON_FINITE_RANK))


def query_words(text: str) -> list[str]:
    """Return the runs of letters, digits and underscores. A chunk must contain all of them, each as a quoted phrase."""
    return [word for word in re.findall(r"\w+", text) if word]


def merge(vector: Mapping[int, float], text: Mapping[int, float], weights: tuple[float, float]) -> dict[int, float]:
    """Return the weighted sum of cosine and text score for every row of either mapping; a missing score counts as 0."""
    vector_weight, text_weight = weights
    rows: Iterable[int] = dict.fromkeys([*vector, *text])
    return {row: vector_weight * vector.get(row, 0.0) + text_weight * text.get(row, 0.0) for row in rows}


def classic_candidates(
    reader: Passages,
    text: str,
    vector: NDArray[np.float32] | None,
    settings: SearchSettings,
    *,
    filters: Filters,
    limit: int,
) -> tuple[Sequence[tuple[int, float]], Sequence[tuple[int, float]]]:
    """Return up to `limit` rows of each retriever, best first: with their cosines, and with their FTS5 ranks."""
    phrases = [" ".join(terms) for word in query_words(text) if (terms := classic_terms(word))]
    nearest = () if vector is None else reader.vector_search(vector, limit=limit, filters=filters)
    if not nearest:
        return (), _rows_with_any(reader, phrases, filters=filters, limit=limit)
    matches = reader.keyword_search_all(phrases, limit=limit, filters=filters) if phrases and settings.hybrid else ()
    return nearest, matches


def _rows_with_any(
    reader: Passages, phrases: Sequence[str], *, filters: Filters, limit: int
) -> Sequence[tuple[int, float]]:
    """Return rows that have a keyword of the query, those with most of them first, each with its best rank.

    Without vectors, each keyword is searched by itself, as OpenClaw does; everyday words are none if there are others.
    """
    keywords = [phrase for phrase in dict.fromkeys(phrases) if not is_common(phrase)] or phrases
    counts = Counter[int]()
    ranks = dict[int, float]()
    for keyword in keywords:
        for row, rank in reader.keyword_search_all([keyword], limit=limit, filters=filters):
            counts[row] += 1
            ranks[row] = min(rank, ranks.get(row, rank))
    best = sorted(ranks.items(), key=lambda item: (-counts[item[0]], item[1]))
    return best[:limit]


def classic_ranking(
    reader: Passages,
    text: str,
    vector: NDArray[np.float32] | None,
    settings: SearchSettings,
    *,
    filters: Filters,
    now: float,
) -> list[tuple[StoredChunk, float]]:
    """Return chunks with their scores, best first, before the minimum score and the result limit are applied."""
    nearest, matches = classic_candidates(reader, text, vector, settings, filters=filters, limit=settings.candidates)
    vector_scores = dict(nearest)
    text_scores = {row: text_score(rank) for row, rank in matches}
    weights = settings.classic_weights if settings.hybrid else (1.0, 0.0)
    if not nearest:
        weights = (0.0, 1.0)
    scores = merge(vector_scores, text_scores, weights)
    chunks = reader.rows(scores.keys())
    pairs = [(chunks[row], _apply_decay(chunks[row], score, settings, now)) for row, score in scores.items()]
    pairs.sort(key=lambda pair: -pair[1])
    return _diversify(pairs, settings)


def _apply_decay(stored: StoredChunk, score: float, settings: SearchSettings, now: float) -> float:
    if settings.half_life_days is None or not settings.hybrid:
        return score
    modified = None if stored.source == "sessions" else start_of(date.fromordinal(abs(stored.day)))
    start = classic_start(stored.path, stored.source, modified)
    return score if start is None else score * decay(age_in_days(start, now), settings.half_life_days)


def _diversify(pairs: list[tuple[StoredChunk, float]], settings: SearchSettings) -> list[tuple[StoredChunk, float]]:
    if settings.mmr_lambda is None or not settings.hybrid:
        return pairs
    token_sets = [classic_tokens(snippet(stored.chunk.text)) for stored, _ in pairs]
    order = mmr_order([score for _, score in pairs], token_sets, lambda_=settings.mmr_lambda)
    return [pairs[position] for position in order]


def classic_path_date(path: str) -> date | None:
    """Return the date in a path by OpenClaw 2026.2.26's rule, which accepts only `memory/YYYY-MM-DD.md`."""
    match = _CLASSIC_DATED.search(normalize_path(path))
    return _parse_day(match) if match else None


def is_classic_evergreen(path: str) -> bool:
    """Return whether a path is evergreen by OpenClaw 2026.2.26's rule."""
    normal = normalize_path(path)
    return is_memory_path(normal) and not _CLASSIC_DATED.search(normal)


def classic_start(path: str, source: SourceKind, changed: float | None) -> float | None:
    """Return the moment (seconds since 1970) from which OpenClaw 2026.2.26 counts a chunk's age.

    Args:
        path: path of the chunk, as cited.
        source: kind of source of the chunk.
        changed: last change of the file, or None if it is unknown (as for every transcript in OpenClaw).

    Returns:
        The moment, or None for a chunk that does not decay.
    """
    day = classic_path_date(path)
    if day is not None:
        return start_of(day)
    return None if source == "memory" and is_classic_evergreen(path) else changed


def _parse_day(match: re.Match[str]) -> date | None:
    try:
        day = date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return None
    return day if day.year >= FIRST_YEAR else None


def classic_tokens(text: str) -> frozenset[str]:
    """Return the words that OpenClaw compares: runs of ASCII letters, digits and underscores, in lower case."""
    return frozenset(_ASCII_WORD.findall(text.lower()))
