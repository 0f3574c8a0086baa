"""The vector retriever: the chunks nearest to a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.postgres._vectors import decode

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.postgres._server import Connection
    from memoriter.postgres._vectors import VectorSet
    from memoriter.postgres._words import Scope
    from memoriter.types import ScriptBaselines

_JOINED = (
    "FROM vectors AS known JOIN chunks ON chunks.space = known.space AND chunks.edition = known.edition"
    " AND chunks.key = known.key WHERE known.space = %s AND known.edition = %s AND known.set = %s"
)


_SPARE = 8
"""Chunks that are read beyond the limit, because the server computes cosines in single precision."""


def nearest(
    connection: Connection,
    vectors: VectorSet,
    query: NDArray[np.float32],
    *,
    limit: int,
    scope: Scope,
    levels: ScriptBaselines | None,
) -> list[tuple[int, float]]:
    """Return the chunks nearest to a query, best first, ties by id: (chunk id, exact cosine). All are compared.

    Args:
        connection: the connection.
        vectors: the set that is searched.
        query: (dims,), unit length.
        limit: the most chunks.
        scope: the chunks that may be returned.
        levels: mean and deviation of the cosines of each script; with them, chunks are ordered by how far they stand
            out in their script.
    """
    order, values = _order(levels)
    found = f"SELECT chunks.id, chunks.script, known.key, -(known.vector <#> %b) AS cosine {_JOINED} AND {scope.where}"
    statement = (
        "SELECT best.id, best.script, vector_send(known.vector)"  # noqa: S608 (fixed text; values are bound)
        f" FROM (SELECT id, script, key FROM ({found}) AS found ORDER BY {order} DESC, id LIMIT %s) AS best"
        " JOIN vectors AS known ON known.space = %s AND known.edition = %s AND known.set = %s AND known.key = best.key"
    )
    every = (query, *vectors.key, *scope.values, *values, limit + _SPARE, *vectors.key)
    rows = connection.execute(statement.encode(), every, binary=True).fetchall()
    return ranked(rows, query, limit=limit, levels=levels)


def ranked(
    rows: Sequence[tuple[Any, ...]], query: NDArray[np.float32], *, limit: int, levels: ScriptBaselines | None
) -> list[tuple[int, float]]:
    """Return the best chunks by exact cosines, ties by id: (chunk id, cosine).

    Args:
        rows: chunk ids, scripts and vectors as `vector_send` gives them.
        query: (dims,), unit length.
        limit: the most chunks.
        levels: mean and deviation of the cosines of each script.
    """
    import numpy as np

    vectors = decode([blob for *_, blob in rows], query.shape[0])
    cosines = np.multiply(vectors, query, dtype=np.float64).sum(axis=1)
    scores = cosines
    if levels:
        of_rows = [levels.get(script, levels[""]) for _, script, _ in rows]
        means, deviations = np.array(of_rows, dtype=np.float64).reshape(-1, 2).T
        scores = (cosines - means) / deviations
    ids = np.array([row for row, *_ in rows], dtype=np.int64)
    best = np.lexsort((ids, -scores))[:limit]
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
