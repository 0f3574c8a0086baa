"""How certain it is that one of many single texts bears on a message, measured against messages that bear on none.

It is the certainty of `_certainty`, for texts that have one vector each and are no passages of an index. A message
before which memories are recalled is a question or a task, and tasks resemble statements about work more than questions
do. The score of a text is therefore compared with those of `FOREIGN_QUESTIONS` and of `FOREIGN_TASKS`, and the smaller
deviation counts; each of both also has a threshold, and the higher one counts.
"""

from __future__ import annotations

from math import log, sqrt
from typing import TYPE_CHECKING

from memoriter.search._certainty import NEAREST, PEAK_WEIGHT, SPREAD_SHARE, limits, peak
from memoriter.search._cosine_baseline import CosineBaseline, measure, script_of
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

FEWEST_TEXTS = 10
"""Texts from which their own baseline is measured; below, the model's figures are used."""
MOST_TEXTS = 500
"""Texts with which foreign messages are compared, so that a message costs some 30 milliseconds at most. Of 170 messages
that bear on none of 2,723 texts, 5 match with a sample of 500, and 7 if all texts are compared."""


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedTexts:
    """Texts with their vectors."""

    texts: Sequence[str]
    vectors: NDArray[np.float32]
    """(n, dims), unit length."""
    scripts: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scripts", tuple(map(script_of, self.texts)))

    def __len__(self) -> int:
        return len(self.scripts)


def message_margin(
    message: EmbeddedTexts,
    nearest: EmbeddedTexts,
    sample: EmbeddedTexts,
    foreign: Sequence[EmbeddedTexts],
    *,
    count: int,
    figures: tuple[float, float],
    rate: float,
) -> float:
    """Return by how much the certainty that a text bears on a message exceeds its threshold; above 0 is a match.

    Args:
        message: the one message, embedded as a query.
        nearest: the texts nearest to it; more than `NEAREST` change nothing.
        sample: at least one text, of all those that were compared with the message.
        foreign: the kinds of messages that bear on no text, embedded as queries.
        count: how many texts were compared with the message. The largest of n independent normal values is about
            √(2 ln n) (Cramér 1946, "Mathematical Methods of Statistics", 28.6); where the sample has fewer texts, the
            threshold is raised by the difference.
        figures: mean cosine of unrelated texts of the model, and its standard deviation.
        rate: share of foreign messages that may be called a match.
    """
    import numpy as np

    measured = len(sample) >= FEWEST_TEXTS
    baseline = measure(sample.texts, sample.vectors, figures) if measured else CosineBaseline.of_model(figures)
    scores = baseline.vector_scores(message.texts[0], message.vectors[0], nearest.scripts, nearest.vectors)
    best = int(scores.argmax())
    kinds = [
        _Kind(each.scripts, baseline.score_matrix(each.scripts, each.vectors, sample.scripts, sample.vectors))
        for each in foreign
    ]
    at_best = EmbeddedTexts([nearest.texts[best]], nearest.vectors[best : best + 1])
    deviations = [
        kind.deviation(
            scores[best], baseline.score_matrix(each.scripts, each.vectors, at_best.scripts, at_best.vectors)[:, 0]
        )
        for kind, each in zip(kinds, foreign, strict=True)
    ]
    certainty = min(deviations) + PEAK_WEIGHT * peak(np.sort(scores)[::-1][:NEAREST])
    more = sqrt(2 * log(max(count, 2))) - sqrt(2 * log(max(len(sample), 2)))
    by_script = [limits(kind.scripts, kind.certainties(kinds), rate) for kind in kinds]
    highest = max(each.get(message.scripts[0], max(each.values())) for each in by_script)
    return float(certainty - highest - max(more, 0.0))


class _Kind:
    """One kind of foreign messages, with their scores for each text of a sample."""

    def __init__(self, scripts: Sequence[str], scores: NDArray[np.float64]) -> None:
        self.scripts = scripts
        self.scores = scores
        self.variance = float(scores.var(axis=0).mean())

    def deviation(self, score: float, foreign: NDArray[np.float64]) -> float:
        """Return by how many standard deviations a score of one text exceeds those of these messages for it."""
        variance = (1 - SPREAD_SHARE) * float(foreign.var()) + SPREAD_SHARE * self.variance
        return (score - float(foreign.mean())) / sqrt(max(variance, 1e-12))

    def certainties(self, kinds: Sequence[_Kind]) -> list[float]:
        """Return the certainty of each of these messages, compared with the others."""
        import numpy as np

        best = self.scores.argmax(axis=1)
        at = np.arange(len(best))
        own = self.scores[at, best]
        deviations = [self._deviations(own, kind, best, without_self=kind is self) for kind in kinds]
        most = min(NEAREST, self.scores.shape[1])
        near = -np.sort(-np.partition(self.scores, -most, axis=1)[:, -most:], axis=1)
        peaks = np.array([peak(row) for row in near])
        return list(np.min(deviations, axis=0) + PEAK_WEIGHT * peaks)

    @staticmethod
    def _deviations(
        own: NDArray[np.float64], kind: _Kind, best: NDArray[np.intp], *, without_self: bool
    ) -> NDArray[np.float64]:
        """Return by how many deviations scores of the texts at `best` exceed those of a kind of messages."""
        import numpy as np

        n = len(kind.scores) - without_self
        total, squares = kind.scores.sum(axis=0)[best], (kind.scores**2).sum(axis=0)[best]
        if without_self:
            total, squares = total - own, squares - own**2
        mean = total / max(n, 1)
        variance = (1 - SPREAD_SHARE) * (squares / max(n, 1) - mean**2) + SPREAD_SHARE * kind.variance
        return np.asarray((own - mean) / np.sqrt(np.maximum(variance, 1e-12)))
