"""`python -m benchmarks.long_term`: single upserts into a LanceDB table, and what they leave behind.

Each memory is stored by a call of its own, as agents do. Fragments, versions, size and memory of the process must not
grow with the number of calls; searches and a final erasure are timed, too.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import tempfile
import time
import uuid
from pathlib import Path

import numpy as np

from memoriter.longterm import LanceStore, LongTermMemory

DIMENSIONS = 384
FRAGMENTS, VERSIONS, GROWTH = 80, 2_000, 400
"""The most fragments and versions at any time, and the most megabytes by which the process may grow."""
SEARCHES = 200


def main() -> int:
    """Return 0, or 1 if a bound does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upserts", type=int, default=10_000)
    count = parser.parse_args().upserts
    random = np.random.default_rng(7)
    vectors = random.normal(size=(count, DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    with tempfile.TemporaryDirectory(prefix="memoriter-long-term-") as folder:
        store = LanceStore(str(Path(folder) / "lancedb"), model="benchmark", dimensions=DIMENSIONS)
        store.store([_memory(0)], [vectors[0]])
        before, fragments, versions, size, began = _resident(), 0, 0, 0, time.process_time()
        for number in range(1, count):
            store.store([_memory(number)], [vectors[number]])
            if number % 100 == 99:
                state = store.state()
                fragments, versions = max(fragments, state.fragments), max(versions, state.versions)
                size = max(size, state.bytes or 0)
        spent, growth = time.process_time() - began, _resident() - before
        times = list[float]()
        for vector in vectors[:SEARCHES]:
            start = time.perf_counter()
            store.search(vector, principal="benchmark", limit=5)
            times.append((time.perf_counter() - start) * 1000)
        start = time.process_time()
        store.delete([_memory(1).id], principal="benchmark")
        store.maintain(erase=True)
        erased, state = time.process_time() - start, store.state()
    cuts = statistics.quantiles(times, n=100)
    print(f"{count:,} single upserts: {spent:.1f} CPU-s, {1000 * spent / count:.2f} CPU-ms each")
    print(f"most at any time: {fragments} fragments, {versions} versions, {size / 1e6:.1f} MB on disk")
    print(f"the process grew by {growth:.0f} MB")
    print(f"search of {count:,}: p50 {cuts[49]:.1f} ms, p99 {cuts[98]:.1f} ms")
    print(
        f"forgetting one memory: {erased:.2f} CPU-s; {state.fragments} fragments and {state.versions} versions remain"
    )
    return int(fragments > FRAGMENTS or versions > VERSIONS or growth > GROWTH or state.memories != count - 1)


def _memory(number: int) -> LongTermMemory:
    return LongTermMemory(
        id=str(uuid.UUID(int=number + 1)),
        text=f"Statement {number}: the value of parameter {number * 7919} is {number % 97}.",
        created_at=float(number),
        origin="owner",
        principal="benchmark",
    )


def _resident() -> float:
    """Return the largest resident memory of this process so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)


if __name__ == "__main__":
    sys.exit(main())
