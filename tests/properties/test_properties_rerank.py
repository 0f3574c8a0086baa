"""Reranking loses no candidate, moves only the best ones, and without scores changes nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from hypothesis import given
from hypothesis import strategies as st

from memoriter.search._pipeline import PassageParts, Relevance, parts_of, rerank
from memoriter.types import Chunk

if TYPE_CHECKING:
    from collections.abc import Sequence

SCORES = st.floats(0, 1, width=16)
ROWS = st.lists(st.tuples(SCORES, st.floats(-9, 9, width=16), st.booleans()), max_size=30)
"""Score by the engine, relevance, and whether the passage can be read."""


class Judge:
    """A rescorer that knows the relevance of each passage."""

    question = "Where?"

    def __init__(self, relevance: dict[str, float] | None, candidates: int, weight: float | None) -> None:
        self.known = relevance
        self.candidates = candidates
        self.weight = weight
        self.asked = list[int]()

    def relevance(self, passages: Sequence[PassageParts]) -> list[Relevance] | None:
        self.asked.append(len(passages))
        return (
            None
            if self.known is None
            else [Relevance(self.known[each.text], (each.best, each.best)) for each in passages]
        )


def index_of(rows: list[tuple[float, float, bool]]) -> Any:
    stored = {
        10 * at: SimpleNamespace(chunk=Chunk(1, 1, f"passage {at}")) for at, (*_, read) in enumerate(rows) if read
    }
    return SimpleNamespace(rows=lambda ids: {row: stored[row] for row in ids if row in stored})


@given(
    rows=ROWS,
    candidates=st.integers(2, 12),
    least=SCORES,
    knows=st.booleans(),
    weight=st.sampled_from([None, 0.0, 0.05]),
)
def test_the_best_candidates_come_first_in_the_order_of_the_reranker_or_of_both_scores(
    rows: list[tuple[float, float, bool]], candidates: int, least: float, *, knows: bool, weight: float | None
) -> None:
    rows = sorted(rows, key=lambda row: -row[0])
    judge = Judge({f"passage {at}": row[1] for at, row in enumerate(rows)} if knows else None, candidates, weight)
    ranked = [(10 * at, score) for at, (score, *_) in enumerate(rows)]
    order = rerank(cast("Any", index_of(rows)), ranked, judge, min_score=least, best_lines={})

    assert sorted(at for at, _ in order) == list(range(len(rows)))
    moved = [(at, what) for at, what in order if what is not None]
    best = [at for at, (score, *_) in enumerate(rows) if score >= least][:candidates]
    read = [at for at in best if rows[at][2]]
    assert judge.asked == [len(read)] * bool(read)
    if not knows:
        assert [at for at, _ in order] == list(range(len(rows)))
        assert not moved
        return

    def value(at: int) -> float:
        score, relevance, _ = rows[at]
        return relevance if weight is None else score + weight * min(max(relevance, -6), 6)

    assert [at for at, _ in moved] == sorted(read, key=lambda at: (-value(at), at))
    assert [(what.rank, what.reranked, what.relevance, what.lines) for _, what in moved] == [
        (at + 1, place, rows[at][1], (1, 1)) for place, (at, _) in enumerate(moved, 1)
    ]
    assert order[: len(moved)] == moved
    assert [at for at, what in order if what is None] == [at for at in range(len(rows)) if at not in read]


LINES = ["- tea", "", "The ferry leaves at seven. " * 9, "- a bicycle stands in the hall", "| a | b |"]


@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=6), st.integers(0, 5), st.booleans())
def test_the_parts_of_a_passage_are_its_lines_and_the_best_is_where_the_item_or_the_words_are(
    lines: list[str], item: int, by_words: bool
) -> None:
    given_line = None if by_words or not lines[item % len(lines)].strip() else item % len(lines)
    passage = parts_of(Chunk(5, 4 + len(lines), "\n".join(lines), ("Home",)), "Where is the bicycle?", given_line)

    assert len(passage.parts) == len(passage.lines)
    for part, line in zip(passage.parts, passage.lines, strict=True):
        assert part.strip() in lines[line]
    shown = {line for line in range(len(lines)) if lines[line].strip()}
    assert set(passage.lines) == (shown or {0})
    if given_line is not None:
        assert passage.lines[passage.best] == given_line
    elif LINES[3] in lines:
        assert "bicycle" in passage.parts[passage.best]
    assert passage.heading == "Home"
