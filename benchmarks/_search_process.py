"""A process that searches one index with one engine and prints the times; it reads the request from stdin."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks._memory_process import peak_mb
from benchmarks._timing import each
from benchmarks._vectors import WordVectors
from memoriter.index import Index, _content
from memoriter.search import SearchSettings, clean_query, query_terms, rank
from memoriter.sync import background_of
from memoriter.types import Filters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Question = tuple[str, "NDArray[np.float32]"]

ANYWHERE = Filters()
CANDIDATES = 24
"""6 results with 4 candidates each: the defaults of memoriter and OpenClaw."""
DEPTH = 10
_BATCH = 20_000
_ROUNDING = 1e-6


def main() -> None:
    request = json.load(sys.stdin)
    with Index.open(Path(request["index"]), clock=time.monotonic) as index:
        vectors = WordVectors()
        index.use_vectors(vectors.spec)
        index.choose_engine(request["engine"])
        texts = [clean_query(text) for text in request["questions"]]
        questions = list(zip(texts, vectors.embed(texts, role="query"), strict=True))
        json.dump(_figures(index, questions, request["repeats"], whole=request["whole"]), sys.stdout)


def _figures(index: Index, questions: list[Question], repeats: int, *, whole: bool) -> dict[str, Any]:
    """Return the times of each retriever, with `whole` also of whole searches, and the peak memory and recall."""
    settings = SearchSettings(background=background_of(index, WordVectors.spec))

    def nearest(question: Question) -> None:
        index.vector_search(question[1], limit=CANDIDATES, filters=ANYWHERE)

    def fts(question: Question) -> None:
        index.keyword_search(query_terms(question[0]), limit=CANDIDATES, filters=ANYWHERE)

    def words(question: Question) -> None:
        rank(index, question[0], None, settings, filters=ANYWHERE, now=0.0)

    def hybrid(question: Question) -> None:
        rank(index, question[0], question[1], settings, filters=ANYWHERE, now=0.0)

    acts = {"vectors": nearest} | ({"fts": fts, "words": words, "hybrid": hybrid} if whole else {})
    times = {name: asdict(each(act, questions, repeats=repeats)) for name, act in acts.items()}
    peak = peak_mb()
    kept = _kept(index, questions, settings) if whole else None
    recall = _recall(index, [each[1] for each in questions])
    return {**times, "peak_mb": peak, "engine": index.engine, "recall": recall, "kept": kept}


def _kept(index: Index, questions: list[Question], settings: SearchSettings) -> float:
    """Return the share of the hits that stay the same if keyword search examines every chunk with any term."""

    def hits() -> list[set[tuple[str, int]]]:
        results = (rank(index, text, vector, settings, filters=ANYWHERE, now=0.0) for text, vector in questions)
        return [{(hit.path, hit.start_line) for hit in each} for each in results]

    bounded = hits()
    for name in ("MAX_PROPOSING", "MAX_SINGLE_LIST", "MAX_COUNTED", "MAX_RANKED"):
        setattr(_content, name, 2**40)
    everything = hits()
    shares = [len(ours & all_) / len(all_) for ours, all_ in zip(bounded, everything, strict=True) if all_]
    return sum(shares) / len(shares) if shares else 1.0


def _recall(index: Index, queries: Sequence[NDArray[np.float32]]) -> float:
    """Return recall@`DEPTH` against an exact scan; a tie with the last one counts."""
    matrix = np.array(queries, dtype=np.float64)
    ids = index.all_ids()
    best = np.full((len(matrix), 0), -1.0)
    for first in range(0, len(ids), _BATCH):
        rows = index.vectors_at(ids[first : first + _BATCH])[1].astype(np.float64)
        best = np.sort(np.hstack([best, matrix @ rows.T]), axis=1)[:, -DEPTH:]
    shares = [_share(index, query, floor) for query, floor in zip(queries, best[:, 0].tolist(), strict=True)]
    return sum(shares) / len(shares) / best.shape[1]


def _share(index: Index, query: NDArray[np.float32], floor: float) -> int:
    nearest = [chunk for chunk, _ in index.vector_search(query, limit=DEPTH, filters=ANYWHERE)]
    return sum(cosine >= floor - _ROUNDING for cosine in index.cosines(query, nearest).values())


if __name__ == "__main__":
    main()
