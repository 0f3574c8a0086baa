"""Whether the first hit answers a question: what the judge read, and the engine's scores.

The judge alone is unsure of long logs with several speakers, where the scores know more, so a logistic rule
weighs both. It is the same for all notes, languages and models. `scripts/outcome_rule.py` fits it, with each family of
notes left out in turn, and prints how often answers, near-misses and foreign questions are called a match.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.search._rerank import MOST_CERTAIN, bounded
from memoriter.types import Certainty

if TYPE_CHECKING:
    from memoriter.search._pipeline import Trace

LOGIT, SCORE, VECTOR, CONSTANT = 0.49, 2.1, 2.6, -2.4
"""Log-odds for the judge's logit of the first hit, its score, its score by vectors alone, and the constant."""
THRESHOLD = 0.0
"""Log-odds from which an answer is a match. Of 618 questions with and 811 without an answer, each judged by a rule that
was fitted on other notes, 74 % of the right answers are called a match, 40 % of the near-misses (56 % without the
judge), and 6 % of the foreign questions (as without it)."""


def judged(trace: Trace) -> Certainty | None:
    """Return how certain it is that the first hit answers; None if the judge has not read it.

    If the question names something that no passage contains, no hit answers it.
    """
    first, candidates = next(iter(trace.kept), None), trace.candidates
    if first is None or first.reranked is None or candidates is None:
        return None
    if candidates.has_unknown_name:
        return Certainty(-MOST_CERTAIN, THRESHOLD, judged=True)
    vector = candidates.vector_scores.get(first.row, 0.0)
    value = LOGIT * bounded(first.reranked.relevance) + SCORE * first.score + VECTOR * vector + CONSTANT
    return Certainty(value, THRESHOLD, judged=True)
