"""Two replicas of a server: whether they answer as it does, and how far behind they are while it is written."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, Any

from benchmarks._postgres_fill import open_store
from benchmarks._prepared_notes import batches, questions
from benchmarks._search_process import ANYWHERE
from benchmarks._timing import quantile
from benchmarks._vectors import WordVectors
from memoriter.search import SearchSettings, rank
from memoriter.sync import background_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks._postgres_servers import LocalServer
    from memoriter.store import Store

COUNT = 2
_POLL_SECONDS = 0.005
_MARK_EVERY = 5
_SAMPLE_SECONDS = 0.05
_LONGEST_WAIT = 120.0
_LAG = (
    "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::bigint FROM pg_stat_replication"
    " WHERE replay_lsn IS NOT NULL"
)


def measure(
    prepared: Path, size: int, folder: Path, primary: LocalServer, *, seconds: float, asked: int
) -> dict[str, Any]:
    """Copy the primary twice, write to it for some seconds, and return figures.

    Args:
        prepared: the folder of prepared notes.
        size: the size of the space that is written and searched.
        folder: where the replicas are made.
        primary: the server.
        seconds: how long to write.
        asked: the number of questions whose answers are compared.
    """
    began = time.perf_counter()
    replicas = [primary.replica(folder, f"replica-{number}") for number in range(1, COUNT + 1)]
    copying = time.perf_counter() - began
    try:
        stores = [open_store("postgres", server.dsn, str(size)) for server in (primary, *replicas)]
        before = _agreement(stores, asked)
        load = _under_load(prepared, stores, primary, seconds)
        _wait_for_all(stores)
        after = _agreement(stores, asked)
        for store in stores:
            store.close()
    finally:
        for server in replicas:
            server.stop()
    return {"copying_seconds": copying, "questions": asked, "equal_before": before, "equal_after": after, **load}


def _agreement(stores: list[Store], asked: int) -> list[int]:
    """Return for each replica how many questions have the primary's hits, in its order, with exactly its scores."""
    answers = list[list[Any]]()
    for store in stores:
        settings = SearchSettings(background=background_of(store, WordVectors.spec))
        found = [rank(store, text, vector, settings, filters=ANYWHERE, now=0.0) for text, vector in questions(asked)]
        answers.append([[(hit.path, hit.start_line, hit.score) for hit in hits] for hits in found])
    first, *others = answers
    return [sum(ours == theirs for ours, theirs in zip(first, each, strict=True)) for each in others]


def _under_load(prepared: Path, stores: list[Store], primary: LocalServer, seconds: float) -> dict[str, Any]:
    """Write notes of the same content under other names, and watch the replicas meanwhile."""
    done = threading.Event()
    behind = list[int]()
    seen = [list[tuple[float, int]]() for _ in stores[1:]]
    threads = [threading.Thread(target=_sample, args=(primary, done, behind))]
    threads += [threading.Thread(target=_watch, args=each) for each in zip(stores[1:], repeat(done), seen)]
    for thread in threads:
        thread.start()
    try:
        written, taken, commits = _write(prepared, stores[0], seconds)
    finally:
        _wait_for_all(stores)
        done.set()
        for thread in threads:
            thread.join()
    late = [each for versions in seen for each in _delays(commits, versions)]
    return {
        "written_per_second": written / taken,
        "visible_ms": {"p50": quantile(late, 0.5), "p99": quantile(late, 0.99), "worst": max(late), "count": len(late)},
        "behind_bytes": {"p50": quantile(behind, 0.5), "p99": quantile(behind, 0.99), "worst": max(behind)},
    }


def _write(prepared: Path, store: Store, seconds: float) -> tuple[int, float, list[tuple[float, int]]]:
    """Write for some seconds; return the passages, the seconds, and (time, version) after some commits."""
    written = 0
    commits = list[tuple[float, int]]()
    began = time.perf_counter()
    with store.lease():
        for batch in batches(prepared, 2**40):
            for number, (source, digest, entries) in enumerate(batch.notes):
                store.put_file(replace(source, path=f"copy/{source.path}"), digest, entries)
                written += len(entries)
                if number % _MARK_EVERY == 0:
                    committed = time.perf_counter()
                    commits.append((committed, store.version()))
                if (taken := time.perf_counter() - began) >= seconds:
                    return written, taken, commits
    raise AssertionError("the notes have no end")


def _watch(store: Store, done: threading.Event, seen: list[tuple[float, int]]) -> None:
    """Note each new version that a replica has, with its time."""
    while not done.wait(_POLL_SECONDS):
        version = store.version()
        if not seen or version != seen[-1][1]:
            seen.append((time.perf_counter(), version))


def _sample(primary: LocalServer, done: threading.Event, behind: list[int]) -> None:
    """Note how many bytes of the log each replica has yet to apply."""
    import psycopg

    with psycopg.connect(primary.dsn, autocommit=True) as connection:
        while not done.wait(_SAMPLE_SECONDS):
            behind += [max(0, int(count)) for (count,) in connection.execute(_LAG).fetchall()]


def _delays(commits: list[tuple[float, int]], seen: list[tuple[float, int]]) -> Iterator[float]:
    """Yield the ms from each commit until a replica has that version or a later one."""
    for committed, version in commits:
        yield 1000 * max(0.0, next(moment for moment, known in seen if known >= version) - committed)


def _wait_for_all(stores: list[Store]) -> None:
    """Return once every replica has the last version of the primary."""
    first, *others = stores
    deadline = time.perf_counter() + _LONGEST_WAIT
    while any(each.version() != first.version() for each in others):
        if time.perf_counter() > deadline:
            raise TimeoutError("A replica does not follow.")
        time.sleep(_SAMPLE_SECONDS)
    time.sleep(_SAMPLE_SECONDS)  # the watchers see it, too
