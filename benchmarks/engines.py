"""`python -m benchmarks.engines`: exact search, memoriter's codes and usearch, on vectors of the bundled model.

usearch is no dependency of memoriter: `pip install usearch`. Without it, its rows are left out. The passages are
sentences in four languages, which a seed makes; their vectors are kept in a folder, because making them takes long.
"""

from __future__ import annotations

import argparse
import importlib
import random
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks._corpus import SEED, NoteGenerator
from benchmarks._timing import each
from benchmarks._vocabulary import vocabularies
from memoriter.embed import embed_in_batches, open_provider, spec_of
from memoriter.ids import vector_key
from memoriter.index import Index
from memoriter.records import ChunkRecord
from memoriter.types import Chunk, Filters, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from memoriter.index import EngineName

PART = 5_000
"""Sentences whose vectors are in one file of the folder."""
QUESTIONS = 200
DEPTH = 10
A_FILE = 100
"""Chunks of a note."""
REPEATS = 3
USEARCH = {
    "f16, 64 wide": {"dtype": "f16", "expansion_search": 64},
    "f16, 256 wide": {"dtype": "f16", "expansion_search": 256},
    "i8, 256 wide": {"dtype": "i8", "expansion_search": 256},
}
"""Settings of usearch; the others are its own. `expansion_search` is how many nodes of the graph a search looks at."""
MODULES = ("_codes_engine", "_segments", "_binary_quantization")
ANYWHERE = Filters()


class Figures(NamedTuple):
    """What one engine needs, and what it finds."""

    engine: str
    passages: int
    recall: float
    """Of the ten nearest, the share that is found."""
    p50_ms: float
    p95_ms: float
    build_s: float
    megabytes: float
    """On disk, beside the vectors themselves."""


def main() -> None:
    """Measure each size and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10000,50000,100000")
    parser.add_argument("--vectors", type=Path, default=Path("build/engine-vectors"), help="where vectors are kept")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    texts, rows = embedded(options.vectors, max(sizes))
    questions = question_vectors(options.vectors)
    print("| passages | engine | recall@10 | median ms | 95 % ms | build s | MB |")
    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    for size in sizes:
        for figures in measure(texts[:size], rows[:size], questions):
            print(
                f"| {figures.passages:,} | {figures.engine} | {figures.recall:.3f} | {figures.p50_ms:.2f} "
                f"| {figures.p95_ms:.2f} | {figures.build_s:.1f} | {figures.megabytes:.1f} |",
                flush=True,
            )
    print(f"\nThe codes are {own_lines()} lines.")


def measure(texts: Sequence[str], rows: NDArray[np.float32], questions: NDArray[np.float32]) -> Iterator[Figures]:
    """Yield the figures of each engine."""
    nearest = [set(np.argsort(-(rows @ question), kind="stable")[:DEPTH].tolist()) for question in questions]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "main.sqlite"
        numbers = fill(path, texts, rows)
        yield of_index(path, "exact", numbers, questions, nearest)
        yield of_index(path, "codes", numbers, questions, nearest)
        try:
            usearch: Any = importlib.import_module("usearch.index")
        except ImportError:
            return
        for name, settings in USEARCH.items():
            started = time.perf_counter()
            graph = usearch.Index(ndim=rows.shape[1], metric="ip", **settings)
            graph.add(np.arange(len(rows)), rows, threads=1)
            file = Path(folder) / "graph.usearch"
            graph.save(str(file))
            build = time.perf_counter() - started

            def search(question: NDArray[np.float32], graph: Any = graph) -> list[int]:
                return graph.search(question, DEPTH).keys.tolist()

            yield figures_of(f"usearch, {name}", search, (questions, nearest), len(rows), (build, file.stat().st_size))


def of_index(
    path: Path, engine: EngineName, numbers: dict[int, int], questions: NDArray[np.float32], nearest: list[set[int]]
) -> Figures:
    """Return the figures of one of memoriter's engines; `numbers` has the row of each chunk."""
    with Index.open(path, clock=time.monotonic) as index:
        index.choose_engine(engine)
        index.use_vectors(spec_of("bundled"))
        started = time.perf_counter()
        index.settle()
        build = time.perf_counter() - started

        def search(question: NDArray[np.float32]) -> list[int]:
            return [numbers[chunk] for chunk, _ in index.vector_search(question, limit=DEPTH, filters=ANYWHERE)]

        figures = figures_of(engine, search, (questions, nearest), len(numbers), (build, 0))
    with closing(sqlite3.connect(path)) as connection:
        columns = "length(ids) + length(places) + length(factors) + length(codes)"
        (size,) = connection.execute(f"SELECT coalesce(sum({columns}), 0) FROM code_segments").fetchone()
    return figures._replace(megabytes=size / 1e6 if engine == "codes" else 0.0)


def figures_of(
    name: str,
    search: Callable[[NDArray[np.float32]], list[int]],
    asked: tuple[NDArray[np.float32], list[set[int]]],
    passages: int,
    built: tuple[float, int],
) -> Figures:
    """Return the figures of an engine that is ready; `built` has the seconds that it took, and its bytes."""
    questions, nearest = asked
    build, size = built
    found = [set(search(question)) for question in questions]
    recall = sum(len(got & wanted) for got, wanted in zip(found, nearest, strict=True)) / (DEPTH * len(nearest))
    times = each(search, list(questions), repeats=REPEATS)
    return Figures(name, passages, recall, times.p50 * 1000, times.p95 * 1000, build, size / 1e6)


def fill(path: Path, texts: Sequence[str], rows: NDArray[np.float32]) -> dict[int, int]:
    """Make an index of sentences with their vectors, and return the row of each chunk."""
    chunks = [Chunk(1 + number % A_FILE, 1 + number % A_FILE, text) for number, text in enumerate(texts)]
    keys = [vector_key(chunk) for chunk in chunks]
    numbers: dict[int, int] = {}
    with Index.open(path, clock=time.monotonic) as index, index.lease():
        index.use_vectors(spec_of("bundled"))
        for first in range(0, len(texts), A_FILE):
            records = [
                ChunkRecord(chunks[place], keys[place], texts[place], len(texts[place].split()), b"", 1)
                for place in range(first, min(first + A_FILE, len(texts)))
            ]
            name = f"{first}.md"
            index.put_file(Source(name, "memory", Path("/") / name, 1, 1), name, records)
            index.put_vectors(keys[first : first + A_FILE], rows[first : first + A_FILE])
            numbers |= {chunk: first + place for place, chunk in enumerate(index.ids_at(name))}
    return numbers


def embedded(folder: Path, count: int) -> tuple[list[str], NDArray[np.float32]]:
    """Return sentences, each once, and their vectors; those that the folder lacks are computed."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = NoteGenerator(vocabularies(SEED), random.Random(SEED))
    provider = open_provider("bundled", cache_dir=folder)
    texts: list[str] = []
    parts: list[NDArray[np.float32]] = []
    seen: set[str] = set()
    while len(texts) < count:
        part = sorted(_new_sentences(generator, seen), key=len)
        file = folder / f"sentences-{len(parts):03}.npy"
        if not file.exists():
            rows = np.empty((PART, provider.spec.dimensions), np.float32)
            for batch in embed_in_batches(provider, part, role="document"):
                rows[list(batch.positions)] = batch.vectors
            np.save(file, rows)
        texts += part
        parts.append(np.load(file))
    provider.close()
    order = np.random.default_rng(SEED).permutation(len(texts))
    return [texts[place] for place in order], np.concatenate(parts)[order]


def _new_sentences(generator: NoteGenerator, seen: set[str]) -> Iterator[str]:
    before = len(seen)
    while len(seen) < before + PART:
        sentence = generator.sentence()
        if sentence not in seen:
            seen.add(sentence)
            yield sentence


def question_vectors(folder: Path) -> NDArray[np.float32]:
    """Return the vectors of questions, (n, dims)."""
    file = folder / "questions.npy"
    if not file.exists():
        generator = NoteGenerator(vocabularies(SEED), random.Random(SEED + 1))
        provider = open_provider("bundled", cache_dir=folder)
        rows = [provider.embed([generator.question()], role="query")[0] for _ in range(QUESTIONS)]
        np.save(file, np.array(rows))
        provider.close()
    return np.load(file)


def own_lines() -> int:
    """Return the lines of the modules that only the codes need."""
    folder = Path(__file__).parents[1] / "src" / "memoriter" / "index" / "vectors"
    return sum(len((folder / f"{name}.py").read_text(encoding="utf-8").splitlines()) for name in MODULES)


if __name__ == "__main__":
    main()
