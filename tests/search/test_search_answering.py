"""What is called a match: the rule over the score, the nearness in meaning and what the judge says of the first hit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.search import Candidates, RankedLine, Trace, certainty_of
from memoriter.search._pipeline import RankedRow, Reranked
from memoriter.types import Filters, QueryLine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.types import Certainty, LineKind

SHARES = st.floats(0, 1)
LOGITS = st.floats(-20, 20)


def candidates(nearness: float | None, *, unknown: bool = False) -> Candidates:
    return Candidates(
        scoring_rows={},
        cosines={},
        vector_scores={} if nearness is None else {1: nearness},
        keyword_scores={},
        keyword_ranking=[],
        vector_ranking=[],
        best_lines={},
        has_vector=nearness is not None,
        has_unknown_name=unknown,
    )


def rated(
    score: float, nearness: float | None, logit: float | None = None, *, unknown: bool = False, others: int = 0
) -> Certainty | None:
    """The certainty for a first hit like this, with `others` after it."""
    read = None if logit is None else Reranked(1, 1, logit)
    kept = [RankedRow(1, score, reranked=read), *(RankedRow(row, score) for row in range(2, others + 2))]
    trace = Trace(candidates(nearness, unknown=unknown), kept, kept)
    return certainty_of(trace, judged=logit is not None)


def is_match(certainty: Certainty | None) -> bool:
    assert certainty is not None
    return certainty.value > certainty.threshold


@given(score=SHARES, nearness=SHARES, more=SHARES, logit=st.none() | LOGITS)
def test_a_higher_score_and_more_nearness_never_end_a_match(
    score: float, nearness: float, more: float, logit: float | None
) -> None:
    if is_match(rated(score, nearness, logit)):
        assert is_match(rated(min(score + more, 1), nearness, logit))
        assert is_match(rated(score, min(nearness + more, 1), logit))


@given(score=SHARES, nearness=st.none() | SHARES, logit=LOGITS, more=st.floats(0, 20))
def test_a_judge_that_is_more_certain_never_ends_a_match(
    score: float, nearness: float | None, logit: float, more: float
) -> None:
    if is_match(rated(score, nearness, logit)):
        assert is_match(rated(score, nearness, logit + more))


@given(score=SHARES, nearness=SHARES)
def test_the_judge_alone_decides_neither_way(score: float, nearness: float) -> None:
    assert not is_match(rated(0.05, 0.05, 20.0))
    assert is_match(rated(0.98, 0.98, -20.0))
    if is_match(rated(score, nearness, 0.0)):
        assert is_match(rated(score, nearness, 20.0))


@pytest.mark.parametrize(("score", "nearness", "match"), [(0.6, 0.5, True), (0.62, 0.1, False), (0.5, 0.5, False)])
def test_words_alone_are_no_match(score: float, nearness: float, *, match: bool) -> None:
    assert is_match(rated(score, nearness)) == match


@pytest.mark.parametrize("logit", [None, 20.0])
def test_the_score_decides_without_vectors_and_about_an_unknown_name(logit: float | None) -> None:
    assert rated(0.9, 0.9, logit, unknown=True) is None
    assert rated(0.9, None) is None


def test_nothing_is_certain_without_a_hit() -> None:
    assert certainty_of(Trace(candidates(0.9), [], []), judged=True) is None
    assert certainty_of(Trace(None, [RankedRow(1, 0.9)], [RankedRow(1, 0.9)]), judged=False) is None


@given(score=SHARES, nearness=SHARES, others=st.integers(0, 3))
def test_only_the_first_hit_counts(score: float, nearness: float, others: int) -> None:
    assert rated(score, nearness, others=others) == rated(score, nearness)


@pytest.mark.parametrize(
    ("kinds", "match"), [(("vec",), True), (("lex", "vec"), True), (("hyde",), False), (("lex", "hyde"), False)]
)
def test_nearness_to_a_supposed_answer_is_no_certainty(kinds: Sequence[LineKind], *, match: bool) -> None:
    lines = [
        RankedLine(at, QueryLine(kind, "text", Filters()), candidates(0.9 if kind != "lex" else None), {}, {}, {})
        for at, kind in enumerate(kinds, 1)
    ]
    kept = [RankedRow(1, 0.6)]
    certainty = certainty_of(Trace(candidates(0.9), kept, kept, lines), judged=False)
    assert (certainty is not None and is_match(certainty)) == match
