"""Reranking loses no candidate, moves only the best ones, and without scores changes nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from hypothesis import given
from hypothesis import strategies as st

from memoriter.search._rerank import rerank
from memoriter.types import Chunk

if TYPE_CHECKING:
    from collections.abc import Sequence

SCORES = st.floats(0, 1, width=16)
ROWS = st.lists(st.tuples(SCORES, st.floats(-9, 9, width=16), st.booleans()), max_size=30)
"""Score by the engine, relevance, and whether the passage can be read."""


class Judge:
    """A rescorer that knows the relevance of each passage."""

    def __init__(self, relevance: dict[str, float] | None, candidates: int) -> None:
        self.relevance, self.candidates, self.asked = relevance, candidates, list[int]()

    def scores(self, passages: Sequence[str]) -> list[float] | None:
        self.asked.append(len(passages))
        return None if self.relevance is None else [self.relevance[passage] for passage in passages]


def index_of(rows: list[tuple[float, float, bool]]) -> Any:
    stored = {
        10 * at: SimpleNamespace(chunk=Chunk(1, 1, f"passage {at}")) for at, (*_, read) in enumerate(rows) if read
    }
    return SimpleNamespace(rows=lambda ids: {row: stored[row] for row in ids if row in stored})


@given(rows=ROWS, candidates=st.integers(2, 12), least=SCORES, knows=st.booleans())
def test_the_best_candidates_come_first_in_the_order_of_the_reranker(
    rows: list[tuple[float, float, bool]], candidates: int, least: float, *, knows: bool
) -> None:
    rows = sorted(rows, key=lambda row: -row[0])
    judge = Judge({f"passage {at}": row[1] for at, row in enumerate(rows)} if knows else None, candidates)
    ranked = [(10 * at, score) for at, (score, *_) in enumerate(rows)]
    order = rerank(cast("Any", index_of(rows)), ranked, judge, min_score=least)

    assert sorted(at for at, _ in order) == list(range(len(rows)))
    moved = [(at, what) for at, what in order if what is not None]
    best = [at for at, (score, *_) in enumerate(rows) if score >= least][:candidates]
    read = [at for at in best if rows[at][2]]
    if not knows or len(read) < 2:
        assert [at for at, _ in order] == list(range(len(rows)))
        assert not moved
        assert judge.asked == [len(read)] * (len(read) > 1)
        return
    assert [at for at, _ in moved] == sorted(read, key=lambda at: (-rows[at][1], at))
    assert [(what.rank, what.reranked, what.relevance) for _, what in moved] == [
        (at + 1, place, rows[at][1]) for place, (at, _) in enumerate(moved, 1)
    ]
    assert order[: len(moved)] == moved
    assert [at for at, what in order if what is None] == [at for at in range(len(rows)) if at not in read]
