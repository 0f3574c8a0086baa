"""Long-term memories by the hundred thousand: fill a table, then search, store, compact and forget in a new process.

Then several processes store into it at once.
"""

from __future__ import annotations

import contextlib
import json
import random
import resource
import statistics
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks._s3_server import OPTIONS
from benchmarks._vocabulary import vocabularies
from memoriter.extensions.longterm.api import LanceStore, LongTermMemory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks._vocabulary import Vocabulary

DIMENSIONS = 384
LATENT = 64
TOPICS = 2_000
"""The vectors lie around so many topics in a space of so many dimensions, with noise in all others."""
BATCH = 20_000
QUERIES = 100
EXACT_QUERIES = 5
UPSERTS = 150
WRITERS = 4
WRITES = 50
"""Processes that store at once, as on different machines, and the single memories that each of them stores."""
LIMIT = 10
TRUTH = "nearest.json"
"""The ids of the nearest memories of each query, which the filling process computes on the way."""
PRINCIPAL = "benchmark"


@dataclass(frozen=True, slots=True)
class Scale:
    """The figures of one size. Times are of the clock, in seconds or milliseconds, unless they are CPU seconds."""

    size: int
    filled: float
    """Memories per second, stored in batches."""
    fill_cpu: float
    compaction: float
    """Seconds of the first compaction after the fill, which builds the indexes."""
    compaction_cpu: float
    fill_peak: float
    """Largest resident memory while filling and indexing, in megabytes."""
    disk: float
    """Megabytes; 0: a bucket, whose size is not known."""
    indexed: int
    recall_at_10: float
    """Share of the ten most similar memories that a search finds."""
    search: tuple[float, float]
    """p50 and p99 in milliseconds, by meaning alone."""
    search_cpu: float
    """CPU milliseconds."""
    exact_cpu: float
    """CPU milliseconds of a search that compares all vectors."""
    worded: tuple[float, float]
    """p50 and p99 in milliseconds, by meaning and by word."""
    upsert: tuple[float, float]
    """p50 and the slowest of single upserts, in milliseconds; the slowest merges small files."""
    upsert_cpu: float
    """CPU milliseconds, merging included."""
    upserts: float
    """Single upserts per second, merging included."""
    fragments: int
    """Most data files during the upserts."""
    forget: float
    """Seconds to erase one memory from every version."""
    working: float
    """Largest resident memory of the process that searches and stores, in megabytes."""
    peak: float
    """The same once it has also compared all vectors, before the erasure."""
    together: float
    """Single upserts per second of `WRITERS` processes at once, in all."""
    met: tuple[float, float]
    """p50 and the slowest of these upserts, in milliseconds."""


def measure(place: str, size: int, folder: Path, endpoint: str = "") -> Scale:
    """Fill a new table at a place, in a process of its own, and measure it in others."""
    arguments = (place, str(size), str(folder), endpoint)
    filled = _figures(_child("fill", *arguments))
    used = _figures(_child("use", *arguments))
    return Scale(**{**filled, **used, **_stored_together(arguments, place, endpoint)})


def _child(task: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks._long_term_scale", task, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")


def _figures(child: subprocess.Popen[str]) -> dict[str, Any]:
    printed, _ = child.communicate()
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, child.args)
    return json.loads(printed.splitlines()[-1])


def _stored_together(arguments: tuple[str, ...], place: str, endpoint: str) -> dict[str, Any]:
    """Let several processes store single memories at once. Each begins when all have opened the table."""
    store = _opened(place, endpoint)
    before = store.count(principal=PRINCIPAL)
    writers = [_child("write", *arguments, str(number)) for number in range(WRITERS)]
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.readline()
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    with _timed() as all_of_them:
        times = [time for writer in writers for time in _figures(writer)["stored"]]
    if (count := store.count(principal=PRINCIPAL)) != before + len(times):
        raise SystemExit(f"{len(times)} memories were stored on top of {before}, and the table has {count}.")
    return {
        "together": len(times) / all_of_them[0],
        "met": (1000 * statistics.median(times), 1000 * max(times)),
    }


def memory(number: int) -> LongTermMemory:
    return LongTermMemory(
        id=str(uuid.UUID(int=number + 1)),
        text="The {} {} of {} needs {} {} and {}.".format(*words(number, 6)),
        created_at=float(number),
        origin="owner",
        principal=PRINCIPAL,
    )


def words(number: int, count: int) -> list[str]:
    """Return words of a topic; a number always gives the same ones."""
    source = random.Random(number)
    return [_english().draw(source, number % 48) for _ in range(count)]


@cache
def _english() -> Vocabulary:
    return vocabularies(7)["en"]


def vectors(count: int, seed: int) -> np.ndarray:
    """Return vectors of unit length (count, DIMENSIONS)."""
    fixed = np.random.default_rng(3)
    drawn = np.random.default_rng(seed)
    plane = fixed.standard_normal((LATENT, DIMENSIONS), dtype=np.float32) / np.sqrt(np.float32(LATENT))
    topics = fixed.standard_normal((TOPICS, LATENT), dtype=np.float32)
    points = topics[drawn.integers(0, TOPICS, count)] + np.float32(0.8) * drawn.standard_normal(
        (count, LATENT), dtype=np.float32
    )
    made = points @ plane + np.float32(0.15) * drawn.standard_normal((count, DIMENSIONS), dtype=np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def _fill(place: str, size: int, folder: Path, endpoint: str) -> dict[str, Any]:
    store = _opened(place, endpoint)
    queries = vectors(QUERIES, 1)
    best = np.full((QUERIES, LIMIT), -2.0, np.float32)
    numbers = np.zeros((QUERIES, LIMIT), np.int64)
    spent = cpu = 0.0
    for start in range(0, size, BATCH):
        count = min(BATCH, size - start)
        batch = vectors(count, 1000 + start)
        both = np.hstack([best, queries @ batch.T])
        known = np.hstack([numbers, np.broadcast_to(np.arange(start, start + count), (QUERIES, count))])
        order = np.argsort(-both, axis=1)[:, :LIMIT]
        best = np.take_along_axis(both, order, 1)
        numbers = np.take_along_axis(known, order, 1)
        memories = [memory(start + each) for each in range(count)]
        with _timed() as time_of:
            store.store(memories, list(batch))
        spent += time_of[0]
        cpu += time_of[1]
    with _timed() as compaction:
        store.maintain()
    truth = [[memory(int(number)).id for number in row] for row in numbers]
    (folder / TRUTH).write_text(json.dumps(truth), encoding="utf-8")
    return {
        "size": size,
        "filled": size / spent,
        "fill_cpu": cpu,
        "compaction": compaction[0],
        "compaction_cpu": compaction[1],
        "fill_peak": peak(),
        "disk": (store.state().bytes or 0) / 1e6,
        "indexed": store.state().indexed,
    }


def _use(place: str, size: int, folder: Path, endpoint: str) -> dict[str, Any]:
    store = _opened(place, endpoint)
    queries = vectors(QUERIES, 1)
    truth = json.loads((folder / TRUTH).read_text(encoding="utf-8"))

    def search(number: int, words: str = "") -> list[str]:
        found = store.search(queries[number], principal=PRINCIPAL, limit=LIMIT, trusted=True, words=words)
        return [each.memory.id for each in found]

    search(0)  # opens the table
    found = [search(number) for number in range(QUERIES)]
    recall = statistics.fmean(len({*ids} & {*right}) / LIMIT for ids, right in zip(found, truth, strict=True))
    with _timed() as used:
        times = _times(search, QUERIES)
    worded = _times(lambda number: search(number, " ".join(words(-number - 1, 2))), QUERIES)
    before = store.state().memories
    fragments = 0
    cpu = 0.0
    added = vectors(UPSERTS, 2)
    stored = list[float]()
    for number in range(UPSERTS):
        with _timed() as one:
            store.store([memory(size + number)], [added[number]])
        stored.append(one[0])
        cpu += one[1]
        fragments = max(fragments, store.state().fragments) if number % 10 == 9 else fragments
    working = peak()
    all_compared = _opened(place, endpoint, exact_below=sys.maxsize)
    all_compared.count(principal=PRINCIPAL)  # opens the table
    with _timed() as exact:
        for vector in queries[:EXACT_QUERIES]:
            all_compared.search(vector, principal=PRINCIPAL, limit=LIMIT, trusted=True)
    largest = peak()
    with _timed() as forgotten:
        store.delete([memory(1).id], principal=PRINCIPAL)
        store.maintain(erase=True)
    assert store.state().memories in (before - 1, before + UPSERTS - 1)
    return {
        "recall_at_10": recall,
        "search": _cuts(times),
        "search_cpu": 1000 * used[1] / QUERIES,
        "exact_cpu": 1000 * exact[1] / EXACT_QUERIES,
        "worded": _cuts(worded),
        "upsert": (1000 * statistics.median(stored), 1000 * max(stored)),
        "upsert_cpu": 1000 * cpu / UPSERTS,
        "upserts": UPSERTS / sum(stored),
        "fragments": fragments,
        "forget": forgotten[0],
        "working": working,
        "peak": largest,
    }


def _write(place: str, size: int, _folder: Path, endpoint: str, writer: int) -> dict[str, Any]:
    store = _opened(place, endpoint)
    added = vectors(WRITES, 10 + writer)
    store.count(principal=PRINCIPAL)  # opens the table
    first = size + UPSERTS + writer * WRITES
    print("ready", flush=True)
    sys.stdin.readline()
    times = list[float]()
    for number in range(WRITES):
        with _timed() as one:
            store.store([memory(first + number)], [added[number]])
        times.append(one[0])
    return {"stored": times}


def _opened(place: str, endpoint: str, **given: Any) -> LanceStore:
    options = {**OPTIONS, "endpoint": endpoint} if endpoint else {}
    return LanceStore(place, model="benchmark", dimensions=DIMENSIONS, options=options, **given)


def _times(run: Callable[[int], object], count: int) -> list[float]:
    times = list[float]()
    for number in range(count):
        with _timed() as one:
            run(number)
        times.append(one[0])
    return times


def _cuts(times: list[float]) -> tuple[float, float]:
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    return 1000 * cuts[49], 1000 * cuts[98]


@contextlib.contextmanager
def _timed() -> Iterator[list[float]]:
    """Yield a list that holds the seconds of the clock and of the processor when the block is left."""
    start = time.perf_counter()
    cpu = time.process_time()
    result = list[float]()
    yield result
    result += [time.perf_counter() - start, time.process_time() - cpu]


def resident() -> float:
    """Return the resident memory of this process, in megabytes; where the system has no `/proc`, the largest so far."""
    status = Path("/proc/self/status")
    if not status.exists():
        return peak()
    (line,) = (line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def peak() -> float:
    """Return the largest resident memory of this process so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)


if __name__ == "__main__":
    task, place, size, folder, endpoint, *rest = sys.argv[1:]
    tasks: dict[str, Callable[..., dict[str, Any]]] = {"fill": _fill, "use": _use, "write": _write}
    print(json.dumps(tasks[task](place, int(size), Path(folder), endpoint, *(int(each) for each in rest))))
