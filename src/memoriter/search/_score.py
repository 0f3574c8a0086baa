"""One absolute score: what a passage is worth for a question, whatever else was found.

raw = w·v + (1 − w)·k, where *v* says how far the cosine stands above that of unrelated passages and *k* how much of the
question's words the passage (and a little of its neighbours) holds. Sparck Jones' idf and Robertson's BM25 with
k1 = 1.2, b = .75 as in FTS5; the blend and its constants were measured on conversations and encyclopaedic questions in
English, Korean, Chinese and Japanese (`just eval`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoriter.search._bag import count, term_hash
from memoriter.search._terms import is_compound

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VECTOR_WEIGHT = 0.35
"""w: flat within .003 nDCG@10 from .3 to .4 on every set."""
NEIGHBOUR_SHARE = 0.4
"""Of the keyword score of the chunk before and of the chunk after; conversations gain .05 recall@10."""
COVERAGE_SHARE = 0.7
FULL_VECTOR = 6.0
"""Standard deviations above the background that count as a perfect match of meaning."""
K1, B = 1.2, 0.75
UNSEEN_CHUNKS = 100
"""Added to the corpus when a term's rarity is judged, so that one note alone has rare and common words too."""


@dataclass(frozen=True, slots=True)
class WeighedTerms:
    """A question's terms with what each is worth in this corpus."""

    terms: tuple[str, ...]
    hashes: tuple[int, ...]
    idf: tuple[float, ...]
    mean_length: float

    @property
    def total(self) -> float:
        return sum(self.idf)


@dataclass(frozen=True, slots=True)
class KeywordScore:
    """k of one chunk and the parts it is made of, each 0..1."""

    coverage: float
    saturation: float
    held: tuple[str, ...]

    @property
    def value(self) -> float:
        return COVERAGE_SHARE * self.coverage + (1 - COVERAGE_SHARE) * self.saturation


NOTHING = KeywordScore(0.0, 0.0, ())


def weigh(terms: Sequence[str], frequency: Mapping[str, int], *, chunks: int, mean_length: float) -> WeighedTerms:
    """Give each term its idf; a term that no chunk holds weighs most, so that missing it counts.

    An identifier that no chunk holds whole is left to its parts.
    """
    kept = tuple(term for term in terms if frequency.get(term, 0) or not is_compound(term)) or tuple(terms)
    corpus = chunks + UNSEEN_CHUNKS
    idf = tuple(math.log(1 + (corpus - n + 0.5) / (n + 0.5)) for n in (frequency.get(term, 0) for term in kept))
    return WeighedTerms(kept, tuple(map(term_hash, kept)), idf, max(mean_length, 1.0))


def keyword_score(bag: bytes, length: int, query: WeighedTerms) -> KeywordScore:
    """IDF-weighted coverage of the question's terms, and BM25 as a share of the most this question could get."""
    counts = count(bag, query.hashes)
    if not any(counts):
        return NOTHING
    damping = K1 * (1 - B + B * length / query.mean_length)
    covered = sum(idf for idf, n in zip(query.idf, counts, strict=True) if n)
    saturated = sum(idf * n / (n + damping) for idf, n in zip(query.idf, counts, strict=True) if n)
    held = tuple(term for term, n in zip(query.terms, counts, strict=True) if n)
    return KeywordScore(covered / query.total, saturated / query.total, held)


def vector_score(cosine: float, background: tuple[float, float]) -> float:
    """Standard scores above the background, as a share of `FULL_VECTOR`: negative below it, 1 at most."""
    mean, deviation = background
    return min((cosine - mean) / max(deviation, 1e-6) / FULL_VECTOR, 1.0)


def blend(vector: float | None, keyword: float, weight: float) -> float:
    """The raw score. A chunk that has no vector (yet) is judged by its words alone."""
    return keyword if vector is None else weight * vector + (1 - weight) * keyword


CENTRE, WIDTH = 0.22, 0.11
MATCH, WEAK = 0.5, 0.35
"""Scores from which an answer counts as a match, and as a weak one."""


def calibrate(raw: float) -> float:
    """Map a raw score to 0..1, monotonically (logistic): about .35 is the floor below which passages are unrelated."""
    return 1 / (1 + math.exp(-(raw - CENTRE) / WIDTH))
