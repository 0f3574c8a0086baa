"""Runs of every ranking method over every question of a set, and tables of the results.

Each pool of documents is in a real index, stored as sync would store it; vectors are kept between runs.
"""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from memoriter.embed import embed_in_batches, open_provider, spec_of
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
from memoriter.ids import content_hash, fingerprint, text_key
from memoriter.index import Index
from memoriter.search import CosineBaseline, SearchSettings, clean_query, rank
from memoriter.sync import ChunkingSettings, Progress, entry_of, learn_background, texts_of
from memoriter.types import Chunk, Filters, Source
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.extensions.evals._datasets import Dataset, Document, Need, Pool
    from memoriter.types import ModelSpec, Role

    Rows = Mapping[bytes, NDArray[np.float32]]

SAVE_INTERVAL = 500
"""New vectors after which the file is written, the most that an interrupted run can lose."""
Words = Literal["analysed", "classic"]

DAY = date(2026, 1, 1).toordinal()
"""Day of every document, so that decay has no effect."""
DEPTH = 10
"""Number of hits that are judged."""
CANDIDATES = 40
"""Candidates from each retriever for any number of hits, as many as in a search for ten."""


def question_key(text: str) -> bytes:
    """Return the storage key of a question's vector, which differs from that of a document with the same text."""
    return bytes.fromhex(content_hash(f"query\0{text}"))[:16]


@dataclass(frozen=True, slots=True)
class VectorStore:
    """One provider's vectors in one file of a folder. The file can be deleted at any time."""

    provider: str
    folder: Path
    models: Path
    """Cache folder of the provider."""

    @property
    def spec(self) -> ModelSpec:
        return spec_of(self.provider)

    @property
    def file(self) -> Path:
        return self.folder / f"vectors-{fingerprint(self.spec)}.npz"

    def vectors(self, texts: Mapping[bytes, str], role: Role, progress: Callable[[Progress], None]) -> Rows:
        """Return a vector (dims,) for each key, without the texts that the provider refuses. Raises EmbeddingError."""
        stored = self._load()
        missing = {key: text for key, text in texts.items() if key not in stored}
        if missing:
            self._embed_missing(stored, missing, role, progress)
        return {key: stored[key] for key in texts if key in stored}

    def _embed_missing(
        self,
        stored: dict[bytes, NDArray[np.float32]],
        missing: Mapping[bytes, str],
        role: Role,
        progress: Callable[[Progress], None],
    ) -> None:
        """Embed the missing texts, and save after every `SAVE_INTERVAL` vectors and at the end."""
        provider = open_provider(self.provider, cache_dir=self.models)
        keys = list(missing)
        saved_count = len(stored)
        processed = 0
        try:
            for batch in embed_in_batches(provider, list(missing.values()), role=role):
                stored.update(zip((keys[position] for position in batch.positions), batch.vectors, strict=True))
                processed += len(batch.positions) + len(batch.failures)
                progress(Progress("embed", processed, len(keys)))
                if len(stored) - saved_count >= SAVE_INTERVAL:
                    self._save(stored)
                    saved_count = len(stored)
        finally:
            provider.close()
            self._save(stored)

    def _load(self) -> dict[bytes, NDArray[np.float32]]:
        import numpy as np

        if not self.file.is_file():
            return {}
        with np.load(self.file, allow_pickle=False) as stored:
            keys = stored["keys"]
            rows = stored["rows"]
        return dict(zip((key.tobytes() for key in keys), rows, strict=True))

    def _save(self, stored: Mapping[bytes, NDArray[np.float32]]) -> None:
        import numpy as np

        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self.file.with_suffix(f".{os.getpid()}.npz")
        keys = np.frombuffer(b"".join(stored), dtype=np.uint8).reshape(-1, 16)
        np.savez(temporary, keys=keys, rows=_to_matrix(stored.values(), self.spec.dimensions))
        temporary.replace(self.file)


def _to_matrix(rows: Iterable[NDArray[np.float32]], dimensions: int) -> NDArray[np.float32]:
    import numpy as np

    return np.array(list(rows), dtype=np.float32).reshape(-1, dimensions)


@dataclass(frozen=True, slots=True)
class System:
    """A ranking method."""

    name: str
    settings: SearchSettings
    words: Words = "analysed"
    use_vector: bool = True
    """True if the question's vector is used."""


SYSTEMS = (
    System("keyword alone", SearchSettings(), use_vector=False),
    System("vector alone", SearchSettings(hybrid=False)),
    System("classic", SearchSettings(scoring="classic"), words="classic"),
    System("calibrated", SearchSettings()),
)
OURS = SYSTEMS[-1]
RRF = System("RRF", SearchSettings(scoring="rrf"))


@dataclass(frozen=True, slots=True)
class Ranking:
    """The documents that one search found."""

    documents: tuple[str, ...]
    """Ids, best first."""
    top_score: float
    """Score of the first hit, 0 without hits."""


@dataclass(slots=True)
class PoolIndex:
    """An open index of one pool.

    A session is a file with one chunk for each turn. Any other document is a file of its own.
    """

    index: Index
    spec: ModelSpec
    chunking: ChunkingSettings
    vectors: Rows
    files: dict[str, list[tuple[Document, Chunk]]]
    background: CosineBaseline
    _document_ids: dict[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])

    @classmethod
    @contextmanager
    def build(
        cls, file: Path, pool: Pool, *, words: Words, vectors: Rows, spec: ModelSpec, clock: Callable[[], float]
    ) -> Generator[PoolIndex]:
        """Open a new index of all documents of a pool, with their vectors."""
        with Index.open(file, clock=clock) as index:
            index.choose_engine("exact")
            index.use_vectors(spec)
            prior = CosineBaseline.of_model(spec.background)
            pool_index = cls(
                index, spec, ChunkingSettings(words=words), vectors, _group_into_files(pool.documents), prior
            )
            with index.lease():
                for path in pool_index.files:
                    pool_index.write(path)
            pool_index.store_vectors()
            pool_index.learn_background()
            yield pool_index

    def write(self, path: str, without: Collection[str] = ()) -> None:
        """Index one file without some of its documents, or remove it if no document is left."""
        kept = [(document, chunk) for document, chunk in self.files[path] if document.id not in without]
        if not kept:
            self.index.remove_files([path])
            return
        self._document_ids |= {(path, chunk.start_line): document.id for document, chunk in kept}
        text = "\n".join(chunk.text for _, chunk in kept)
        source = Source(path, "memory", Path(path), len(text.encode("utf-8", "replace")), 0)
        entries = [entry_of(chunk, DAY, self.chunking) for _, chunk in kept]
        self.index.put_file(source, content_hash(text), entries)

    def store_vectors(self) -> None:
        chunks = [chunk for chunks in self.files.values() for _, chunk in chunks]
        keys = dict.fromkeys(text_key(text) for chunk in chunks for text in texts_of(chunk, self.chunking))
        available = [key for key in keys if key in self.vectors]
        rows = _to_matrix((self.vectors[key] for key in available), self.spec.dimensions)
        self.index.put_vectors(available, rows)

    def learn_background(self) -> None:
        """Measure the similarity of unrelated chunks, as sync does after every change."""
        self.background = learn_background(self.index, self.spec)

    @contextmanager
    def without(self, documents: Collection[str]) -> Generator[None]:
        """Remove documents within the context, as if never written: terms, vectors, neighbours and baseline change."""
        paths = [path for path, chunks in self.files.items() if any(document.id in documents for document, _ in chunks)]
        background = self.background
        with self.index.lease():
            for path in paths:
                self.write(path, documents)
        self.learn_background()
        try:
            yield
        finally:
            with self.index.lease():
                for path in paths:
                    self.write(path)
            self.background = background

    def rank(self, system: System, text: str, vector: NDArray[np.float32] | None, *, depth: int = DEPTH) -> Ranking:
        """Return the first `depth` hits of any score, found as the backend finds them."""
        settings = replace(
            system.settings,
            background=self.background,
            max_results=depth,
            candidate_multiplier=CANDIDATES // depth,
            min_score=float("-inf"),
        )
        query_vector = vector if system.use_vector else None
        hits = rank(self.index, clean_query(text), query_vector, settings, filters=Filters(), now=0.0)
        documents = tuple(self._document_ids[hit.path, hit.start_line] for hit in hits)
        return Ranking(documents, hits[0].score if hits else 0.0)


def _group_into_files(documents: Sequence[Document]) -> dict[str, list[tuple[Document, Chunk]]]:
    """Return the documents as consecutive chunks of files, by path."""
    files: defaultdict[str, list[tuple[Document, Chunk]]] = defaultdict(list)
    for document in documents:
        chunks = files[f"memory/{document.session or document.id}.md"]
        start = chunks[-1][1].end_line + 1 if chunks else 1
        chunks.append((document, Chunk(start, start + document.text.count("\n"), document.text)))
    return dict(files)


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
            *(
                each
                for system in result.systems
                for each in (system.by_kind[kind].ndcg_10, system.by_kind[kind].recall_10)
            ),
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
        passages = Passages(Passage(document.id, document.id, 1, document.text) for document in pool.documents)
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
