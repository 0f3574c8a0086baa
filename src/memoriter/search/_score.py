"""One absolute score: what a passage is worth for a question, whatever else was found.

raw = w·v + (1 − w)·k^1.25, where *v* says how far the vector stands out from those of unrelated passages and *k* how
much of the question's words the passage (and a little of its neighbours) holds. Sparck Jones' idf and Robertson's BM25
with k1 = 1.2, b = .75 as in FTS5; the constants were measured on conversations, on encyclopaedic questions in four
languages and on the example workspace (`just eval`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoriter.search._term_counts import needle, occurrences
from memoriter.search._terms import is_common, is_compound, is_numbered

if TYPE_CHECKING:
    from collections.abc import Sequence

VECTOR_WEIGHT = 0.35
"""w: flat within .004 nDCG@10 from .3 to .4 on every set."""
NEIGHBOUR_SHARE = 0.5
"""How much of a term that a chunk lacks counts where the chunk before or after holds it: LoCoMo gains .05 recall@10."""
ECHO_SHARE = 0.1
"""How much each neighbour adds for a term that the chunk holds itself."""
COVERAGE_SHARE = 0.7
KEYWORD_POWER = 1.25
"""A few chance words count for less than their share, so that they do not drag a question away from its meaning."""
K1, B = 1.2, 0.75
COMMON_SHARE = 0.05
"""An everyday word is taken to be in this share of all chunks at least: few notes may use it rarely by chance."""
UNSEEN_CHUNKS = 100
"""Added to the corpus when a term's rarity is judged, so that one note alone has rare and common words too."""


@dataclass(frozen=True, slots=True)
class WeightedTerms:
    """A question's terms with what each is worth in this corpus."""

    terms: tuple[str, ...]
    needles: tuple[bytes, ...]
    idf: tuple[float, ...]
    mean_length: float
    total: float
    """The sum of all idf."""
    has_unknown_name: bool = False
    """Whether the question names something by a number (`KLP-2267`) that no chunk holds: then nothing is a match."""


@dataclass(frozen=True, slots=True)
class KeywordScore:
    """k of one chunk and the parts it is made of: coverage and saturation 0..1, what is lent at most half as much."""

    coverage: float
    saturation: float
    neighbours: float
    matched: tuple[str, ...]

    @property
    def value(self) -> float:
        """k: what the chunk holds itself, and what the chunks around it add."""
        return COVERAGE_SHARE * self.coverage + (1 - COVERAGE_SHARE) * self.saturation + self.neighbours


ZERO_SCORE = KeywordScore(0.0, 0.0, 0.0, ())


def weigh(terms: Sequence[str], frequency: Mapping[str, int], *, chunks: int, mean_length: float) -> WeightedTerms:
    """Give each term its idf; a term that no chunk holds weighs most, so that missing it counts.

    An identifier that no chunk holds whole is left to its parts.
    """
    absent = [term for term in terms if is_compound(term) and not frequency.get(term, 0)]
    kept = tuple(term for term in terms if term not in absent) or tuple(terms)
    corpus = chunks + UNSEEN_CHUNKS
    least = {term: COMMON_SHARE * corpus if is_common(term) else 0.0 for term in kept}
    seen = (max(float(frequency.get(term, 0)), least[term]) for term in kept)
    idf = tuple(math.log(1 + (corpus - n + 0.5) / (n + 0.5)) for n in seen)
    return WeightedTerms(
        kept,
        tuple(map(needle, kept)),
        idf,
        max(mean_length, 1.0),
        sum(idf),
        any(map(is_numbered, absent)),
    )


Saturations = Mapping[int, float]
"""BM25 of each term that a chunk holds, as a share of the most it could be, by the term's position in the question."""


def saturations(chunks: Sequence[tuple[bytes, int]], query: WeightedTerms) -> dict[int, Saturations]:
    """The `Saturations` of each chunk, given by its bag and its length in terms; chunks without any term are absent."""
    found = occurrences([bag for bag, _ in chunks], query.needles)
    damping = K1 * (1 - B), K1 * B / query.mean_length
    shares: dict[int, Saturations] = {}
    for position, counts in found.items():
        damped = damping[0] + damping[1] * chunks[position][1]
        shares[position] = {term: n / (n + damped) for term, n in counts.items()}
    return shares


def keyword_score(own: Saturations, before: Saturations, after: Saturations, query: WeightedTerms) -> KeywordScore:
    """IDF-weighted coverage and saturation of the question's terms, and what the neighbours lend.

    Args:
        own: those of the chunk.
        before: those of the chunk before it in its source; empty if there is none.
        after: those of the chunk after it.
        query: the terms with their weights.
    """
    covered = saturated = lent = 0.0
    for term, share in own.items():
        idf = query.idf[term]
        covered += idf
        saturated += idf * share
    for term in sorted(before.keys() | after.keys()) if before or after else ():
        left, right = _term_value(before.get(term)), _term_value(after.get(term))
        share = ECHO_SHARE * (left + right) if term in own else NEIGHBOUR_SHARE * max(left, right)
        lent += share * query.idf[term]
    held = tuple([query.terms[term] for term in own])
    return KeywordScore(covered / query.total, saturated / query.total, lent / query.total, held)


def _term_value(saturation: float | None) -> float:
    """What holding one term is worth, 0..1; nothing where it is not held."""
    return COVERAGE_SHARE + (1 - COVERAGE_SHARE) * saturation if saturation else 0.0


def blend(vector: float | None, keyword: float, weight: float) -> float:
    """The raw score: w·v + (1 − w)·k^1.25. A chunk that has no vector (yet) is judged by its words alone."""
    sharp = keyword**KEYWORD_POWER
    return sharp if vector is None else weight * vector + (1 - weight) * sharp


MATCH, WEAK = 0.5, 0.35
"""Scores from which an answer counts as a match, and as a weak one."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps raw scores to 0..1, monotonically (logistic)."""

    match: float
    """The raw score that becomes `MATCH`."""
    weak: float
    """The raw score that becomes `WEAK`: below it, passages are unrelated."""

    def calibrate(self, raw: float) -> float:
        """The score of a raw score, 0..1."""
        steepness = math.log((1 - WEAK) / WEAK) / (self.match - self.weak)
        return 1 / (1 + math.exp(steepness * (self.match - raw)))


WITH_VECTORS = Scale(match=0.24, weak=0.04)
KEYWORDS_ONLY = Scale(match=0.24, weak=0.02)
"""Without vectors a few shared words are all there may be of the right note."""


def cap_below_match(score: float) -> float:
    """A score drawn below `MATCH`, in the same order: for passages that are about something else of the same name."""
    return score if score <= WEAK else WEAK + 0.99 * (score - WEAK) * (MATCH - WEAK) / (1 - WEAK)
