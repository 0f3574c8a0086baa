"""The baseline of cosines between unrelated chunks, and scores of how far a chunk stands out from it for a query.

Raw cosines of different models are not comparable, and every model puts texts of one language close together. The
writing system is a coarse stand-in for the language. The vector retriever therefore compares centred vectors: it
subtracts the mean of the chunks in the same script from the chunk, and half of it from the query (so that chunks which
are near everything rank lower); for the bundled model, less of it, and a share of the mean of general questions.
The means come from a sample with a few chunks of each file (`records.sampled`), so that no note decides them alone.
Measured with the bundled model, before questions were subtracted: LoCoMo nDCG@10 of the vectors alone rises from .36 to
.41; of 12 queries in another language than their note, 10 instead of 4 find it in the first three hits.
"""

from __future__ import annotations

import base64
import json
import re
from functools import cache
from typing import TYPE_CHECKING

from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.types import ScriptBaselines

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


def measure(
    texts: Sequence[str], vectors: NDArray[np.float32], figures: tuple[float, float], *, seed: int = 0
) -> CosineBaseline:
    """Measure the baseline of a corpus from a sample of its chunks.

    Args:
        texts: texts of n chunks, for their scripts.
        vectors: vectors of the same chunks (n, dims), unit length.
        figures: the model's own mean cosine of unrelated texts and its standard deviation.
        seed: seed of the draw of pairs; the same chunks in the same order give the same baseline.
    """
    import numpy as np

    if len(vectors) < 2:
        return CosineBaseline.of_model(figures)
    scripts = [script_of(text) for text in texts]
    left, right = _draw_pairs(len(vectors), seed)
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


def _draw_pairs(count: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw pairs of different rows at random."""
    import numpy as np

    draw = np.random.default_rng(seed)
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
