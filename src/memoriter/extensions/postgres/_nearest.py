"""The vector retriever: the chunks nearest to a query, and graphs (HNSW) that find them without comparing all vectors.

Each large script of a set has a graph, and a search compares with each script separately, because only deviations from
its own mean can be compared across scripts. How far a graph must be searched is measured on its own vectors; a set
whose graphs find too little, or are no faster, is compared as a whole.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from contextlib import closing, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from memoriter.extensions.postgres._conditions import Condition
from memoriter.extensions.postgres._vectors import decode, literal_place
from memoriter.extensions.postgres._words import Scope
from memoriter.types import Diagnostic
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.extensions.postgres._connections import Connection
    from memoriter.extensions.postgres._server import Server
    from memoriter.extensions.postgres._vectors import VectorSet
    from memoriter.types import ScriptBaselines

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


NO_GRAPHS = Graphs((), 0, 1.0, 0)
"""Graphs that were never made."""


def loads(text: str) -> Graphs:
    scripts, oversampling, recall, measured = json.loads(text)
    return Graphs(tuple(scripts), oversampling, recall, measured)


def key_of(vectors: VectorSet) -> str:
    """Return the name of the setting that holds `Graphs`; a rebuild does not take it along."""
    return f"graphs:{vectors.edition}:{vectors.id}"


def _breadth(oversampling: int, limit: float) -> int:
    """Return how far a graph is searched for the best `limit`, also beyond what `hnsw.ef_search` can be.

    The measurement holds for the best `DEPTH`.
    """
    return max(round(2 * limit), round(oversampling * math.sqrt(max(limit, DEPTH) * DEPTH)))


def is_due(known: Graphs, vectors: int) -> bool:
    """Return whether graphs have to be made and measured: never before, or the set has grown by half or lost a half."""
    if not known.measured:
        return vectors > MOST_COMPARED
    return not known.measured / 2 <= vectors < known.measured * 1.5


def _distance(dimensions: int) -> str:
    """Return the expression that a graph orders, over `known`."""
    return f"(known.vector::halfvec({int(dimensions)}))"


def _may_make_graphs(connection: Connection, vectors: VectorSet) -> bool:
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


def _drop_graphs(connection: Connection, vectors: VectorSet) -> None:
    """Delete the graphs of a set, which would only cost time at every write."""
    prefix = f"graph_of_{vectors.space}_{vectors.edition}_{vectors.id}_"
    for name, _ in _known(connection, vectors):
        if name.startswith(prefix):
            connection.execute(f'DROP INDEX IF EXISTS "{name}"'.encode())


def _make_graphs(connection: Connection, vectors: VectorSet) -> tuple[str, ...]:
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


def _measure(connection: Connection, vectors: VectorSet, made: tuple[str, ...]) -> Graphs:
    """Return the least oversampling with which the graphs of some scripts find enough, or no scripts if none does."""
    import numpy as np

    ((count,),) = connection.execute(
        f"SELECT count(*) FROM vectors AS known WHERE {literal_place(vectors)} AND script IS NOT NULL".encode()  # noqa: S608 (fixed text)
    ).fetchall()
    whole = Graphs((), 0, 1.0, int(count))
    if not made:
        return whole
    scripts = scripts_of(connection, vectors)
    everything = Scope(vectors.space, vectors.edition, Condition("true", ()), None)
    searches = [Search(vectors, query, DEPTH, everything) for query in _queries(connection, vectors)]
    began = time.perf_counter()
    floors = [_cosines(_of_vectors(connection, search, DEPTH), search).min() for search in searches]
    exact_seconds = time.perf_counter() - began

    def try_out(oversampling: int) -> tuple[Graphs, float]:
        graphs = Graphs(made, oversampling, 0.0, int(count))
        began = time.perf_counter()
        found = [
            _cosines(_through_graphs(connection, search, graphs, scripts, 2 * DEPTH), search) for search in searches
        ]
        seconds = time.perf_counter() - began
        shares = [
            min(np.count_nonzero(hits >= floor - 1e-6), DEPTH) / DEPTH
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


_SPARE = 8
"""Chunks that are read beyond the limit, because the server computes cosines in single precision."""
_LEFTOVERS = 64
"""Vectors that are read beyond twice the limit, because some may belong to chunks that are gone."""
_JOINED = "chunks.space = known.space AND chunks.edition = known.edition AND chunks.key = known.key"
LEAST = 5_000
"""Passing chunks of a script that a search through a graph is for: as many are compared in the time that it takes."""
SAMPLED = 500
"""Chunks by which the share that filters leave is estimated."""
COST = 10
"""About how many vectors can be compared in the time that a graph needs for one on its way, its filters included. A
wrong number costs time, but no hits."""
MOST_VISITED = 20_000
"""Vectors that a filtered search visits in a graph before it compares all that pass instead."""
_FURTHER = {
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.max_scan_tuples": "2147483647",
    "hnsw.scan_mem_multiplier": "32",
}
"""With these, a graph is searched until enough passes. At its bounds, pgvector gives what is left unsearched."""


class Share(NamedTuple):
    """What filters leave of the chunks of a script."""

    share: float
    """0..1."""
    chunks: float


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """A query for the chunks nearest to a vector."""

    vectors: VectorSet
    query: NDArray[np.float32]
    """(dims,), unit length."""
    limit: int
    scope: Scope
    levels: ScriptBaselines | None = None
    """Mean and deviation of the cosines of each script; with them, chunks are ordered by how far they stand out."""


def nearest(
    connection: Connection,
    search: Search,
    graphs: Graphs,
    scripts: Sequence[str],
    shares: Mapping[str, Share],
) -> list[tuple[int, float]]:
    """Return the chunks nearest to a query, best first, ties by id: (chunk id, exact cosine).

    Without graphs, all vectors are compared. With them, `scripts` are those of the set, and `shares` what filters leave
    of each.
    """
    if search.scope.is_everything:
        wanted = 2 * search.limit + _LEFTOVERS
        rows = (
            _through_graphs(connection, search, graphs, scripts, wanted)
            if graphs.scripts
            else _of_vectors(connection, search, wanted)
        )
        found = [row for row in rows if row[0] is not None]
        if len(found) >= search.limit + _SPARE or len(rows) < wanted:
            return _ranked(found, search)
    elif through := [
        script for script in graphs.scripts if script in shares and _leads(shares[script], search.limit, graphs)
    ]:
        rows = _through_filtered_graphs(connection, search, graphs, scripts, {each: shares[each] for each in through})
        if rows is not None:
            return _ranked(rows, search)
    return _ranked(_of_chunks(connection, search), search)


def renew(server: Server, vectors: VectorSet) -> Graphs | None:
    """Make and measure the graphs of a set while searches go on; return None if another user owns the tables."""
    with server.translating(), closing(server.connect()) as connection, server.unlimited(connection):
        if not _may_make_graphs(connection, vectors):
            return None
        graphs = _measure(connection, vectors, _make_graphs(connection, vectors))
        if not graphs.scripts:
            _drop_graphs(connection, vectors)
        return graphs


def scripts_of(connection: Connection, vectors: VectorSet) -> list[str]:
    """Return the scripts of the vectors of a set; the index on them leads from one to the next."""
    first = f"SELECT min(script) FROM vectors AS known WHERE {literal_place(vectors)}"  # noqa: S608 (fixed text)
    statement = (
        f"WITH RECURSIVE found(script) AS (({first}) UNION ALL"  # noqa: S608 (fixed text)
        f" SELECT ({first} AND known.script > found.script) FROM found WHERE found.script IS NOT NULL)"
        " SELECT script FROM found WHERE script IS NOT NULL"
    )
    return [str(script) for (script,) in connection.execute(statement.encode())]


def _of_vectors(connection: Connection, search: Search, wanted: int) -> list[tuple[Any, ...]]:
    """Compare all vectors, and look up the chunks of the best."""
    order, values = _order(search.levels)
    near = (
        f"SELECT * FROM (SELECT known.*, -(vector <#> %b) AS cosine FROM vectors AS known"  # noqa: S608 (fixed text; values are bound)
        f" WHERE {literal_place(search.vectors)} AND script IS NOT NULL) AS known ORDER BY {order} DESC LIMIT %s"
    )
    return _with_chunks(connection, near, (search.query, *values, wanted))


def _through_graphs(
    connection: Connection, search: Search, graphs: Graphs, scripts: Sequence[str], wanted: int
) -> list[tuple[Any, ...]]:
    """Compare what the graph of each large script leads to, and all vectors of the other scripts."""
    own = f"SELECT * FROM vectors AS known WHERE {literal_place(search.vectors)} AND script"  # noqa: S608 (fixed text)
    halved = f"halfvec({search.vectors.dimensions})"
    near = f" ORDER BY {_distance(search.vectors.dimensions)} <#> %b::vector::{halved} LIMIT %s"
    parts = list[str]()
    values = list[Any]()
    for script in scripts:
        if script in graphs.scripts:  # the server must see the name to know that a graph applies
            parts.append(f"({own} = '{script}'{near})")
            values += [search.query, wanted]
        else:
            parts.append(f"({own} = %s ORDER BY vector <#> %b LIMIT %s)")
            values += [script, search.query, wanted]
    breadth = min(max(_breadth(graphs.oversampling, search.limit), wanted), MOST_SEARCHED)
    with connection.pipeline(), _in_transaction(connection):
        connection.execute("SELECT set_config('hnsw.ef_search', %s, true)", (str(breadth),))
        return _with_chunks(connection, " UNION ALL ".join(parts), tuple(values))


def sample_shares(connection: Connection, scope: Scope) -> dict[str, Share]:
    """Return what filters leave of each script, estimated from chunks that are drawn from all ids."""
    here = f"chunks.space = {scope.space} AND chunks.edition = {scope.edition}"
    bounds = f"SELECT min(id) AS first, max(id) - min(id) + 1 AS ids FROM {scope.table} WHERE {here}"  # noqa: S608 (fixed text)
    places = f"SELECT first + mod(abs(hashint8(place)::bigint), ids) AS id, ids FROM ({bounds}) AS bounds, generate_series(1, %s) AS place"  # noqa: S608, E501 (fixed text)
    statement = (
        "SELECT seen.script, count(*), max(ids),"  # noqa: S608 (fixed text; values are bound)
        f" count((SELECT true FROM {scope.table} WHERE chunks.id = seen.id AND {scope.where} LIMIT 1))"
        f" FROM ({places}) AS places CROSS JOIN LATERAL"
        f" (SELECT id, script FROM {scope.table} WHERE {here} AND chunks.id = places.id LIMIT 1) AS seen"
        " GROUP BY seen.script"
    )
    rows = connection.execute(statement.encode(), (*scope.values, SAMPLED)).fetchall()
    return {
        str(script): Share(int(passing) / int(seen), int(passing) / SAMPLED * int(ids))
        for script, seen, ids, passing in rows
    }


def _visited(share: Share, limit: int, graphs: Graphs) -> int:
    """Return how many vectors of a graph are visited until the best `limit` that pass are found.

    Filters that leave a tenth ask for ten times as many of the nearest.
    """
    further = limit / max(share.share, 1e-6)
    return max(_breadth(graphs.oversampling, further), round(2 * further * (limit + _SPARE) / limit))


def _leads(share: Share, limit: int, graphs: Graphs) -> bool:
    """Return whether a graph leads to what filters leave of a script in less time than comparing all of that takes."""
    return share.chunks >= LEAST and _visited(share, limit, graphs) <= min(share.chunks / COST, MOST_VISITED)


def _through_filtered_graphs(
    connection: Connection, search: Search, graphs: Graphs, scripts: Sequence[str], through: Mapping[str, Share]
) -> list[tuple[Any, ...]] | None:
    """Compare what the graphs lead to and the filters leave; return None if a graph ended before it had enough.

    Of the scripts that are not in `through`, all that the filters leave is compared.
    """
    scope = search.scope
    wanted = search.limit + _SPARE
    # As an expression, the condition is tested along the way through a graph, whatever the server expects of it.
    passes = f"(SELECT true FROM {scope.table} WHERE chunks.key = known.key AND {scope.where} LIMIT 1)"  # noqa: S608 (fixed text; values are bound)
    own = f"FROM vectors AS known WHERE {literal_place(search.vectors)} AND script"
    near = f"{_distance(search.vectors.dimensions)} <#> %b::vector::halfvec({search.vectors.dimensions})"
    parts = list[str]()
    values = list[Any]()
    breadths = list[int]()
    for script, share in through.items():
        breadths.append(_visited(share, search.limit, graphs))
        enough = wanted if breadths[-1] <= MOST_SEARCHED else max(wanted, round(breadths[-1] * share.share))
        visited = f"SELECT known.* {own} = '{script}' ORDER BY {near} LIMIT %s"
        passing = f"SELECT * FROM ({visited}) AS known WHERE {passes} LIMIT %s"  # noqa: S608 (fixed text; values are bound)
        parts.append(f"(SELECT * FROM ({passing}) AS known ORDER BY vector <#> %b LIMIT %s)")  # noqa: S608 (fixed text; values are bound)
        most = min(round(share.chunks / COST), MOST_VISITED)
        values += [search.query, most, *scope.values, enough, search.query, wanted]
    with connection.pipeline(), _in_transaction(connection):
        settings = {**_FURTHER, "hnsw.ef_search": str(min(max(breadths), MOST_SEARCHED))}
        connection.execute(
            "SELECT set_config(name, value, true) FROM unnest(%s::text[], %s::text[]) AS given(name, value)",
            (list(settings), list(settings.values())),
        )
        rows = _with_chunks(connection, " UNION ALL ".join(parts), tuple(values), scope)
    counts = Counter(script for _, script, _ in rows)
    if any(counts[script] < search.limit for script in through):
        return None
    others = [script for script in scripts if script not in through]
    return [*rows, *_of_chunks(connection, search, others)] if others else rows


def _in_transaction(connection: Connection) -> AbstractContextManager[object]:
    """Return the transaction that is open, or a new one."""
    return connection.transaction() if connection.info.transaction_status.name == "IDLE" else nullcontext()


def _with_chunks(
    connection: Connection, near: str, values: tuple[Any, ...], scope: Scope | None = None
) -> list[tuple[Any, ...]]:
    """Return (chunk id, script, vector) of the chunks of some vectors; the id is None where a chunk is gone.

    With a scope, chunks outside it are left out.
    """
    joined = f"JOIN {scope.table} ON {_JOINED} WHERE {scope.where}" if scope else f"LEFT JOIN chunks ON {_JOINED}"
    statement = (
        f"WITH near AS MATERIALIZED ({near}) SELECT chunks.id, chunks.script, vector_send(known.vector)"  # noqa: S608 (fixed text; values are bound)
        f" FROM near AS known {joined}"
    )
    every = (*values, *scope.values) if scope else values
    return connection.execute(statement.encode(), every, binary=True).fetchall()


def _of_chunks(connection: Connection, search: Search, scripts: Sequence[str] | None = None) -> list[tuple[Any, ...]]:
    """Compare the vectors of all chunks that the filters leave, or of those in some scripts."""
    scope = search.scope
    order, values = _order(search.levels)
    found = (
        "SELECT chunks.id, chunks.script, known.key, -(known.vector <#> %b) AS cosine FROM vectors AS known"  # noqa: S608 (fixed text; values are bound)
        f" JOIN chunks ON {_JOINED} WHERE {literal_place(search.vectors)} AND {scope.where}"
        f"{'' if scripts is None else ' AND chunks.script = ANY(%s)'}"
    )
    statement = (
        "SELECT best.id, best.script, vector_send(known.vector)"  # noqa: S608 (fixed text; values are bound)
        f" FROM (SELECT id, script, key FROM ({found}) AS found ORDER BY {order} DESC, id LIMIT %s) AS best"
        f" JOIN vectors AS known ON known.key = best.key AND {literal_place(search.vectors)}"
    )
    inside = () if scripts is None else (list(scripts),)
    every = (search.query, *scope.values, *inside, *values, search.limit + _SPARE)
    return connection.execute(statement.encode(), every, binary=True).fetchall()


def _cosines(rows: Sequence[tuple[Any, ...]], search: Search) -> NDArray[np.float64]:
    """Return the exact cosines of (…, vector), (n,)."""
    import numpy as np

    vectors = decode([blob for *_, blob in rows], search.vectors.dimensions)
    return np.multiply(vectors, search.query, dtype=np.float64).sum(axis=1)


def _ranked(rows: Sequence[tuple[Any, ...]], search: Search) -> list[tuple[int, float]]:
    """Return the best of (chunk id, script, vector) by exact cosines, ties by id: (chunk id, cosine)."""
    import numpy as np

    if not rows:
        return []
    cosines = _cosines(rows, search)
    scores = cosines
    levels = search.levels
    if levels:
        of_rows = [levels.get(script, levels[""]) for _, script, _ in rows]
        means, deviations = np.array(of_rows, dtype=np.float64).T
        scores = (cosines - means) / deviations
    ids = np.array([row for row, *_ in rows], dtype=np.int64)
    best = np.lexsort((ids, -scores))[: search.limit]
    return list(zip(ids[best].tolist(), cosines[best].tolist(), strict=True))


def _order(levels: ScriptBaselines | None) -> tuple[str, tuple[Any, ...]]:
    """Return the SQL of the value by which chunks are ordered, over `cosine` and `script`, and its values."""
    if not levels:
        return "cosine", ()
    usual_mean, usual_deviation = levels[""]
    named = [(script, *level) for script, level in levels.items() if script]
    if not named:
        return "cosine", ()
    whens = " WHEN %s THEN (cosine - %s) / %s" * len(named)
    values = tuple(value for level in named for value in level)
    return f"CASE script{whens} ELSE (cosine - %s) / %s END", (*values, usual_mean, usual_deviation)
