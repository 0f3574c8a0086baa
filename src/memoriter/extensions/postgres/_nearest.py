"""The vector retriever: the chunks nearest to a query."""

from __future__ import annotations

from collections import Counter
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from memoriter.extensions.postgres._conditions import Condition
from memoriter.extensions.postgres._graphs import (
    MOST_SEARCHED,
    NONE,
    breadth,
    distance,
    drop,
    make,
    may_make,
    measure_graphs,
    unbounded_breadth,
)
from memoriter.extensions.postgres._vectors import decode, literal_place
from memoriter.extensions.postgres._words import Scope
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.extensions.postgres._graphs import Graphs
    from memoriter.extensions.postgres._server import Connection, Server
    from memoriter.extensions.postgres._vectors import VectorSet
    from memoriter.types import ScriptBaselines

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


_UNKNOWN: Mapping[str, Share] = {}


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
    graphs: Graphs = NONE,
    scripts: Sequence[str] = (),
    shares: Mapping[str, Share] = _UNKNOWN,
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
        if not may_make(connection, vectors):
            return None
        graphs = measure(connection, vectors, make(connection, vectors))
        if not graphs.scripts:
            drop(connection, vectors)
        return graphs


def measure(connection: Connection, vectors: VectorSet, made: tuple[str, ...]) -> Graphs:
    """Return how far the graphs of the scripts that have one must be searched, or no graphs if they are of no use."""
    scripts = scripts_of(connection, vectors)

    def exactly(query: NDArray[np.float32], limit: int) -> list[float]:
        return _cosines(_of_vectors(connection, _anywhere(vectors, query, limit), limit), vectors, query)

    def through(query: NDArray[np.float32], limit: int, graphs: Graphs) -> list[float]:
        search = _anywhere(vectors, query, limit)
        return _cosines(_through_graphs(connection, search, graphs, scripts, 2 * limit), vectors, query)

    return measure_graphs(connection, vectors, made, exactly, through)


def _anywhere(vectors: VectorSet, query: NDArray[np.float32], limit: int) -> Search:
    return Search(vectors, query, limit, Scope(vectors.space, vectors.edition, Condition("true", ()), None))


def _cosines(rows: Sequence[tuple[Any, ...]], vectors: VectorSet, query: NDArray[np.float32]) -> list[float]:
    import numpy as np

    found = decode([blob for *_, blob in rows], vectors.dimensions)
    return np.multiply(found, query, dtype=np.float64).sum(axis=1).tolist()


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
    near = f" ORDER BY {distance(search.vectors.dimensions)} <#> %b::vector::{halved} LIMIT %s"
    parts = list[str]()
    values = list[Any]()
    for script in scripts:
        if script in graphs.scripts:  # the server must see the name to know that a graph applies
            parts.append(f"({own} = '{script}'{near})")
            values += [search.query, wanted]
        else:
            parts.append(f"({own} = %s ORDER BY vector <#> %b LIMIT %s)")
            values += [script, search.query, wanted]
    breadth_of = max(breadth(graphs.oversampling, search.limit), min(wanted, MOST_SEARCHED))
    with connection.pipeline(), _in_transaction(connection):
        connection.execute("SELECT set_config('hnsw.ef_search', %s, true)", (str(breadth_of),))
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
    return max(unbounded_breadth(graphs.oversampling, further), round(2 * further * (limit + _SPARE) / limit))


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
    near = f"{distance(search.vectors.dimensions)} <#> %b::vector::halfvec({search.vectors.dimensions})"
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


def _ranked(rows: Sequence[tuple[Any, ...]], search: Search) -> list[tuple[int, float]]:
    """Return the best of (chunk id, script, vector) by exact cosines, ties by id: (chunk id, cosine)."""
    import numpy as np

    if not rows:
        return []
    vectors = decode([blob for *_, blob in rows], search.vectors.dimensions)
    cosines = np.multiply(vectors, search.query, dtype=np.float64).sum(axis=1)
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
