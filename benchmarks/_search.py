"""Searching in process, without the time to embed the question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks._peer import Peer
from benchmarks._report import Row
from benchmarks._timing import Times, each, paired
from memoriter.search import query_terms, rank
from memoriter.types import Filters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from benchmarks._plan import Effort
    from benchmarks._stage import Stage
    from memoriter.index import Index

Question = tuple[str, "NDArray[np.float32]"]

ANYWHERE = Filters()
CANDIDATES = 24
"""6 results, 4 times as many candidates: the defaults of both programs."""
DEPTH = 10
HYBRID_MS = ((10_000, 3.0), (100_000, 8.0), (1_000_000, 40.0))
RECALL = 0.99
AGAINST_STATEMENT = ((1_000, 3.0), (10_000, 10.0), (100_000, 50.0))


def warm_search(stage: Stage, effort: Effort) -> Iterator[Row]:
    """Both legs, scores, cut and snippets; then each leg alone."""
    with stage.open_index() as index:
        settings = stage.settings(index)

        def hybrid(question: Question) -> None:
            rank(index, question[0], question[1], settings, filters=ANYWHERE, now=0.0)

        def words(question: Question) -> None:
            rank(index, question[0], None, settings, filters=ANYWHERE, now=0.0)

        def fts(question: Question) -> None:
            index.keyword_search(query_terms(question[0]), limit=CANDIDATES, filters=ANYWHERE)

        def nearest(question: Question) -> None:
            index.vector_search(question[1], limit=CANDIDATES, filters=ANYWHERE)

        hybrid(stage.questions[0])
        yield _row(
            stage,
            "search.hybrid",
            "warm hybrid search",
            each(hybrid, stage.questions, repeats=effort.repeats),
            budget(HYBRID_MS, stage.size),
        )
        yield _row(
            stage, "search.words", "warm search by words only", each(words, stage.questions, repeats=effort.repeats)
        )
        yield _row(stage, "search.fts", "- of it the keyword index", each(fts, stage.questions, repeats=effort.repeats))
        yield _row(
            stage, "search.vectors", "- of it the vector leg", each(nearest, stage.questions, repeats=effort.repeats)
        )
        ids, matrix = _everything(stage, index)
        recall = float(np.mean([_recall(index, question, ids, matrix) for question in stage.questions]))
        yield Row(
            "search.recall", f"recall@{DEPTH} of the vector leg", stage.size, recall, "", budget=RECALL, more=True
        )


def against_statement(stage: Stage, effort: Effort) -> Iterator[Row]:
    """The nearest passages with their text, from the same rows, by us and by OpenClaw's statement, in turns."""
    with stage.open_index() as index, Peer(stage.folder / "peer.sqlite") as peer:
        ids = index.all_ids()
        rows = index.rows(ids)
        peer.fill(
            [rows[chunk] for chunk in ids],
            stage.provider.embed([rows[chunk].chunk.contextual for chunk in ids], role="document"),
        )

        def ours(question: Question) -> None:
            index.rows([chunk for chunk, _ in index.vector_search(question[1], limit=CANDIDATES, filters=ANYWHERE)])

        def theirs(question: Question) -> None:
            peer.nearest(question[1], CANDIDATES)

        questions = stage.questions[: effort.peer_questions]
        mine, other, ratio = paired(ours, theirs, questions)
    yield _row(stage, "peer.ours", "nearest passages, memoriter", mine)
    yield _row(stage, "peer.theirs", "nearest passages, OpenClaw's statement", other)
    floor = budget(AGAINST_STATEMENT, stage.size)
    yield Row("peer.ratio", "- times as fast", stage.size, ratio, "x", budget=floor, more=True, ratio=True)


def budget(steps: tuple[tuple[int, float], ...], size: int) -> float | None:
    """The figure of the largest step that is not over `size`, or of the first."""
    return next((figure for upto, figure in reversed(steps) if size >= upto), steps[0][1])


def _row(stage: Stage, name: str, title: str, times: Times, limit: float | None = None) -> Row:
    return Row(name, title, stage.size, times.p50 * 1000, "ms", times.p95 * 1000, budget=limit)


def _everything(stage: Stage, index: Index) -> tuple[list[int], NDArray[np.float64]]:
    """All chunks and their vectors, made again from the texts."""
    rows = index.rows(index.all_ids())
    texts = [row.chunk.contextual for row in rows.values()]
    return list(rows), stage.provider.embed(texts, role="document").astype(np.float64)


def _recall(index: Index, question: Question, ids: list[int], matrix: NDArray[np.float64]) -> float:
    """The share of the true best that was found; a tie with the last one counts."""
    cosines = matrix @ question[1].astype(np.float64)
    known = dict(zip(ids, cosines.tolist(), strict=True))
    floor = sorted(known.values())[-min(DEPTH, len(ids))] - 1e-6
    found = index.vector_search(question[1], limit=DEPTH, filters=ANYWHERE)
    return sum(known[chunk] >= floor for chunk, _ in found) / min(DEPTH, len(ids))
