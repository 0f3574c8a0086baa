"""The settings of a ranking, and the absolute score of a chunk, which only its neighbours change.

raw = w·v + (1 − w)·k^1.25, where *v* measures how far the vectors of the chunk and of its best item stand out from
those of unrelated chunks, and *k* is the share of the query's terms that the chunk contains (and, with a lower weight,
its neighbours). *w* is higher if no chunk contains the query's words. The terms are weighted by Sparck Jones' idf and
Robertson's BM25 with k1 = 1.2, b = .75 as in FTS5. The constants were measured on conversations, on encyclopaedic
questions in four languages, on eight sets of notes and on the example workspace (benchmarks/results.md).

Raw cosines of different models are not comparable, and every model puts texts of one language close together. The
writing system is a coarse stand-in for the language. The vector retriever therefore compares centred vectors: it
subtracts the mean of the chunks in the same script from the chunk, and half of it from the query (so that chunks which
are near everything rank lower); for the bundled model, less of it, and a share of the mean of general questions.
The means come from a sample with a few chunks of each file (`records.sampled`), so that no note decides them alone.
Measured with the bundled model, before questions were subtracted: LoCoMo nDCG@10 of the vectors alone rises from .36 to
.41; of 12 queries in another language than their note, 10 instead of 4 find it in the first three hits.

By decay, which is off by default, dated notes and transcripts lose score with age, and evergreen notes do not.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from functools import cache
from typing import TYPE_CHECKING, Literal

from memoriter.search._terms import is_common, is_compound, is_part, needle, occurrences, unknown_numbers
from memoriter.times import path_date
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.types import QueryLine, ScriptBaselines, SourceKind


_RANGES = {
    "hangul": "\uac00-\ud7a3\u1100-\u11ff\u3131-\u318e",
    "kana": "\u3041-\u30ff\u31f0-\u31ff",
    "han": "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff",
    "cyrillic": "\u0400-\u052f",
    "arabic": "\u0600-\u06ff\u0750-\u077f",
    "devanagari": "\u0900-\u097f",
    "thai": "\u0e00-\u0e7f",
}
_WORDS = re.compile(r"[A-Za-z\u00c0-\u024f]+")
_LETTERS_PER_WORD = 2.0
"""Average length of a word in an ideographic or syllabic script."""
_JAPANESE_SHARE = 0.15
"""Least share of kana among kana and ideographs in a Japanese text."""


def script_of(text: str) -> str:
    """Return the script of most words: `latin`, `hangul`, `kana` (Japanese), `han` (Chinese) and so on."""
    if text.isascii():
        return "latin"
    words = {name: len(pattern.findall(text)) / _LETTERS_PER_WORD for name, pattern in _patterns().items()}
    ideographic = words["kana"] + words["han"]
    japanese = words["kana"] >= 1 and words["kana"] >= _JAPANESE_SHARE * ideographic
    words["kana"], words["han"] = (ideographic, 0.0) if japanese else (0.0, ideographic)
    words["latin"] = float(len(_WORDS.findall(text)))
    return max(words, key=lambda name: (words[name], name == "latin"))


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {name: re.compile(f"[{span}]") for name, span in _RANGES.items()}


SAMPLING = 2
"""The number of the way in which chunks are sampled. Raise it when others are chosen from the same notes."""
PAIRS = 8_000
"""Pairs of chunks in the sample."""
PRIOR_CHUNKS = 10.0
"""Weight of the model's own figures, in chunks of each script, so that a handful of notes does not dominate."""
PRIOR_PAIRS = 200.0
"""Weight of the prior deviation, in pairs."""
NEAR_DUPLICATE_SHARE = 0.005
"""Share of the most similar pairs that are left out."""
SCRIPT_SHARE = 0.8
"""Weight of the script's mean in a group's centre. The rest is the mean of all chunks, because the answer to a query is
a little more likely to be in its own language."""
QUERY_SHARE = 0.5
"""Share of the centre of the query's script that is subtracted from the query."""
PASSAGE_CENTRE_SHARE = 0.25
QUESTION_CENTRE_SHARE = 0.2
"""Shares of the centres of chunks and of general questions that are subtracted instead, if the model's questions are
known: chunks near any question rank lower. `scripts/ranking_constants.py` measures other shares."""
FULL_SCORE_DEVIATIONS = 6.0
"""Standard deviations above the baseline that count as a perfect vector match."""


@dataclass(frozen=True, slots=True)
class Group:
    """The chunks of one script."""

    mean: NDArray[np.float32]
    """Centre, (dims,)."""
    chunks: int
    spread: float
    """Standard deviation of the centred product of unrelated pairs."""
    share: float = field(init=False, compare=False)
    """Weight of the measured mean against the model's own figures, 0..1."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", self.chunks / (self.chunks + PRIOR_CHUNKS))


@dataclass(frozen=True, slots=True)
class CosineBaseline:
    """Similarity of unrelated chunks under one model.

    It is measured on the corpus, and completed by the model's own figures where the corpus has too few chunks.
    """

    cosine: float
    """Mean cosine of unrelated texts."""
    spread: float
    """Standard deviation of the centred product, for scripts without a group."""
    groups: Mapping[str, Group]
    """Measured groups by script."""
    questions: Mapping[str, NDArray[np.float32]] = field(
        default_factory=dict[str, "NDArray[np.float32]"], compare=False
    )
    """Centres (dims,) of general questions by script, as far as they are known for the model."""
    content: str = field(default="", compare=False)
    """The name of the content it was measured on; empty if nothing was measured, or not from such a sample as today."""

    @property
    def figures(self) -> tuple[float, float]:
        """Mean cosine of unrelated chunks, and the standard deviation of their centred products."""
        return self.cosine, self.spread

    @classmethod
    def of_model(cls, figures: tuple[float, float]) -> CosineBaseline:
        """Return the baseline of an empty corpus, from the model's mean cosine and its standard deviation."""
        mean, deviation = figures
        return cls(mean, max(deviation, 1e-6), {})

    def vector_scores(
        self, question: str, query: NDArray[np.float32], scripts: Sequence[str], vectors: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """Return how far each chunk stands out for the query: 0 at the baseline, 1 for a perfect match; -1..1.

        Args:
            question: text of the query, for its script.
            query: vector of the query (dims,), unit length.
            scripts: scripts of the n chunks.
            vectors: vectors of the chunks (n, dims), unit length.
        """
        import numpy as np

        query_script = script_of(question)
        query_group = self.groups.get(query_script)
        places = {script: place for place, script in enumerate(dict.fromkeys(scripts))}
        figures = np.array([self._script_figures(query_group, script, query) for script in places]).reshape(-1, 3)
        from_query, between, spread = figures[[places[script] for script in scripts]].T
        from_chunks = self._centre_products(query_group, vectors) - between
        products = _dots(vectors, query) - from_query
        if (centre := self.questions.get(query_script)) is None:
            products -= QUERY_SHARE * from_chunks
        else:
            levels = {script: float(self._centre_products(self.groups.get(script), centre)) for script in places}
            from_questions = _dots(vectors, centre) - np.array([levels[script] for script in scripts])
            products -= PASSAGE_CENTRE_SHARE * from_chunks + QUESTION_CENTRE_SHARE * from_questions
        return np.clip(products / spread / FULL_SCORE_DEVIATIONS, -1.0, 1.0)

    def _script_figures(
        self, query_group: Group | None, script: str, query: NDArray[np.float32]
    ) -> tuple[float, float, float]:
        """Return the product of the query and the script's centre, the product of both centres, and the spread."""
        group = self.groups.get(script)
        spread = group.spread if group else self.spread
        return float(self._centre_products(group, query)), self._centre_product(query_group, group), spread

    def products(
        self, query_script: str, queries: NDArray[np.float32], script: str, vectors: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """Return the centred products of queries in one script and chunks in one script, row by row.

        Args:
            query_script: script of the queries.
            queries: vectors of the queries (n, dims) or (1, dims), unit length.
            script: script of the chunks.
            vectors: vectors of the chunks (n, dims), unit length.
        """
        import numpy as np

        query_group = self.groups.get(query_script)
        group = self.groups.get(script)
        raw = np.einsum("ij,ij->i", np.broadcast_to(queries, vectors.shape), vectors)
        from_query = self._centre_products(group, queries)
        from_chunks = self._centre_products(query_group, vectors) - self._centre_product(query_group, group)
        return np.asarray(raw - from_query - QUERY_SHARE * from_chunks, dtype=np.float64)

    def levels(self, query: NDArray[np.float32]) -> ScriptBaselines | None:
        """Return mean and deviation of the query's cosines in each script, or None if only one script was measured."""
        if len(self.groups) < 2:
            return None
        baselines = {
            script: (float(self._centre_products(group, query)), group.spread) for script, group in self.groups.items()
        }
        return {**baselines, "": (self.cosine, self.spread)}

    def _centre_products(self, group: Group | None, vectors: NDArray[np.float32]) -> NDArray[np.float32] | float:
        """Return products with a group's centre: its mean, mixed with the model's mean cosine if it has few chunks."""
        if group is None:
            return self.cosine
        return group.share * _dots(vectors, group.mean) + (1 - group.share) * self.cosine

    def _centre_product(self, left: Group | None, right: Group | None) -> float:
        if left is None or right is None:
            return self.cosine
        share = left.share * right.share
        return share * float(left.mean @ right.mean) + (1 - share) * self.cosine

    def dumps(self) -> str:
        """Return the baseline as JSON, which the index stores."""
        groups = {
            name: [base64.b64encode(group.mean.astype("<f4").tobytes()).decode(), group.chunks, group.spread]
            for name, group in self.groups.items()
        }
        return json.dumps(
            {
                "sampling": SAMPLING,
                "content": self.content,
                "cosine": self.cosine,
                "spread": self.spread,
                "groups": groups,
            }
        )

    @classmethod
    def loads(cls, text: str) -> CosineBaseline:
        """Return the baseline from the text that `dumps` wrote."""
        import numpy as np

        stored = json.loads(text)
        groups = {
            name: Group(np.frombuffer(base64.b64decode(mean), "<f4"), int(chunks), float(spread))
            for name, (mean, chunks, spread) in stored["groups"].items()
        }
        content = str(stored.get("content", "")) if stored.get("sampling") == SAMPLING else ""
        return cls(float(stored["cosine"]), float(stored["spread"]), groups, content=content)


def measure(texts: Sequence[str], vectors: NDArray[np.float32], figures: tuple[float, float]) -> CosineBaseline:
    """Measure the baseline of a corpus from a sample of its chunks: the same for the same chunks in the same order.

    Args:
        texts: texts of n chunks, for their scripts.
        vectors: vectors of the same chunks (n, dims), unit length.
        figures: the model's own mean cosine of unrelated texts and its standard deviation.
    """
    import numpy as np

    if len(vectors) < 2:
        return CosineBaseline.of_model(figures)
    scripts = [script_of(text) for text in texts]
    left, right = _draw_pairs(len(vectors))
    cosines = np.einsum("ij,ij->i", vectors[left], vectors[right]).astype(np.float64)
    kept = cosines <= np.quantile(cosines, 1 - NEAR_DUPLICATE_SHARE)
    left = left[kept]
    right = right[kept]
    share = len(vectors) / (len(vectors) + PRIOR_CHUNKS)
    prior = CosineBaseline.of_model((share * float(cosines[kept].mean()) + (1 - share) * figures[0], figures[1]))
    centred = CosineBaseline(prior.cosine, prior.spread, _group_by_script(scripts, vectors, prior.spread))
    products = _pair_products(centred, scripts, vectors, left, right)
    overall = _shrunk_deviation(products, prior.spread)
    spreads = {
        name: _shrunk_deviation(products[[scripts[row] == name for row in right]], overall) for name in centred.groups
    }
    groups = {name: Group(group.mean, group.chunks, spreads[name]) for name, group in centred.groups.items()}
    return CosineBaseline(prior.cosine, overall, groups)


def _dots(vectors: NDArray[np.float32], vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return products with one vector, without BLAS, whose threads cost more here than they save."""
    import numpy as np

    return np.einsum("...j,j->...", vectors, vector)


def _draw_pairs(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw pairs of different rows, from a fixed random state."""
    import numpy as np

    draw = np.random.default_rng(0)
    left = draw.integers(0, count, PAIRS)
    return left, (left + draw.integers(1, count, PAIRS)) % count


def _group_by_script(scripts: Sequence[str], vectors: NDArray[np.float32], spread: float) -> dict[str, Group]:
    import numpy as np

    names = np.array(scripts)
    vectors_by_script = {name: vectors[names == name] for name in sorted(set(scripts))}
    rest = (1 - SCRIPT_SHARE) * vectors.mean(axis=0)
    return {
        name: Group(SCRIPT_SHARE * rows.mean(axis=0) + rest, len(rows), spread)
        for name, rows in vectors_by_script.items()
    }


def _pair_products(
    baseline: CosineBaseline,
    scripts: Sequence[str],
    vectors: NDArray[np.float32],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the centred products of pairs; each left chunk takes the part of a query."""
    import numpy as np

    left_scripts = np.array(scripts)[left]
    right_scripts = np.array(scripts)[right]
    products = np.zeros(len(left))
    for left_script in baseline.groups:
        for right_script in baseline.groups:
            rows = np.flatnonzero((left_scripts == left_script) & (right_scripts == right_script))
            products[rows] = baseline.products(left_script, vectors[left[rows]], right_script, vectors[right[rows]])
    return products


def _shrunk_deviation(products: NDArray[np.float64], prior: float) -> float:
    """Return the standard deviation, shrunk towards the prior if there are few pairs."""
    pairs = len(products)
    variance = float(products.var()) if pairs else 0.0
    return ((pairs * variance + PRIOR_PAIRS * prior**2) / (pairs + PRIOR_PAIRS)) ** 0.5


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


SECONDS_PER_DAY = 86_400.0


def is_evergreen(path: str) -> bool:
    """Return whether a path is a memory note without a date. Such a note states facts, not events."""
    return is_memory_path(path) and path_date(path) is None


def decay_rate(half_life_days: float) -> float:
    """Return λ = ln 2 / half-life, per day, or 0 for a half-life that is not a positive finite number."""
    return math.log(2) / half_life_days if math.isfinite(half_life_days) and half_life_days > 0 else 0.0


def decay(age_days: float, half_life_days: float) -> float:
    """Return e^(−λ·age), or 1 for the future and for ages that are not finite numbers."""
    rate = decay_rate(half_life_days)
    return math.exp(-rate * max(age_days, 0.0)) if rate and math.isfinite(age_days) else 1.0


def start_of(day: date) -> float:
    """Return the first moment of a day (UTC), in seconds since 1970."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


def age_in_days(since: float, now: float) -> float:
    """Return the days between two moments (seconds since 1970), at least 0."""
    return max(now - since, 0.0) / SECONDS_PER_DAY


def is_memory_path(path: str) -> bool:
    normal = normalize_path(path)
    return normal in {"MEMORY.md", "memory.md"} or normal.startswith("memory/")


def normalize_path(path: str) -> str:
    return re.sub(r"^(?:\./)+", "", path.replace("\\", "/"))


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
