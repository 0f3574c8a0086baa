"""How certain it is that a passage answers a query, measured against questions that no passage answers.

The certainty of a query is a score of the passage nearest to it in meaning, in standard deviations of the same score
for `FOREIGN_QUESTIONS` (cohort normalization, as in Auckenthaler, Carey and Lloyd-Thomas 2000, "Score normalization for
text-independent speaker verification systems"). A passage that is near everything therefore needs a higher score.
`PEAK_WEIGHT` adds how far the passage stands out from the next ones.

An answer is a match if its certainty exceeds a threshold. The threshold is the k-th smallest certainty of the n foreign
questions in the script of the query, k = ⌈(n + 1)(1 - rate)⌉. If a foreign question is like those n, it is called a
match with at most that rate (split conformal prediction: Papadopoulos, Proedrou, Vovk and Gammerman 2002, "Inductive
confidence machines for regression"). Each of the n questions is scored against the others. A question beyond Tukey's
outer limit (1.5 interquartile ranges above the upper quartile) is left out, because the notes are about its topic.

`scripts/certainty.py` prints the figures behind the constants.
"""

from __future__ import annotations

import base64
import json
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING, Any

from memoriter.search._cosine_baseline import script_of
from memoriter.search._score import ITEM_SHARE
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.search._candidates import Candidates
    from memoriter.search._cosine_baseline import CosineBaseline
    from memoriter.search._inputs import Reader

PEAK_WEIGHT = 0.7
"""Weight of the deviations by which the nearest passage stands out from the next ones."""
NEAREST = 24
"""Passages among which the nearest one stands out."""
SPREAD_SHARE = 0.5
"""Share of the mean variance of all passages in the variance of one: the foreign questions are few."""
LEAST_DEVIATION = 0.02
"""Added to the deviation of the next passages, which can be almost equal."""
LOWEST_RATE, HIGHEST_RATE = 0.03, 0.5
"""Range of the rate of false matches. A lower one needs more foreign questions in each script."""
OUTLIER_RANGES = 1.5
"""Interquartile ranges above the upper quartile beyond which the notes are about a foreign question's topic."""
USUAL_SHARE = 0.6
"""Factor of the rate for the questions that are left: outliers include a few that are only unusual by chance."""
SHOWN_RATE = 0.7
"""Share of the foreign questions that may have hits: right answers differ less from them than matches do."""


@dataclass(frozen=True, slots=True, eq=False)
class ForeignQuestions:
    """Questions that no passage answers, with their vectors, and what is known of their scores in one index."""

    scripts: tuple[str, ...]
    """Script of each of the n questions."""
    vectors: NDArray[np.float32]
    """(n, dims)."""
    variance: float
    """Mean variance of the scores of a passage for these questions."""

    def certainty(
        self, candidates: Candidates, reader: Reader, baseline: CosineBaseline, *, skip: int | None = None
    ) -> float | None:
        """Return the certainty of a query, or None if no passage near it has a vector, also not any more.

        Args:
            candidates: the candidates for the query.
            reader: the index.
            baseline: similarity of unrelated chunks.
            skip: position of the foreign question that the query is, which is not compared with itself.
        """
        scores, ranking = candidates.vector_scores, candidates.vector_ranking
        near = sorted([(scores[row], row) for row in ranking if row in scores], reverse=True)[:NEAREST]
        if not near:
            return None
        score, row = near[0]
        foreign = self._scores_of(row, candidates.scoring_rows[row].script, reader, baseline)
        if foreign is None:
            return None
        if skip is not None:
            import numpy as np

            foreign = np.delete(foreign, skip)
        variance = (1 - SPREAD_SHARE) * float(foreign.var()) + SPREAD_SHARE * self.variance
        return (score - float(foreign.mean())) / max(variance, 1e-12) ** 0.5 + PEAK_WEIGHT * peak([s for s, _ in near])

    def _scores_of(self, row: int, script: str, reader: Reader, baseline: CosineBaseline) -> NDArray[np.float64] | None:
        """Return the vector score of one chunk for each foreign question, (n,), as a ranking computes it.

        None if another process has deleted the chunk since it was found.
        """
        import numpy as np

        ids, own = reader.vectors_at([row])
        _, _, item_scripts, items = reader.item_vectors([row])
        vectors = np.concatenate([own, items]) if len(items) else own
        if not len(vectors):
            return None
        scores = baseline.score_matrix(self.scripts, self.vectors, [*([script] * len(ids)), *item_scripts], vectors)
        if not len(items):
            return scores[:, 0]
        best = scores[:, len(ids) :].max(axis=1)
        return ITEM_SHARE * best + (1 - ITEM_SHARE) * scores[:, 0] if ids else best


def peak(scores: Sequence[float] | NDArray[np.float64]) -> float:
    """Return by how many deviations of the others the first score exceeds their mean; 0 if there are no others."""
    import numpy as np

    if len(scores) < 2:
        return 0.0
    others = np.array(scores[1:])
    return float((scores[0] - others.mean()) / (others.std() + LEAST_DEVIATION))


@dataclass(frozen=True, slots=True)
class Threshold:
    """The certainty that a match exceeds, for queries in one script."""

    value: float
    questions: int
    """Foreign questions from which it was measured."""
    measured: float
    """Share of held-out foreign questions called a match: each half has a threshold measured on the other half."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Calibration:
    """The certainties of questions without an answer, measured in one index with one model."""

    foreign: ForeignQuestions
    certainties: tuple[float, ...]
    """Certainty of each foreign question."""
    scores: tuple[float, ...]
    """Score of the best passage for each foreign question, 0..1."""
    chunks: int
    """Chunks of the index when it was measured."""
    own: tuple[tuple[str, float, float | None], ...] = ()
    """Questions made from passages: the script, the certainty, and the certainty without the passage."""

    def thresholds(self, rate: float) -> dict[str, Threshold]:
        """Return the threshold of each script that has foreign questions, for a rate of false matches."""
        groups = _by_script(self.foreign.scripts, self.certainties)
        return {script: threshold_of(usual(values), USUAL_SHARE * rate) for script, values in groups.items()}

    def threshold(self, text: str, rate: float) -> float:
        """Return the threshold for a query: that of its script, or the highest for a script without questions."""
        values, _ = _limits(self, rate)
        script = script_of(text)
        return values[script] if script in values else max(values.values())

    def lowest_score(self, text: str, rate: float) -> float:
        """Return the score that the best passages for `SHOWN_RATE` of the foreign questions exceed.

        The questions in the script of the query count, or those of the script with the lowest score.
        """
        _, values = _limits(self, rate)
        script = script_of(text)
        return values[script] if script in values else min(values.values())

    def dumps(self) -> str:
        """Return the calibration as JSON, which the index stores. It contains no text of a note."""
        return json.dumps(
            {
                "scripts": self.foreign.scripts,
                **pack_vectors(self.foreign.vectors),
                "variance": self.foreign.variance,
                "certainties": self.certainties,
                "scores": self.scores,
                "chunks": self.chunks,
                "own": self.own,
            }
        )

    @classmethod
    def loads(cls, text: str) -> Calibration:
        """Return the calibration from the text that `dumps` wrote."""
        stored = json.loads(text)
        return cls(
            foreign=ForeignQuestions(tuple(stored["scripts"]), unpack_vectors(stored), float(stored["variance"])),
            certainties=tuple(map(float, stored["certainties"])),
            scores=tuple(map(float, stored["scores"])),
            chunks=int(stored["chunks"]),
            own=tuple((str(script), found, without) for script, found, without in stored["own"]),
        )


@lru_cache(maxsize=8)
def _limits(calibration: Calibration, rate: float) -> tuple[dict[str, float], dict[str, float]]:
    """Return for each script the threshold of a match, and the lowest score of a hit."""
    scripts = calibration.foreign.scripts
    scores = _by_script(scripts, calibration.scores)
    return (
        limits(scripts, calibration.certainties, rate),
        {script: sorted(values)[int(len(values) * (1 - SHOWN_RATE))] for script, values in scores.items()},
    )


def limits(scripts: Sequence[str], certainties: Sequence[float], rate: float) -> dict[str, float]:
    """Return for each script the certainty that a match exceeds, from those of foreign messages in these scripts."""
    groups = _by_script(scripts, certainties)
    return {script: conformal_quantile(usual(values), USUAL_SHARE * rate) for script, values in groups.items()}


def _by_script(scripts: Sequence[str], values: Sequence[float]) -> dict[str, tuple[float, ...]]:
    """Return the values of the questions in each script."""
    pairs = list(zip(scripts, values, strict=True))
    return {script: tuple(value for each, value in pairs if each == script) for script in dict.fromkeys(scripts)}


def usual(values: Sequence[float]) -> list[float]:
    """Return the values that are not outliers upwards: Tukey's fences (1977, "Exploratory Data Analysis").

    >>> usual([1, 2, 3, 4, 20])
    [1, 2, 3, 4]
    """
    import numpy as np

    lower, upper = np.quantile(values, [0.25, 0.75])
    return [value for value in values if value <= upper + OUTLIER_RANGES * (upper - lower)]


def pack_vectors(vectors: NDArray[np.float32]) -> dict[str, Any]:
    """Return vectors (n, dims) as JSON values: eight bits for each number, and a scale for each vector."""
    import numpy as np

    scale = np.maximum(np.abs(vectors).max(axis=1), 1e-9) / 127
    codes = np.rint(vectors / scale[:, None]).astype(np.int8)
    return {"codes": base64.b64encode(codes.tobytes()).decode(), "scale": [round(float(each), 9) for each in scale]}


def unpack_vectors(fields: Mapping[str, Any]) -> NDArray[np.float32]:
    """Return the vectors (n, dims), unit length, from the values that `pack_vectors` returned."""
    import numpy as np

    scale = np.array(fields["scale"], np.float32)
    codes = np.frombuffer(base64.b64decode(fields["codes"]), np.int8).reshape(len(scale), -1)
    vectors = codes.astype(np.float32) * scale[:, None]
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def conformal_quantile(values: Sequence[float], rate: float) -> float:
    """Return the k-th smallest of n values, k = ⌈(n + 1)(1 - rate)⌉, or the largest if k is more than n.

    >>> conformal_quantile(range(1, 40), 0.05)
    38
    """
    place = ceil(round((len(values) + 1) * (1 - rate), 9))
    return sorted(values)[min(place, len(values)) - 1]


def threshold_of(values: Sequence[float], rate: float) -> Threshold:
    """Return the threshold from the certainties of foreign questions, with the rate on held-out halves of them."""
    halves = values[::2], values[1::2]
    wrong = [sum(value > conformal_quantile(one, rate) for value in other) for one, other in (halves, halves[::-1])]
    return Threshold(conformal_quantile(values, rate), len(values), sum(wrong) / len(values))
