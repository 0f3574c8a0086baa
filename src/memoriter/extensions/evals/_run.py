"""Runs of every ranking method over every question of a set, through the real engine, and tables of the results."""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from memoriter.extensions.evals._baselines import BASELINES, Passage, Passages
from memoriter.extensions.evals._metrics import (
    Estimate,
    Quality,
    Table,
    auc,
    estimate,
    estimate_cells,
    ndcg,
    quality,
    recall,
)
from memoriter.extensions.evals._pool import (
    DEPTH,
    OURS,
    RRF,
    SYSTEMS,
    PoolIndex,
    Ranking,
    System,
    VectorStore,
    question_key,
)
from memoriter.ids import text_key
from memoriter.search import clean_query
from memoriter.sync import ChunkingSettings, texts_of
from memoriter.types import Chunk
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from memoriter.extensions.evals._datasets import Dataset, Need, Pool
    from memoriter.extensions.evals._pool import Rows
    from memoriter.sync import Progress

_COLUMNS = ("nDCG@10", "recall@5", "recall@10", "MRR", "AUC removed", "AUC elsewhere")


def system_table(result: DatasetResult) -> Table:
    """Return the table with one row for each ranking method."""
    rows = tuple((system.system, *_figures(system)) for system in result.systems)
    questions = result.ours.quality.questions
    title = f"{result.name}: {questions} questions, {result.documents} documents"
    return Table(title, ("system", *_COLUMNS), rows)


def interval_table(result: DatasetResult) -> Table:
    """Return nDCG@10 and recall@10 with their 95 % intervals, and the paired differences to the default ranking."""
    rows = [
        (
            system.system,
            *estimate_cells(system.ndcg_10),
            *estimate_cells(system.ndcg_10_difference),
            *estimate_cells(system.recall_10_difference),
        )
        for system in result.systems
    ]
    columns = [cell for name in ("nDCG@10", "difference", "recall@10 difference") for cell in (name, "from", "to")]
    return Table(f"{result.name}: 95 % intervals, differences to {OURS.name}", ("system", *columns), tuple(rows))


def kinds_table(result: DatasetResult) -> Table | None:
    """Return nDCG@10 and recall@10 by type of question, or None if the questions have no types."""
    kinds = result.ours.by_kind
    if not kinds:
        return None
    columns = [name for system in result.systems for name in (f"{system.system} nDCG@10", "recall@10")]
    rows = [
        (
            kind,
            kinds[kind].questions,
            *(value for system in result.systems for value in _kind_figures(system, kind)),
        )
        for kind in kinds
    ]
    return Table(f"{result.name} by type", ("type", "n", *columns), tuple(rows))


def documents_summary(results: Sequence[DatasetResult]) -> Table:
    """Return the figures of the default ranking, with one row for each set."""
    rows = [(each.name, each.ours.quality.questions, *_figures(each.ours)) for each in results]
    return Table(f"Summary of the sets of documents: {OURS.name}", ("set", "n", *_COLUMNS), tuple(rows))


def values(results: Sequence[DatasetResult]) -> dict[str, Any]:
    """Return the results as JSON values."""
    return {"sets": [asdict(result) for result in results]}


def _figures(system: SystemResult) -> tuple[float | None, ...]:
    quality = system.quality
    return (
        quality.ndcg_10,
        quality.recall_5,
        quality.recall_10,
        quality.mrr,
        system.auc_removed,
        system.auc_elsewhere,
    )


def _kind_figures(system: SystemResult, kind: str) -> tuple[float, float]:
    return system.by_kind[kind].ndcg_10, system.by_kind[kind].recall_10


@dataclass(frozen=True, slots=True)
class SystemResult:
    """Metrics of one ranking method on one set."""

    system: str
    quality: Quality
    by_kind: dict[str, Quality]
    auc_removed: float | None
    """AUC of the top scores against those of the same questions after the documents that answer them are removed."""
    auc_elsewhere: float | None
    """AUC of the top scores against those of the same questions in another pool; None for a single pool."""
    ndcg_10: Estimate | None = None
    """nDCG@10 with its 95 % interval."""
    recall_10: Estimate | None = None
    ndcg_10_difference: Estimate | None = None
    """Mean difference to `calibrated`, question by question, with its 95 % interval."""
    recall_10_difference: Estimate | None = None


@dataclass(frozen=True, slots=True)
class DatasetResult:
    """Metrics of every ranking method on one set."""

    name: str
    lang: str
    documents: int
    systems: tuple[SystemResult, ...]

    @property
    def ours(self) -> SystemResult:
        return next(system for system in self.systems if system.system == OURS.name)


@dataclass(slots=True)
class _Scores:
    """Rankings and top scores of one system, question by question."""

    rankings: list[tuple[Need, Ranking]] = field(default_factory=list["tuple[Need, Ranking]"])
    removed: list[float] = field(default_factory=list[float])
    elsewhere: list[float] = field(default_factory=list[float])

    def values(self) -> dict[str, tuple[float, float]]:
        """Return nDCG@10 and recall@10 of each question."""
        return {
            f"{need.group}/{need.id}": (
                ndcg(ranking.documents, need.relevant, at=DEPTH),
                recall(ranking.documents, need.relevant, at=DEPTH),
            )
            for need, ranking in self.rankings
        }

    def result(self, name: str, ours: _Scores) -> SystemResult:
        values = self.values()
        others = ours.values()
        differences = [
            tuple(one - other for one, other in zip(values[key], others[key], strict=True)) for key in values
        ]
        top_scores = [ranking.top_score for _, ranking in self.rankings]
        by_kind: defaultdict[str, list[tuple[Need, Ranking]]] = defaultdict(list)
        for need, ranking in self.rankings:
            by_kind[need.kind].append((need, ranking))
        return SystemResult(
            name,
            _quality(self.rankings),
            {kind: _quality(rankings) for kind, rankings in sorted(by_kind.items()) if kind},
            auc(top_scores, self.removed),
            auc(top_scores, self.elsewhere),
            estimate([value for value, _ in values.values()]),
            estimate([value for _, value in values.values()]),
            estimate([value for value, _ in differences]),
            estimate([value for _, value in differences]),
        )


def _quality(rankings: Sequence[tuple[Need, Ranking]]) -> Quality:
    return quality([(ranking.documents, need.relevant) for need, ranking in rankings])


@dataclass(frozen=True, slots=True)
class EvalRun:
    """A measurement of sets with one provider's vectors."""

    store: VectorStore
    folder: Path
    """An empty folder for the indexes."""
    clock: Callable[[], float]
    """Seconds since 1970."""
    progress: Callable[[Progress], None] = lambda _: None
    baselines: bool = False
    """Whether grep, BM25 and RRF are measured too."""

    def measure(self, dataset: Dataset) -> DatasetResult:
        """Return the metrics of every ranking method on a set.

        Raises:
            EmbeddingError: if the provider fails.
        """
        documents, questions = self._embed(dataset)
        pools = dataset.pools
        measured = (*SYSTEMS, RRF) if self.baselines else SYSTEMS
        scores = {
            name: _Scores() for name in (*(BASELINES if self.baselines else ()), *(each.name for each in measured))
        }
        if self.baselines:
            _rank_simply(pools, scores)
        for words in ("analysed", "classic"):
            systems = [system for system in measured if system.words == words]
            with ExitStack() as stack:
                indexes = [
                    stack.enter_context(
                        PoolIndex.build(
                            self.folder / f"{dataset.name}-{words}-{number}.sqlite",
                            pool,
                            words=words,
                            vectors=documents,
                            spec=self.store.spec,
                            clock=self.clock,
                        )
                    )
                    for number, pool in enumerate(pools)
                ]
                run = _PoolRun(indexes, pools, systems, questions, scores)
                run.rank_all()
                run.rank_elsewhere()
                run.rank_removed()
        results = tuple(each.result(name, scores[OURS.name]) for name, each in scores.items())
        return DatasetResult(dataset.name, dataset.lang, len(dataset.documents), results)

    def _embed(self, dataset: Dataset) -> tuple[Rows, Rows]:
        chunks = [Chunk(1, 1, document.text) for document in dataset.documents]
        texts = [text for chunk in chunks for text in texts_of(chunk, ChunkingSettings())]
        documents = {text_key(text): text for text in texts}
        questions = {question_key(text): text for text in (clean_query(need.text) for need in dataset.needs)}
        store = self.store
        progress = self.progress
        return store.vectors(documents, "document", progress), store.vectors(questions, "query", progress)


def _rank_simply(pools: Sequence[Pool], scores: Mapping[str, _Scores]) -> None:
    """Search the documents of each pool by grep and BM25."""
    for pool in pools:
        passages = Passages.of(Passage(document.id, document.id, 1, document.text) for document in pool.documents)
        for need in pool.needs:
            for baseline in BASELINES:
                found = passages.rank(baseline, need.text, DEPTH)
                top_score = found[0][1] if found else 0.0
                ranking = Ranking(tuple(passage.key for passage, _ in found), top_score)
                scores[baseline].rankings.append((need, ranking))


@dataclass(frozen=True, slots=True)
class _PoolRun:
    """Searches for the questions of a set in indexes of its pools."""

    indexes: Sequence[PoolIndex]
    pools: Sequence[Pool]
    systems: Sequence[System]
    questions: Rows
    scores: dict[str, _Scores]

    def rank_all(self) -> None:
        """Search each pool for its own questions."""
        for index, pool in zip(self.indexes, self.pools, strict=True):
            for need in pool.needs:
                for system, ranking in self._rank(index, need):
                    self.scores[system].rankings.append((need, ranking))

    def rank_elsewhere(self) -> None:
        """Search the next pool for each pool's questions, which have no answer there."""
        if len(self.pools) < 2:
            return
        for index, pool in zip([*self.indexes[1:], self.indexes[0]], self.pools, strict=True):
            for need in pool.needs:
                for system, ranking in self._rank(index, need, depth=1):
                    self.scores[system].elsewhere.append(ranking.top_score)

    def rank_removed(self) -> None:
        """Search for each question while the documents that answer it are removed."""
        for index, pool in zip(self.indexes, self.pools, strict=True):
            needs_by_relevant: defaultdict[frozenset[str], list[Need]] = defaultdict(list)
            for need in pool.needs:
                needs_by_relevant[need.relevant].append(need)
            for relevant, needs in needs_by_relevant.items():
                with index.without(relevant):
                    for need in needs:
                        for system, ranking in self._rank(index, need, depth=1):
                            self.scores[system].removed.append(ranking.top_score)

    def _rank(self, index: PoolIndex, need: Need, *, depth: int = DEPTH) -> list[tuple[str, Ranking]]:
        vector = self.questions.get(question_key(clean_query(need.text)))
        return [(system.name, index.rank(system, need.text, vector, depth=depth)) for system in self.systems]
