"""From a question to the chunks worth scoring: each leg proposes, neighbours come along."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

from memoriter.search._score import KeywordScore, keyword_score, saturations, weigh

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.search._cosine_baseline import CosineBaseline
    from memoriter.search._ports import Reader, ScoringRowLike
    from memoriter.search._score import Saturations, WeightedTerms
    from memoriter.search._settings import SearchSettings
    from memoriter.types import Filters

MIN_CANDIDATES = 24
"""From each leg, as many as for the usual six hits: who wants one gets the first of the six."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Chunks with what both legs have to say about each."""

    scoring_rows: Mapping[int, ScoringRowLike]
    cosines: Mapping[int, float]
    vector_scores: Mapping[int, float]
    """v of each candidate that has a vector."""
    keyword_scores: Mapping[int, KeywordScore]
    keyword_ranking: Sequence[int]
    """Best first."""
    vector_ranking: Sequence[int]
    """Best first."""
    has_vector: bool
    """Whether the vector leg served."""
    has_unknown_name: bool = False
    """Whether the question names something that no chunk holds."""

    def retrievers(self, row: int) -> tuple[str, ...]:
        """The legs that proposed a candidate."""
        proposed = (("vector", self.vector_ranking), ("keyword", self.keyword_ranking))
        return tuple(name for name, ids in proposed if row in ids)


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A question in the forms that the legs need."""

    text: str
    terms: Sequence[str]
    vector: NDArray[np.float32] | None
    """(dims,), unit length; None when the vector leg does not serve."""


def gather_by_kind(
    reader: Reader, question: ParsedQuery, settings: SearchSettings, *, filters: Filters, words: bool
) -> Candidates:
    """The candidates of each kind of source that shares the hits, so that none takes the places of another.

    Where places in a leg make the score, all kinds must be asked together.
    """

    def ask(some: Filters) -> Candidates:
        return gather(reader, question, settings.background, limit=settings.candidates, filters=some, words=words)

    if len(settings.kinds) < 2 or settings.scoring != "calibrated":
        return ask(filters)
    first, *others = (ask(replace(filters, sources=frozenset({kind}))) for kind in settings.kinds)
    return reduce(_merge, others, first)


def _merge(one: Candidates, other: Candidates) -> Candidates:
    return replace(
        one,
        briefs={**one.scoring_rows, **other.scoring_rows},
        cosines={**one.cosines, **other.cosines},
        vector_scores={**one.vector_scores, **other.vector_scores},
        word_scores={**one.keyword_scores, **other.keyword_scores},
        keyword_leg=[*one.keyword_ranking, *other.keyword_ranking],
        vector_leg=[*one.vector_ranking, *other.vector_ranking],
    )


def gather(
    reader: Reader,
    question: ParsedQuery,
    background: CosineBaseline,
    *,
    limit: int,
    filters: Filters,
    words: bool = True,
) -> Candidates:
    """Ask both legs for their best and let both judge all; `words` False leaves the keyword leg out."""
    limit = max(limit, MIN_CANDIDATES)
    corpus, frequency = reader.corpus(), reader.document_frequency(question.terms)
    weighed = weigh(question.terms, frequency, chunks=corpus.chunks, mean_length=corpus.mean_length)
    by_words = words and question.terms
    weights = dict(zip(weighed.terms, weighed.idf, strict=True))
    found = (
        reader.keyword_search(weighed.terms, limit=limit, filters=filters, frequency=frequency, weights=weights)
        if by_words
        else ()
    )
    keyword_leg = [row for row, _ in found]
    vector_leg = _nearest(reader, question.vector, background, limit=limit, filters=filters)
    proposed = {*keyword_leg, *vector_leg}
    alike = filters.since is None and filters.until is None and filters.path is None
    """Whether the neighbour of a chunk, in the same file, passes the filters as it does."""
    near_words = {row + step for row in keyword_leg[: limit // 2] for step in (-1, 1)} if alike else set[int]()
    known = reader.scoring_rows({row + step for row in proposed for step in (-1, 0, 1)} | near_words)
    chosen = {row: known[row] for row in known if row in proposed or _is_adjacent(known, row, keyword_leg, near_words)}
    cosines, scores = _vector_scores(reader, question, background, chosen)
    return Candidates(
        scoring_rows=chosen,
        cosines=cosines,
        vector_scores=scores,
        keyword_scores=_keyword_scores(chosen, known, weighed) if by_words else {},
        keyword_ranking=keyword_leg,
        vector_ranking=vector_leg,
        has_vector=question.vector is not None,
        has_unknown_name=weighed.has_unknown_name,
    )


def _is_adjacent(
    known: Mapping[int, ScoringRowLike], row: int, keyword_leg: Sequence[int], near_words: AbstractSet[int]
) -> bool:
    """Whether a chunk lies next to one that the keyword leg proposed, in the same source."""
    if row not in near_words:
        return False
    return any(
        other in keyword_leg and other in known and known[other].path == known[row].path for other in (row - 1, row + 1)
    )


def _nearest(
    reader: Reader, vector: NDArray[np.float32] | None, background: CosineBaseline, *, limit: int, filters: Filters
) -> list[int]:
    """The chunks that stand out most, best first."""
    if vector is None:
        return []
    found = reader.vector_search(vector, limit=limit, filters=filters, levels=background.levels(vector))
    return [row for row, _ in found]


def _vector_scores(
    reader: Reader, question: ParsedQuery, background: CosineBaseline, chosen: Mapping[int, ScoringRowLike]
) -> tuple[dict[int, float], dict[int, float]]:
    """The plain cosine and the score above the background of each candidate that has a vector."""
    if question.vector is None or not chosen:
        return {}, {}
    ids, vectors = reader.vectors_at(chosen.keys())
    scripts = [chosen[row].script for row in ids]
    scores = background.vector_scores(question.text, question.vector, scripts, vectors)
    cosines = vectors @ question.vector
    return dict(zip(ids, cosines.tolist(), strict=True)), dict(zip(ids, scores.tolist(), strict=True))


def _keyword_scores(
    chosen: Mapping[int, ScoringRowLike], known: Mapping[int, ScoringRowLike], weighed: WeightedTerms
) -> dict[int, KeywordScore]:
    """What the words say of the candidates, with the chunks beside them; of the others they say nothing."""
    rows = list(known)
    shares = saturations([(brief.term_counts, brief.length) for brief in known.values()], weighed)
    held = {rows[position]: share for position, share in shares.items()}

    def beside(row: int, step: int) -> Saturations:
        near = held.get(row + step)
        return near if near and known[row + step].path == known[row].path else {}

    told = {row + step for row in held for step in (-1, 0, 1)} & chosen.keys()
    return {row: keyword_score(held.get(row, {}), beside(row, -1), beside(row, 1), weighed) for row in told}
