"""Whether the first hit answers a question: its score, its nearness in meaning, and what the judge read.

Words that a passage shares with a question say little about whether it answers, so the nearness in meaning counts
beside the score, which contains it already. The judge knows more, but is unsure of long logs with several speakers. The
rule is the same for all notes, languages and models. `scripts/outcome_rule.py` fits it with each family of notes left
out in turn, and prints how often answers, near-misses and questions about something else are called a match.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.search._rerank import bounded
from memoriter.types import Certainty

if TYPE_CHECKING:
    from memoriter.search._candidates import Candidates
    from memoriter.search._pipeline import Trace

LOGIT_WEIGHT = 0.15
"""Weight of the judge's logit beside the sum of the score and the nearness in meaning."""
JUDGED, UNJUDGED = 1.0, 1.05
"""The sum that a match exceeds, if the judge has read the hit, and if not.

Of 618 questions with and 811 without an answer, 76 % of the right answers are called a match, 35 % of the near-misses,
and 4 % of the questions about something else; without the judge 74 %, 40 % and 3 %."""


def certainty_of(trace: Trace, *, judged: bool) -> Certainty | None:
    """Return how certain it is that the first hit answers; `judged` if the relevance of the hits is the judge's.

    None if its score alone tells: without vectors, and if the question names something that no passage contains, which
    keeps all scores below those of a match.
    """
    first, candidates = next(iter(trace.kept), None), trace.candidates
    if first is None or candidates is None or candidates.has_unknown_name:
        return None
    nearness = _nearness(trace, candidates, first.row)
    if judged and first.reranked is not None:
        engine = first.score + (first.score if nearness is None else nearness)
        return Certainty(engine + LOGIT_WEIGHT * bounded(first.reranked.relevance), JUDGED)
    return None if nearness is None else Certainty(first.score + nearness, UNJUDGED)


def _nearness(trace: Trace, candidates: Candidates, row: int) -> float | None:
    """Return the score of a hit by vectors alone, 0..1. Nearness to a `hyde` line, a supposed answer, says nothing."""
    asked = [line.candidates for line in trace.lines if line.line.kind == "vec"] if trace.lines else [candidates]
    return max((each.vector_scores[row] for each in asked if row in each.vector_scores), default=None)
