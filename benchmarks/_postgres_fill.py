"""One store of each kind with the same notes. What gives rates is written in turns; the rest at the same time."""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks._postgres_copy import CopyFiller
from benchmarks._prepared_notes import batches
from benchmarks._vectors import WordVectors
from memoriter.extensions.postgres.api import PostgresStore, ServerSettings
from memoriter.index import Index
from memoriter.sync import learn_background

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks._postgres_servers import LocalServer
    from benchmarks._prepared_notes import Batch
    from memoriter.store import Store

SCHEMA = "benchmark"
KINDS = ("sqlite", "postgres")
_POOL = 2


@dataclass(slots=True)
class Filling:
    """The work of one store."""

    store: Store
    cpu: Callable[[], float]
    """Returns the CPU seconds that this process and the server have used."""
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def add(self, batch: Batch) -> None:
        """Store a batch as an indexing run does, without splitting and embedding."""
        began = time.perf_counter()
        cpu = self.cpu()
        for source, digest, entries in batch.notes:
            self.store.put_file(source, digest, entries)
        row_of = {key: row for row, key in enumerate(batch.keys)}
        keys = [key for key, _ in self.store.missing(len(batch.keys)) if key in row_of]
        self.store.put_vectors(keys, batch.vectors[[row_of[key] for key in keys]])
        self.seconds += time.perf_counter() - began
        self.cpu_seconds += self.cpu() - cpu


def open_store(kind: str, place: str, name: str) -> Store:
    """Open a store of the benchmark: a file of SQLite, or a space on a server whose dsn `place` is."""
    store: Store
    if kind == "sqlite":
        index = Index.open(Path(place) / f"{name}.sqlite", clock=time.monotonic)
        index.choose_engine("auto")
        store = index
    else:
        settings = ServerSettings(dsn=place, schema=SCHEMA, pool_size=_POOL, statement_timeout_ms=3_600_000)
        store = PostgresStore.open(settings, name, clock=time.monotonic)
    store.use_vectors(WordVectors.spec)
    return store


def fill(prepared: Path, size: int, folder: Path, server: LocalServer) -> dict[str, Any]:
    """Fill both stores with at least `size` passages, and return the figures of each.

    All but the last batch go into SQLite through its own methods, into PostgreSQL with COPY. The last one goes through
    the methods of both stores and gives the rates.

    Args:
        prepared: the folder of prepared notes.
        size: the least number of passages.
        folder: where the file of SQLite is made.
        server: where the space is made.
    """
    name = str(size)
    _register(server, name)
    sqlite = Filling(open_store("sqlite", str(folder), name), time.process_time)
    passages = sum(batch.passages for batch in batches(prepared, size))  # now both processes find all notes prepared
    texts = 0
    last = None
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        copying = process.submit(_copy, prepared, size, server.dsn, name)
        for batch in batches(prepared, size):
            texts += len(batch.keys)
            if last is not None:
                with sqlite.store.lease():
                    sqlite.add(last)
            last = batch
        indexes = copying.result()
    postgres = Filling(open_store("postgres", server.dsn, name), lambda: time.process_time() + server.cpu_seconds())
    figures = dict[str, Any](passages=passages, texts=texts)
    for kind, each in (("sqlite", sqlite), ("postgres", postgres)):
        if last is None:
            raise ValueError("There are no notes.")
        each.seconds = each.cpu_seconds = 0.0
        with each.store.lease():
            each.add(last)
            learn_background(each.store, WordVectors.spec)
        finished = time.perf_counter()
        each.store.purge()
        figures[kind] = {
            "stored_per_second": last.passages / each.seconds,
            "cpu_ms_per_passage": 1000 * each.cpu_seconds / last.passages,
            "purge_seconds": time.perf_counter() - finished,
            "waiting": each.store.waiting(),
            "chunks": each.store.corpus().chunks,
        }
        each.store.close()
    figures["sqlite"]["bytes"] = {"file": sum(file.stat().st_size for file in folder.glob(f"{name}.sqlite*"))}
    figures["postgres"] |= {"index_seconds": indexes, "bytes": relation_bytes(server, name)}
    return figures


def _copy(prepared: Path, size: int, dsn: str, name: str) -> dict[str, float]:
    """Copy all but the last batch into PostgreSQL, and return the seconds that each index took."""
    copied = CopyFiller(dsn, SCHEMA, name)
    last = None
    for batch in batches(prepared, size):
        if last is not None:
            copied.add(last)
        last = batch
    return copied.finish()


def _register(server: LocalServer, name: str) -> None:
    """Store one vector and delete it, so that the space knows the model."""
    store = open_store("postgres", server.dsn, name)
    with store.storing():
        store.put_vectors([b"first"], np.eye(1, WordVectors.spec.dimensions, dtype=np.float32))
        store.evict(max_entries=0, max_bytes=0)
    store.close()


def exact_cosines(
    prepared: Path, size: int, queries: np.ndarray, depth: int, folders: tuple[str, ...]
) -> dict[str, list[float]]:
    """Return for each folder the cosine of its passage of rank `depth` of each query, by all vectors as they were made.

    Args:
        prepared: the folder of prepared notes.
        size: the least number of passages.
        queries: (n, dims), unit length.
        depth: the rank.
        folders: the folders of notes; "" has all.
    """
    best = {folder: np.full((len(queries), 0), -1.0) for folder in folders}
    for batch in batches(prepared, size):
        row_of = {key: row for row, key in enumerate(batch.keys)}
        for folder, before in best.items():
            notes = [entries for source, _, entries in batch.notes if source.path.startswith(folder)]
            rows = [row_of[entry.key] for entries in notes for entry in entries]
            cosines = queries.astype(np.float64) @ batch.vectors[rows].T.astype(np.float64)
            best[folder] = np.sort(np.hstack([before, cosines]), axis=1)[:, -depth:]
    return {folder: found[:, 0].tolist() for folder, found in best.items()}


def relation_bytes(server: LocalServer, name: str) -> dict[str, int]:
    """Return the bytes of each table and index of a space; the numbers in their names are left out."""
    import psycopg

    statement = (
        "SELECT relation.relname, coalesce(main.relname, ''), pg_relation_size(relation.oid) +"
        " CASE WHEN relation.relkind = 'r' THEN coalesce(pg_total_relation_size(nullif(relation.reltoastrelid, 0)), 0)"
        " ELSE 0 END FROM pg_class AS relation"
        " JOIN pg_namespace AS schema ON schema.oid = relation.relnamespace AND schema.nspname = %s"
        " LEFT JOIN pg_index ON pg_index.indexrelid = relation.oid LEFT JOIN pg_class AS main ON main.oid = indrelid"
        " WHERE relation.relkind IN ('r', 'i')"
    )
    with psycopg.connect(server.dsn) as connection:
        row = connection.execute(f"SELECT id FROM {SCHEMA}.spaces WHERE name = %s".encode(), (name,)).fetchone()
        mark = f"_of_{row[0] if row else 0}"
        found = connection.execute(statement, (SCHEMA,)).fetchall()
    parts = dict[str, int]()
    for relation, table, size in found:
        if (table or relation).endswith(mark):
            label = relation.replace(mark, "")
            parts[label] = parts.get(label, 0) + int(size)
    return parts
