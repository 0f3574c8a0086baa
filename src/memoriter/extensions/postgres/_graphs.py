"""Graphs of vectors (HNSW), one for each large script of a set, which find the nearest without comparing all.

A search compares with each script separately, because only deviations from its own mean can be compared across scripts.
How far a graph must be searched is measured on its own vectors; a set whose graphs find too little, or are no faster,
is compared as a whole.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.extensions.postgres._vectors import decode, literal_place
from memoriter.types import Diagnostic
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.extensions.postgres._server import Connection
    from memoriter.extensions.postgres._vectors import VectorSet

MOST_COMPARED = 50_000
"""Up to this many vectors, a search compares all: at 10,000 that takes the time of a graph, and misses nothing."""
LARGE = 5_000
"""Vectors of a script that get a graph; of a script with fewer, a search compares all."""
NEIGHBOURS = 24
EFFORT = 128
"""`m` and `ef_construction` of pgvector's graphs. Of 100,000 generated vectors, a search of 640 finds .996 of the
nearest ten with these, and .977 with pgvector's defaults, 16 and 64, which take half the time to make. Graphs of 1-bit
codes find .88, and a scan of all codes takes the time of comparing all vectors."""
MOST_DIMENSIONS = 4_000
"""Dimensions of `halfvec` that pgvector can put into a graph."""
MOST_SEARCHED = 1_000
"""The largest `hnsw.ef_search`."""
DEPTH = 10
SAMPLE_RECALL = 0.995
"""The share of the nearest `DEPTH` that must be found, with passages in place of questions."""
MARGIN = 2
"""How much further a graph is searched than passages need, because questions lie further off. With it, at least .99 of
the nearest to questions should be found, which `just bench-postgres` measures."""
QUERIES = 64
"""Vectors that are used as questions; every other one is moved by as much as vectors differ from their mean."""
STEPS = (4, 8, 16, 32, 48, 64, 100)
_MEMORY_BYTES = 2 << 30
"""The most memory that making a graph may take; with less, it takes several times as long."""
_SAFE = 1.5
MOST_TIME = 1.0
"""The time that searches through graphs may take, in the time of comparing all vectors."""


@dataclass(frozen=True, slots=True)
class Graphs:
    """What was measured of the graphs of a set."""

    scripts: tuple[str, ...]
    """The scripts that have a graph; none if the whole set is compared."""
    oversampling: int
    recall: float
    measured: int
    """The number of vectors at that time."""

    def dumps(self) -> str:
        return json.dumps([self.scripts, self.oversampling, self.recall, self.measured])


NONE = Graphs((), 0, 1.0, 0)
"""Graphs that were never made."""


def loads(text: str) -> Graphs:
    scripts, oversampling, recall, measured = json.loads(text)
    return Graphs(tuple(scripts), oversampling, recall, measured)


def key_of(vectors: VectorSet) -> str:
    """Return the name of the setting that holds `Graphs`; a rebuild does not take it along."""
    return f"graphs:{vectors.edition}:{vectors.id}"


def breadth(oversampling: int, limit: int) -> int:
    """Return how far a graph is searched for the best `limit`; the measurement holds for the best `DEPTH`."""
    return min(unbounded_breadth(oversampling, limit), MOST_SEARCHED)


def unbounded_breadth(oversampling: int, limit: float) -> int:
    """Return how far a graph is searched for the best `limit`, also beyond what `hnsw.ef_search` can be."""
    return max(round(2 * limit), round(oversampling * math.sqrt(max(limit, DEPTH) * DEPTH)))


def is_due(known: Graphs, vectors: int) -> bool:
    """Return whether graphs have to be made and measured: never before, or the set has grown by half or lost a half."""
    if not known.measured:
        return vectors > MOST_COMPARED
    return not known.measured / 2 <= vectors < known.measured * 1.5


def distance(dimensions: int) -> str:
    """Return the expression that a graph orders, over `known`."""
    return f"(known.vector::halfvec({int(dimensions)}))"


def may_make(connection: Connection, vectors: VectorSet) -> bool:
    """Return whether this user may make graphs: it has the rights of the owner of the tables."""
    owner = "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass(%s)"
    return connection.execute(owner, (f"vectors_of_{vectors.space}",)).fetchone() == (True,)


def left_to_owner(connection: Connection, vectors: VectorSet) -> tuple[Diagnostic, ...]:
    """Return the diagnostic of graphs that this user may not make; none if it may."""
    row = connection.execute(
        "SELECT pg_has_role(c.relowner, 'USAGE'), c.relowner::regrole::text, spaces.owner::text, spaces.name"
        " FROM pg_class c, spaces WHERE c.oid = to_regclass(%s) AND spaces.id = %s",
        (f"vectors_of_{vectors.space}", vectors.space),
    ).fetchone()
    if row is None or row[0]:
        return ()
    _, maker, owner, name = row
    message = f"Only {maker}, which owns the tables, may make graphs of the vectors of {name!r}; searches compare all."
    remedy = f"Let an administrator run `GRANT {owner} TO {maker};`, then run `memoriter index` as {maker}."
    return (Diagnostic("graphs_missing", message, remedy),)


def _known(connection: Connection, vectors: VectorSet) -> list[tuple[str, bool]]:
    """Return the names of the graphs of a space, and whether each is complete."""
    rows = connection.execute(
        "SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
        " WHERE i.indrelid = to_regclass(%s) AND starts_with(c.relname, 'graph_of_')",
        (f"vectors_of_{vectors.space}",),
    )
    return [(str(name), bool(valid)) for name, valid in rows]


def drop(connection: Connection, vectors: VectorSet) -> None:
    """Delete the graphs of a set, which would only cost time at every write."""
    prefix = f"graph_of_{vectors.space}_{vectors.edition}_{vectors.id}_"
    for name, _ in _known(connection, vectors):
        if name.startswith(prefix):
            connection.execute(f'DROP INDEX IF EXISTS "{name}"'.encode())


def make(connection: Connection, vectors: VectorSet) -> tuple[str, ...]:
    """Make the graphs of a set that are missing, and return the scripts that have one.

    The server answers searches and writes meanwhile. Graphs that are not complete, or of an edition that is gone, are
    deleted. The connection must be in autocommit mode and may take as long as it needs.
    """
    prefix = f"graph_of_{vectors.space}_{vectors.edition}_"
    for name, valid in _known(connection, vectors):
        if not valid or not name.startswith(prefix):
            connection.execute(f'DROP INDEX IF EXISTS "{name}"'.encode())
    if vectors.dimensions > MOST_DIMENSIONS:
        return ()
    counts = connection.execute(
        f"SELECT script, count(*) FROM vectors AS known WHERE {literal_place(vectors)} AND script IS NOT NULL"  # noqa: S608 (fixed text)
        " GROUP BY script ORDER BY script".encode()
    ).fetchall()
    large = {str(script): int(count) for script, count in counts if count >= LARGE and script.isidentifier()}
    for script, count in large.items():
        needed = _SAFE * count * (2 * vectors.dimensions + 12 * NEIGHBOURS + 200)
        megabytes = min(max(int(needed), 64 << 20), _MEMORY_BYTES) >> 20
        connection.execute("SELECT set_config('maintenance_work_mem', %s, false)", (f"{megabytes}MB",))
        connection.execute(
            f'CREATE INDEX CONCURRENTLY IF NOT EXISTS "{prefix}{vectors.id}_{script}" ON vectors_of_{vectors.space}'
            f" USING hnsw ((vector::halfvec({vectors.dimensions})) halfvec_ip_ops)"
            f" WITH (m = {NEIGHBOURS}, ef_construction = {EFFORT})"
            f" WHERE space = {vectors.space} AND edition = {vectors.edition} AND set = {vectors.id}"
            f" AND script = '{script}'".encode()
        )
    return tuple(large)


def measure_graphs(
    connection: Connection,
    vectors: VectorSet,
    scripts: tuple[str, ...],
    exactly: Callable[[NDArray[np.float32], int], list[float]],
    through: Callable[[NDArray[np.float32], int, Graphs], list[float]],
) -> Graphs:
    """Return the least oversampling with which the graphs of some scripts find enough, or no scripts if none does.

    Both functions return cosines: `exactly` of the nearest to a query, and `through` of what a search through graphs
    finds.
    """
    import numpy as np

    ((count,),) = connection.execute(
        f"SELECT count(*) FROM vectors AS known WHERE {literal_place(vectors)} AND script IS NOT NULL".encode()  # noqa: S608 (fixed text)
    ).fetchall()
    whole = Graphs((), 0, 1.0, int(count))
    if not scripts:
        return whole
    queries = _queries(connection, vectors)
    began = time.perf_counter()
    floors = [min(exactly(query, DEPTH)) for query in queries]
    exact_seconds = time.perf_counter() - began

    def try_out(oversampling: int) -> tuple[Graphs, float]:
        graphs = Graphs(scripts, oversampling, 0.0, int(count))
        began = time.perf_counter()
        found = [through(query, DEPTH, graphs) for query in queries]
        seconds = time.perf_counter() - began
        shares = [
            min(sum(cosine >= floor - 1e-6 for cosine in hits), DEPTH) / DEPTH
            for hits, floor in zip(found, floors, strict=True)
        ]
        return replace(graphs, recall=float(min(np.mean(shares[::2]), np.mean(shares[1::2])))), seconds

    for oversampling in STEPS:
        graphs, seconds = try_out(oversampling)
        if graphs.recall >= SAMPLE_RECALL:
            graphs, seconds = try_out(min(MARGIN * oversampling, STEPS[-1]))
        if seconds > MOST_TIME * exact_seconds:
            return whole
        if graphs.recall >= SAMPLE_RECALL:
            return graphs
    return whole


def _queries(connection: Connection, vectors: VectorSet) -> NDArray[np.float32]:
    """Return questions, (n, dims), unit length: vectors in the order of the hashes of their texts."""
    import numpy as np

    rows = connection.execute(
        f"SELECT vector_send(vector) FROM vectors AS known WHERE {literal_place(vectors)} AND script IS NOT NULL"  # noqa: S608 (fixed text)
        " ORDER BY key LIMIT %s".encode(),
        (QUERIES,),
        binary=True,
    ).fetchall()
    queries = decode([blob for (blob,) in rows], vectors.dimensions).astype(np.float64)
    residuals = queries - queries.mean(axis=0)
    spread = float(np.sqrt(np.einsum("ij,ij->i", residuals, residuals).mean() / vectors.dimensions))
    moved = queries[1::2]
    moved += np.random.default_rng(0).standard_normal(moved.shape) * spread
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    return queries.astype(np.float32)
