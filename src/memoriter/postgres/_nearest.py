"""The vector retriever: the chunks nearest to a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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


def nearest(
    connection: Connection,
    vectors: VectorSet,
    query: NDArray[np.float32],
    *,
    limit: int,
    scope: Scope,
    levels: ScriptBaselines | None,
) -> list[tuple[int, float]]:
    """Return the chunks nearest to a query, best first, ties by id: (chunk id, cosine). All are compared.

    Args:
        connection: the connection.
        vectors: the set that is searched.
        query: (dims,), unit length.
        limit: the most chunks.
        scope: the chunks that may be returned.
        levels: mean and deviation of the cosines of each script; with them, chunks are ordered by how far they stand
            out in their script.
    """
    found = f"SELECT chunks.id, chunks.script, -(known.vector <#> %b) AS cosine {_JOINED} AND {scope.where}"
    order, values = _order(levels)
    statement = f"SELECT id, cosine FROM ({found}) AS found ORDER BY {order} DESC, id LIMIT %s"  # noqa: S608 (fixed text; values are bound)
    every = (query, *vectors.key, *scope.values, *values, limit)
    rows = connection.execute(statement.encode(), every).fetchall()
    return [(int(row), float(cosine)) for row, cosine in rows]


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
