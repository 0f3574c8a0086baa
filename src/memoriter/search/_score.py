"""The settings of a ranking, and the absolute score of a chunk, which only its neighbours change.

raw = w·v + (1 − w)·k^1.25, where *v* measures how far the vectors of the chunk and of its best item stand out from
those of unrelated chunks, and *k* is the share of the query's terms that the chunk contains (and, with a lower weight,
its neighbours). *w* is higher if no chunk contains the query's words. The terms are weighted by Sparck Jones' idf and
Robertson's BM25 with k1 = 1.2, b = .75 as in FTS5. The constants were measured on conversations, on encyclopaedic
questions in four languages, on eight sets of notes and on the example workspace (benchmarks/results.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from memoriter.search._cosine_baseline import CosineBaseline
from memoriter.search._terms import is_common, is_compound, is_part, needle, occurrences, unknown_numbers
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.types import QueryLine, SourceKind


VECTOR_WEIGHT = 0.35
"""w if a chunk contains the words of the query, or if no chunk has items. From .31 to .37, the share of questions about
notes whose note is among the first three hits changes by at most .003."""
MEANING_WEIGHT = 0.7
"""w if no chunk contains the words of the query, and the chunks nearest to it have items. From .65 to .8, the same
share changes by at most .005."""
FEW_WORDS = 0.3
MANY_WORDS = 0.7
"""The best coverage of a candidate up to which no chunk contains the words of the query, and from which one does."""
ITEMIZED = 0.5
"""Share of chunks with items, among the nearest, from which w depends on the words alone. Single turns of conversations
have no items, and their words say more than their vectors: LoCoMo would lose .026 nDCG@10."""
MEANING_PENALTY = 0.25
"""Subtracted from all raw scores of a query for each unit of w above `VECTOR_WEIGHT`, with which unrelated chunks score
higher, too."""
ITEM_SHARE = 0.8
"""Share of the best item in the v of a chunk that has items; the rest is the chunk's own vector."""
CONTEXT_SHARE = 0.4
"""Share of the best score among the neighbours of a chunk that is added to its own, where no chunk has items: the turn
beside the one that resembles the question often answers it. LoCoMo gains .02 nDCG@10 and .03 recall@10."""
CONTEXT_DISTANCE = 2
"""Chunks before and after that are neighbours in this sense. With one, LoCoMo gains .01 nDCG@10 less."""
CHANCE_CONTEXT = 0.24
"""The best score among the neighbours of chunks about something else. Without it, 11 % instead of 4 % of the questions
about other conversations would be called a match."""
FEW_ITEMIZED = 0.1
"""Share of chunks with items, among the nearest, from which no score of neighbours is added. Notes in lists would lose
up to .025 nDCG@10, because the items beside one are mostly about something else."""
NEIGHBOUR_SHARE = 0.5
"""Share of a term's value that a chunk gets if only a neighbour contains the term: LoCoMo gains .05 recall@10."""
ECHO_SHARE = 0.1
"""Share of a term's value that each neighbour adds if the chunk contains the term itself."""
COVERAGE_SHARE = 0.7
"""Share of coverage in k; the rest is saturation."""
KEYWORD_POWER = 1.25
"""Makes a few words that match by chance count for less than their share, so that they do not outweigh the vector."""
K1 = 1.2
B = 0.75
COMMON_SHARE = 0.05
"""Least document frequency of an everyday word, as a share of all chunks: in a few notes it may be rare by chance."""
NAME_BONUS = 0.3
"""Added to the raw score of the passages of a note whose name is the whole query: others that link to it would be first
for 11 of 24 names of the notes in a vault, which the vectors of two words hardly tell apart."""
FORM_SHARE = 0.8
"""Share of the weight of a word that a chunk gets for another form of it."""
NO_FORMS: Mapping[str, Sequence[str]] = {}
UNSEEN_CHUNKS = 100
"""Chunks added to the corpus size when idf is computed, so that even a single note has rare and common terms."""


@dataclass(frozen=True, slots=True)
class WeightedTerms:
    """A query's terms with their weights in this corpus."""

    terms: tuple[str, ...]
    needles: tuple[bytes, ...]
    idf: tuple[float, ...]
    mean_length: float
    total: float
    """Sum of all idf."""
    weights: Mapping[str, float]
    """The idf of each term, and of each form that a chunk contains."""
    links: tuple[tuple[bytes, tuple[int, ...]], ...] = ()
    """What else stands for terms of the query: forms of words, and links, because they lead to a note that has these
    terms as its name. The needle of each, and the positions of the terms."""
    has_unknown_name: bool = False
    """True if the query contains a number or numbered name (`KLP-2267`) that no chunk contains: then no chunk is a
    match."""


@dataclass(frozen=True, slots=True)
class KeywordScore:
    """k of one chunk and its parts: coverage and saturation in 0..1, the neighbours' part at most half as much."""

    coverage: float
    saturation: float
    neighbours: float
    value: float
    """k: the chunk's own coverage and saturation, and the neighbours' part."""
    matched: tuple[str, ...]
    """The query's terms that the chunk contains."""


def vector_weight(best_coverage: float, itemized: float) -> float:
    """Return w for a query."""
    wordless = min(max((MANY_WORDS - best_coverage) / (MANY_WORDS - FEW_WORDS), 0.0), 1.0)
    return VECTOR_WEIGHT + (MEANING_WEIGHT - VECTOR_WEIGHT) * wordless * min(itemized / ITEMIZED, 1.0)


def context_share(itemized: float) -> float:
    """Return the share of the neighbours' best score that is added to a chunk's, 0..`CONTEXT_SHARE`."""
    return CONTEXT_SHARE * max(1 - itemized / FEW_ITEMIZED, 0.0)


ZERO_SCORE = KeywordScore(0.0, 0.0, 0.0, 0.0, ())


def weigh(
    terms: Sequence[str],
    frequency: Mapping[str, int],
    *,
    chunks: int,
    mean_length: float,
    forms: Mapping[str, Sequence[str]] = NO_FORMS,
) -> WeightedTerms:
    """Weight each term by its idf. A term that no chunk contains weighs most, so that its absence lowers all scores.

    An identifier that no chunk contains as a whole is replaced by its parts, and parts that none contains by the whole.
    A word of which chunks contain forms gets a second place among the terms, for `FORM_SHARE` of its weight, which the
    forms stand for as well.

    Args:
        terms: the query's terms.
        frequency: chunks that contain each term and each form.
        chunks: number of chunks in the index.
        mean_length: mean length of a chunk in terms.
        forms: the forms of the terms.
    """
    absent = {term for term in terms if not frequency.get(term, 0)}
    present = {term: [form for form in forms.get(term, ()) if frequency.get(form, 0)] for term in terms}
    nowhere = [term for term in absent if not present[term]]
    replaced = {term for term in nowhere if is_compound(term, terms) or is_part(term, set(terms) - absent)}
    used = [term for term in terms if term not in replaced] or list(terms)
    present = {term: present[term] for term in used}
    unknown = [term for term in absent if not any(term in form for form in present.get(term, ()))]
    corpus = chunks + UNSEEN_CHUNKS
    idf: list[float] = []
    for term in used:
        least = COMMON_SHARE * corpus if is_common(term) else 0.0
        counts = [frequency.get(each, 0) for each in (term, *present[term])]
        n = max(least, *map(float, counts))
        idf.append(math.log(1 + (corpus - n + 0.5) / (n + 0.5)))
    weights = {each: weight for term, weight in zip(used, idf, strict=True) for each in (*present[term], term)}
    links: list[tuple[bytes, tuple[int, ...]]] = []
    for place, term in enumerate(used[:]):
        if present[term]:
            links += [(needle(each), (len(used),)) for each in (term, *present[term][1:])]
            used.append(term)
            idf.append(idf[place] * FORM_SHARE)
            idf[place] -= idf[-1]
    needles = [needle(term) for term in used[: len(present)]]
    needles += [needle(each[0]) for each in present.values() if each]
    return WeightedTerms(
        tuple(used),
        tuple(needles),
        tuple(idf),
        max(mean_length, 1.0),
        sum(idf),
        weights,
        tuple(links),
        has_unknown_name=bool(unknown and unknown_numbers(terms, unknown)),
    )


Saturations = Mapping[int, float]
"""BM25 of each term that a chunk contains, as a share of its maximum, by the term's position in the query."""


def saturations(chunks: Sequence[tuple[bytes, int]], query: WeightedTerms) -> dict[int, Saturations]:
    """Return the `Saturations` of each chunk by its position. Chunks without any of the terms are left out."""
    packed = [term_counts for term_counts, _ in chunks]
    counts_by_position = occurrences(packed, query.needles)
    linked = [link for link, _ in query.links]
    for position, links in occurrences(packed, linked).items() if linked else ():
        own = counts_by_position.setdefault(position, {})
        for term in (term for link in links for term in query.links[link][1]):
            own.setdefault(term, 1)
    damping = K1 * (1 - B), K1 * B / query.mean_length
    shares: dict[int, Saturations] = {}
    for position, counts in counts_by_position.items():
        damped = damping[0] + damping[1] * chunks[position][1]
        shares[position] = {term: n / (n + damped) for term, n in counts.items()}
    return shares


def keyword_score(own: Saturations, before: Saturations, after: Saturations, query: WeightedTerms) -> KeywordScore:
    """Return the idf-weighted coverage and saturation of the query's terms, and the neighbours' part.

    Where there is no chunk before or after, its saturations are empty.
    """
    covered = saturated = borrowed = 0.0
    for term, share in own.items():
        idf = query.idf[term]
        covered += idf
        saturated += idf * share
    for term in sorted(before.keys() | after.keys()) if before or after else ():
        left = _term_value(before.get(term))
        right = _term_value(after.get(term))
        share = ECHO_SHARE * (left + right) if term in own else NEIGHBOUR_SHARE * max(left, right)
        borrowed += share * query.idf[term]
    matched = tuple({query.terms[term]: None for term in own})
    coverage = covered / query.total
    saturation = saturated / query.total
    neighbours = borrowed / query.total
    value = COVERAGE_SHARE * coverage + (1 - COVERAGE_SHARE) * saturation + neighbours
    return KeywordScore(coverage, saturation, neighbours, value, matched)


def _term_value(saturation: float | None) -> float:
    """Return the value of one contained term before its idf, 0..1; 0 if the chunk does not contain it."""
    return COVERAGE_SHARE + (1 - COVERAGE_SHARE) * saturation if saturation else 0.0


def blend(vector: float | None, keyword: float, weight: float) -> float:
    """Return the blend of both scores, w·v + (1 − w)·k^1.25, or k^1.25 for a chunk that has no vector (yet)."""
    sharp = keyword**KEYWORD_POWER
    return sharp if vector is None else weight * vector + (1 - weight) * sharp


MATCH = 0.5
WEAK = 0.35
"""Lowest scores of a match and of a weak match."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps raw scores to 0..1, monotonically (logistic)."""

    match: float
    """Raw score that becomes `MATCH`."""
    weak: float
    """Raw score that becomes `WEAK`; chunks below it are unrelated."""

    def calibrate(self, raw: float) -> float:
        """Return the score, 0..1, for a raw score."""
        steepness = math.log((1 - WEAK) / WEAK) / (self.match - self.weak)
        return 1 / (1 + math.exp(steepness * (self.match - raw)))


WITH_VECTORS = Scale(match=0.30, weak=0.03)
KEYWORDS_ONLY = Scale(match=0.24, weak=0.02)
"""Has a lower `weak`, because without vectors a few shared words may be all that identifies the right note."""


def cap_below_match(score: float) -> float:
    """Compress a score to below `MATCH`, keeping the order; for chunks about something else of the same name."""
    return score if score <= WEAK else WEAK + 0.99 * (score - WEAK) * (MATCH - WEAK) / (1 - WEAK)


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedLine:
    """One line of a typed query, with its vector."""

    line: QueryLine
    vector: NDArray[np.float32] | None
    """(dims,), unit length; None for `lex`, and if vectors are not available: then the line is not searched."""


@dataclass(frozen=True, slots=True, eq=False)
class TypedQuery:
    """The lines of a typed query, as they are searched."""

    lines: Sequence[EmbeddedLine]
    intent: str = ""


Scoring = Literal["calibrated", "rrf", "classic"]


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Settings of a search. Every field has the default of a fresh installation."""

    max_results: int = 6
    min_score: float = 0.35
    scoring: Scoring = "calibrated"
    hybrid: bool = True
    """False uses the vector retriever only, if it is available."""
    vector_weight: float | None = None
    """Weight relative to `text_weight`, 0..1; `None` uses the measured weight of the scoring."""
    text_weight: float | None = None
    candidate_multiplier: int = 4
    mmr_lambda: float | None = None
    """`None` turns MMR off."""
    half_life_days: float | None = None
    """`None` turns decay off."""
    background: CosineBaseline = field(default_factory=lambda: CosineBaseline.of_model((0.0, 0.1)))
    """Similarity of unrelated chunks."""
    max_per_note: int | None = None
    """Most hits of one note if other notes have any; `None`: no limit. Classic scoring has none."""
    kinds: tuple[SourceKind, ...] = ()
    """Kinds of sources that share the hits, if there are several."""

    @property
    def fixed_weight(self) -> float | None:
        """Weight of the vector score in the calibrated score, 0..1; None if it depends on the query."""
        vector = self.vector_weight
        text = self.text_weight
        if not self.hybrid:
            return 1.0
        if vector is None and text is None:
            return None
        vector = 1 - (text or 0.0) if vector is None else vector
        text = 1 - vector if text is None else text
        return vector / (vector + text) if vector + text > 0 else None

    @property
    def classic_weights(self) -> tuple[float, float]:
        """Vector and text weight of classic scoring; their sum is 1."""
        vector = 0.7 if self.vector_weight is None else self.vector_weight
        text = 0.3 if self.text_weight is None else self.text_weight
        total = vector + text
        return (vector / total, text / total) if total > 0 else (0.7, 0.3)

    @property
    def candidates(self) -> int:
        """Number of chunks that each retriever may propose, 1..200."""
        return min(max(self.max_results * self.candidate_multiplier, 1), 200)
