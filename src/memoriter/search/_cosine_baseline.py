"""What unrelated chunks look like to the model, and how far a chunk stands out from them for a question.

Raw cosines of different models mean different things, and every model puts texts of one language close together. So the
vector leg judges what is left when both sides are centred: by the mean of the chunks in the same script, the question
by half of it (so that chunks which are near everything lose). Measured with the bundled model: LoCoMo nDCG@10 of the
vectors alone .36 -> .41; of 12 questions in another language than their note, 10 instead of 4 find it in three hits.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoriter.search._script import script_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.types import ScriptBaselines

PAIRS = 8_000
PRIOR_CHUNKS = 10.0
"""The model's own figures count as so many chunks of each script, so that a handful of notes does not decide."""
PRIOR_PAIRS = 200.0
NEAR_DUPLICATE_SHARE = 0.005
"""Share of the most similar pairs that is left out."""
SCRIPT_SHARE = 0.8
"""How much of a centre is that of the script; the rest is that of all chunks, since a question is a little more likely
to be answered in its own language."""
QUERY_SHARE = 0.5
"""How much of its script's centre is taken out of the question."""
FULL_SCORE_DEVIATIONS = 6.0
"""Standard deviations above the background that count as a perfect match of meaning."""


@dataclass(frozen=True, slots=True)
class Group:
    """The chunks of one script."""

    mean: NDArray[np.float32]
    """The centre, (dims,)."""
    chunks: int
    spread: float
    """Standard deviation of the centred product of unrelated pairs."""

    @property
    def share(self) -> float:
        """How much the measured mean counts against the model's own figures, 0..1."""
        return self.chunks / (self.chunks + PRIOR_CHUNKS)


@dataclass(frozen=True, slots=True)
class CosineBaseline:
    """Unrelated chunks under one model: measured on the corpus, and the model's own figures where it has too few."""

    cosine: float
    """Mean cosine of unrelated texts."""
    spread: float
    """Standard deviation of the centred product, for scripts without a group."""
    groups: Mapping[str, Group]

    @property
    def figures(self) -> tuple[float, float]:
        """Mean cosine of unrelated chunks, and the deviation of their centred products."""
        return self.cosine, self.spread

    @classmethod
    def of_model(cls, figures: tuple[float, float]) -> CosineBaseline:
        """The background before any chunk is known, from the model's mean cosine and its deviation."""
        mean, deviation = figures
        return cls(mean, max(deviation, 1e-6), {})

    def vector_scores(
        self, question: str, query: NDArray[np.float32], scripts: Sequence[str], vectors: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """How far each chunk stands out for the question: 0 at the background, 1 for a perfect match; -1..1.

        Args:
            question: the text, for its script.
            query: its vector (dims,), unit length.
            scripts: of the n chunks.
            vectors: of the chunks (n, dims), unit length.
        """
        import numpy as np

        asked = script_of(question)
        own = self.groups.get(asked)
        known = {script: self._script_figures(own, script, query) for script in dict.fromkeys(scripts)}
        from_query, between, spread = np.array([known[script] for script in scripts]).reshape(-1, 3).T
        from_chunks = self._centre_products(own, vectors) - between
        products = _dots(vectors, query) - from_query - QUERY_SHARE * from_chunks
        return np.clip(products / spread / FULL_SCORE_DEVIATIONS, -1.0, 1.0)

    def _script_figures(self, own: Group | None, script: str, query: NDArray[np.float32]) -> tuple[float, float, float]:
        """The question's product with the script's centre, that of both centres with each other, and the spread."""
        group = self.groups.get(script)
        spread = group.spread if group else self.spread
        return float(self._centre_products(group, query)), self._centre_product(own, group), spread

    def products(
        self, asked: str, queries: NDArray[np.float32], script: str, vectors: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """Centred products of questions in one script with chunks in one script, row by row.

        Args:
            asked: the questions' script.
            queries: (n, dims) or (1, dims), unit length.
            script: the chunks' script.
            vectors: (n, dims), unit length.
        """
        import numpy as np

        own, group = self.groups.get(asked), self.groups.get(script)
        raw = np.einsum("ij,ij->i", np.broadcast_to(queries, vectors.shape), vectors)
        from_query = self._centre_products(group, queries)
        from_chunks = self._centre_products(own, vectors) - self._centre_product(own, group)
        return np.asarray(raw - from_query - QUERY_SHARE * from_chunks, dtype=np.float64)

    def levels(self, query: NDArray[np.float32]) -> ScriptBaselines | None:
        """What the question's cosines mean in each script; None where chunks in one script only were measured."""
        if len(self.groups) < 2:
            return None
        known = {
            script: (float(self._centre_products(group, query)), group.spread) for script, group in self.groups.items()
        }
        return {**known, "": (self.cosine, self.spread)}

    def _centre_products(self, group: Group | None, vectors: NDArray[np.float32]) -> NDArray[np.float32] | float:
        """Products with a group's centre: its mean as far as it is known, else the model's mean cosine."""
        if group is None:
            return self.cosine
        return group.share * _dots(vectors, group.mean) + (1 - group.share) * self.cosine

    def _centre_product(self, left: Group | None, right: Group | None) -> float:
        if left is None or right is None:
            return self.cosine
        share = left.share * right.share
        return share * float(left.mean @ right.mean) + (1 - share) * self.cosine

    def dumps(self) -> str:
        """As text, for the index to remember."""
        groups = {
            name: [base64.b64encode(group.mean.astype("<f4").tobytes()).decode(), group.chunks, group.spread]
            for name, group in self.groups.items()
        }
        return json.dumps({"cosine": self.cosine, "spread": self.spread, "groups": groups})

    @classmethod
    def loads(cls, text: str) -> CosineBaseline:
        """What `dumps` wrote."""
        import numpy as np

        stored = json.loads(text)
        groups = {
            name: Group(np.frombuffer(base64.b64decode(mean), "<f4"), int(chunks), float(spread))
            for name, (mean, chunks, spread) in stored["groups"].items()
        }
        return cls(float(stored["cosine"]), float(stored["spread"]), groups)


def measure(
    texts: Sequence[str], vectors: NDArray[np.float32], figures: tuple[float, float], *, seed: int = 0
) -> CosineBaseline:
    """The background of a corpus, from a sample of its chunks.

    Args:
        texts: of n chunks, for their scripts.
        vectors: of the same chunks (n, dims), unit length.
        figures: the model's own mean cosine of unrelated texts and its deviation.
        seed: of the draw of pairs; the same chunks in the same order give the same background.
    """
    import numpy as np

    if len(vectors) < 2:
        return CosineBaseline.of_model(figures)
    scripts = [script_of(text) for text in texts]
    left, right = _draw_pairs(len(vectors), seed)
    cosines = np.einsum("ij,ij->i", vectors[left], vectors[right]).astype(np.float64)
    kept = cosines <= np.quantile(cosines, 1 - NEAR_DUPLICATE_SHARE)
    left, right = left[kept], right[kept]
    share = len(vectors) / (len(vectors) + PRIOR_CHUNKS)
    start = CosineBaseline.of_model((share * float(cosines[kept].mean()) + (1 - share) * figures[0], figures[1]))
    rough = CosineBaseline(start.cosine, start.spread, _group_by_script(scripts, vectors, start.spread))
    products = _pair_products(rough, scripts, vectors, left, right)
    overall = _shrunk_deviation(products, start.spread)
    spreads = {
        name: _shrunk_deviation(products[[scripts[row] == name for row in right]], overall) for name in rough.groups
    }
    groups = {name: Group(group.mean, group.chunks, spreads[name]) for name, group in rough.groups.items()}
    return CosineBaseline(start.cosine, overall, groups)


def _dots(vectors: NDArray[np.float32], vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Products with one vector, without BLAS, whose threads cost more here than they do."""
    import numpy as np

    return np.einsum("...j,j->...", vectors, vector)


def _draw_pairs(count: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of different rows, drawn at random."""
    import numpy as np

    draw = np.random.default_rng(seed)
    left = draw.integers(0, count, PAIRS)
    return left, (left + draw.integers(1, count, PAIRS)) % count


def _group_by_script(scripts: Sequence[str], vectors: NDArray[np.float32], spread: float) -> dict[str, Group]:
    import numpy as np

    names = np.array(scripts)
    chosen = {name: vectors[names == name] for name in sorted(set(scripts))}
    rest = (1 - SCRIPT_SHARE) * vectors.mean(axis=0)
    return {name: Group(SCRIPT_SHARE * rows.mean(axis=0) + rest, len(rows), spread) for name, rows in chosen.items()}


def _pair_products(
    background: CosineBaseline,
    scripts: Sequence[str],
    vectors: NDArray[np.float32],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The centred products of pairs, each left chunk standing in for a question."""
    import numpy as np

    asked, found = np.array(scripts)[left], np.array(scripts)[right]
    products = np.zeros(len(left))
    for question in background.groups:
        for script in background.groups:
            rows = np.flatnonzero((asked == question) & (found == script))
            products[rows] = background.products(question, vectors[left[rows]], script, vectors[right[rows]])
    return products


def _shrunk_deviation(products: NDArray[np.float64], prior: float) -> float:
    """Standard deviation, drawn towards the prior where there are few pairs."""
    pairs = len(products)
    variance = float(products.var()) if pairs else 0.0
    return ((pairs * variance + PRIOR_PAIRS * prior**2) / (pairs + PRIOR_PAIRS)) ** 0.5
