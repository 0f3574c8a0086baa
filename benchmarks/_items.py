"""Notes of short bullets, where most vectors are those of items: the costs of items in time and space.

Both sides of each ratio are measured alternately in one process, on the same notes.
"""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from benchmarks._filled_index import FilledIndex
from benchmarks._report import Row
from benchmarks._search import budget
from benchmarks._timing import Times, timed
from benchmarks._vectors import WordVectors
from benchmarks._workspace import BenchWorkspace
from memoriter.embed import embed_in_batches, open_provider
from memoriter.index import Index
from memoriter.search import SearchSettings, clean_query, rank
from memoriter.sync import ChunkingSettings, background_of, chunks_of, texts_of
from memoriter.types import Filters

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from benchmarks._corpus import Corpus
    from benchmarks._effort import Effort
    from memoriter.embed import EmbeddingProvider

HYBRID_MS = ((1_000, 4.0), (10_000, 4.0), (100_000, 12.0), (1_000_000, 40.0))
CHUNKS_A_SECOND = 3_000
SEARCH_RATIO = 2.0
"""Measured 1.3-1.45 at 1,000 and 10,000 chunks. A search that read the items of every chunk would be far above."""
SIZE_RATIO = 2.0
"""Measured 1.96. It was 3.5 with the vectors of items in full precision."""
FIRST_INDEX_RATIO = 3.0
"""Measured 2.6, with 4.7 texts for each chunk: the text of an item is shorter."""
LARGEST = 10_000
"""Chunks of the notes that are indexed twice, with and without items."""
ANYWHERE = Filters()
_CPU = 0
_WALL = 1


class WithoutItems:
    """An index that a search reads as if no chunk had items."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def __getattr__(self, name: str) -> object:
        return getattr(self._index, name)

    def item_vectors(self, ids: Collection[int]) -> tuple[list[int], list[int], list[str], NDArray[np.float32]]:
        del ids
        return [], [], [], np.empty((0, WordVectors.spec.dimensions), dtype=np.float32)


def search_of_items(folder: Path, size: int, effort: Effort) -> Iterator[Row]:
    """Yield the rows of a search in an index of short bullets, with and without their vectors, and of its size."""
    filled = FilledIndex.make(folder / "items" / "main.sqlite", size, questions=effort.questions, bullets=True)
    with_items, without, ratio = _searches(filled, effort)
    title = "warm hybrid search, short bullets with item vectors"
    limit = budget(HYBRID_MS, size)
    yield Row("items.search", title, size, with_items.p50 * 1000, "ms", with_items.p95 * 1000, budget=limit)
    yield Row("items.without", "- without item vectors", size, without.p50 * 1000, "ms", without.p95 * 1000)
    yield Row("items.ratio", "- CPU time relative to this", size, ratio, "x", budget=SEARCH_RATIO, ratio=True)
    if size > LARGEST:
        return
    bare = FilledIndex.make(folder / "bare" / "main.sqlite", size, questions=0, bullets=True, items=False)
    larger = _dense_bytes(filled.path) / _dense_bytes(bare.path)
    yield Row("items.size", "index of short bullets / without items", size, larger, "x", budget=SIZE_RATIO, ratio=True)


def _searches(filled: FilledIndex, effort: Effort) -> tuple[Times, Times, float]:
    """Return wall times with and without items, and the ratio of the CPU times of all questions."""
    with Index.open(filled.path, clock=time.monotonic) as index:
        vectors = WordVectors()
        index.use_vectors(vectors.spec)
        index.choose_engine("auto")
        settings = SearchSettings(background=background_of(index, vectors.spec))
        texts = [clean_query(text) for text in filled.questions]
        readers = (index, WithoutItems(index))
        measured: list[list[list[tuple[float, float]]]] = [[], []]
        for text, vector in zip(texts, vectors.embed(texts, role="query"), strict=True):
            rounds: tuple[list[tuple[float, float]], ...] = ([], [])
            for number in range(effort.repeats + 1):
                for reader, times in zip(readers, rounds, strict=True):
                    cpu = time.process_time()
                    wall = time.perf_counter()
                    rank(reader, text, vector, settings, filters=ANYWHERE, now=0.0)  # pyright: ignore[reportArgumentType]
                    if number:
                        times.append((time.process_time() - cpu, time.perf_counter() - wall))
            for side, times in zip(measured, rounds, strict=True):
                side.append(times)
    walls = [Times(tuple(median(each[_WALL] for each in times) for times in side)) for side in measured]
    cpus = [sum(median(each[_CPU] for each in times) for times in side) for side in measured]
    return walls[0], walls[1], cpus[0] / cpus[1]


def _dense_bytes(path: Path) -> int:
    """Return the size of an index after it was compacted, which leaves out pages that happen to be free."""
    with Index.open(path, clock=time.monotonic) as index:
        return index.compact(max_entries=0, max_bytes=0).bytes_after


def indexing_of_items(folder: Path, corpus: Corpus, size: int) -> Iterator[Row]:
    """Yield the row of reindexing notes of short bullets whose vectors are all cached."""
    workspace = BenchWorkspace.of(folder / "bullets", corpus, size)
    with workspace.open_index() as index:
        seconds = min(timed(lambda: workspace.sync(index, force=True)) for _ in range(3))
    title = "reindexing short bullets, all vectors cached"
    rate = corpus.chunks / seconds
    yield Row("items.reindex", title, size, rate, "chunks/s", budget=CHUNKS_A_SECOND, more=True)


def first_index_of_items(cache_dir: Path, corpus: Corpus, effort: Effort) -> Iterator[Row]:
    """Yield the row that compares the model's work on notes of short bullets with and without items."""
    settings = ChunkingSettings()
    chunks = [chunk for note in corpus.notes for chunk in chunks_of(note.text, settings)][: effort.embedded]
    own = [chunk.contextual for chunk in chunks]
    everything = [text for chunk in chunks for text in texts_of(chunk, settings)]
    provider = open_provider("bundled", cache_dir=cache_dir)
    try:
        provider.hint_batch_size(10_000)
        provider.embed(own[:1], role="document")
        ratios = [_cpu(provider, everything) / _cpu(provider, own) for _ in range(min(effort.repeats, 2))]
    finally:
        provider.close()
    title = "bundled model, CPU time of short bullets with items / without"
    yield Row("embed.items", title, 0, min(ratios), "x", budget=FIRST_INDEX_RATIO, ratio=True)


def _cpu(provider: EmbeddingProvider, texts: list[str]) -> float:
    before = time.process_time()
    for _ in embed_in_batches(provider, texts, role="document"):
        pass
    return time.process_time() - before
