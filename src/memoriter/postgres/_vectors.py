"""Vector sets, the vectors of texts by key, and the vector retriever."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from memoriter.errors import BadVector, EmbeddingError
from memoriter.ids import fingerprint
from memoriter.types import Chunk, Item

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.postgres._server import Connection
    from memoriter.postgres._words import Scope
    from memoriter.types import ModelSpec, ScriptBaselines

NO_SET = -1
"""The number of a set that is not registered."""


class VectorSet(NamedTuple):
    """Vectors of one model in one edition."""

    space: int
    edition: int
    id: int
    dimensions: int

    @property
    def key(self) -> tuple[int, int, int]:
        return (self.space, self.edition, self.id)


def find_set(connection: Connection, spec: ModelSpec, space: int, edition: int) -> VectorSet | None:
    """Return the set of a model, or None. Raises EmbeddingError: its vectors have another length."""
    row = connection.execute(
        "SELECT id, dimensions FROM sets WHERE space = %s AND edition = %s AND fingerprint = %s",
        (space, edition, fingerprint(spec)),
    ).fetchone()
    if row is None:
        return None
    if row[1] != spec.dimensions:
        raise EmbeddingError(
            f"The vectors of {spec.model!r} in the index have {row[1]} dimensions, the model gives {spec.dimensions}.",
            remedy="Name the model's dimensions in the configuration, or run `memoriter index --force`.",
        )
    return VectorSet(space, edition, row[0], row[1])


def register(connection: Connection, spec: ModelSpec, space: int, edition: int, *, now: float) -> None:
    """Register the set of a model; do nothing if it exists."""
    if spec.dimensions < 1:
        raise EmbeddingError(
            f"{spec.model!r} gives vectors of {spec.dimensions} dimensions.", remedy="Choose another model."
        )
    connection.execute(
        "INSERT INTO sets(space, edition, fingerprint, dimensions, spec, created_at) VALUES (%s, %s, %s, %s, %s, %s)"
        " ON CONFLICT DO NOTHING",
        (space, edition, fingerprint(spec), spec.dimensions, json.dumps(asdict(spec)), now),
    )


_OWN = "known.space = %s AND known.edition = %s AND known.set = %s"
_WITHOUT = (
    "NOT EXISTS (SELECT 1 FROM vectors AS known WHERE known.space = {of}.space AND known.edition = {of}.edition"
    " AND known.set = %s AND known.key = {of}.key)"
    " AND NOT EXISTS (SELECT 1 FROM failures AS known WHERE known.space = {of}.space AND known.edition = {of}.edition"
    " AND known.set = %s AND known.key = {of}.key)"
)
UNUSED = (
    "NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.space = known.space AND chunks.edition = known.edition"
    " AND chunks.key = known.key) AND NOT EXISTS (SELECT 1 FROM items WHERE items.space = known.space"
    " AND items.edition = known.edition AND items.key = known.key)"
)
"""An SQL condition on rows with a key, `known`: neither a chunk nor an item refers to it."""
_PASSAGE = "chunks.start_line, chunks.end_line, chunks.text, chunks.heading"
_OF_ITEMS = (
    "FROM items JOIN chunks ON chunks.space = items.space AND chunks.edition = items.edition AND chunks.id = items.chunk"
    " WHERE items.space = %s AND items.edition = %s"
)


def make_chunk(start_line: int, end_line: int, text: str, heading: str) -> Chunk:
    return Chunk(start_line, end_line, text, tuple(cast("list[str]", json.loads(heading))) if heading else ())


def missing(connection: Connection, vectors: VectorSet, limit: int, of: Collection[int]) -> list[tuple[bytes, str]]:
    """Return up to `limit` (key, text) without a vector or a failure: of chunks, then of items."""
    texts = dict[bytes, str]()
    without = _WITHOUT.format(of="chunks")
    scope = "chunks.space = %s AND chunks.edition = %s"
    chosen = f"SELECT chunks.key, {_PASSAGE} FROM chunks WHERE {scope} AND {without} ORDER BY chunks.id LIMIT %s"  # noqa: S608 (fixed text)
    values: tuple[Any, ...] = (vectors.space, vectors.edition, vectors.id, vectors.id, limit)
    if of:
        chosen = (
            f"SELECT chunks.key, {_PASSAGE} FROM unnest(%s::bigint[]) WITH ORDINALITY AS wanted(id, place)"  # noqa: S608 (fixed text)
            f" JOIN chunks ON chunks.id = wanted.id WHERE {scope} AND {without} ORDER BY wanted.place LIMIT %s"
        )
        values = (list(of), *values)
    else:  # several chunks may share a text
        chosen = (
            f"SELECT key, start_line, end_line, text, heading FROM (SELECT DISTINCT ON (chunks.key) chunks.id, chunks.key, {_PASSAGE}"  # noqa: S608, E501 (fixed text)
            f" FROM chunks WHERE {scope} AND {without} ORDER BY chunks.key, chunks.id) AS first ORDER BY id LIMIT %s"
        )
    for key, *passage in cast("Iterable[tuple[Any, ...]]", connection.execute(chosen.encode(), values)):
        texts.setdefault(bytes(key), make_chunk(*passage).contextual)
    if of or len(texts) >= limit:
        return list(texts.items())
    statement = (
        f"SELECT items.key, items.first, items.last, {_PASSAGE} {_OF_ITEMS} AND {_WITHOUT.format(of='items')}"
        " ORDER BY items.chunk, items.first LIMIT %s"
    )
    rows = connection.execute(statement.encode(), (*vectors.key[:2], vectors.id, vectors.id, 4 * limit))
    for key, first, last, *passage in cast("Iterable[tuple[Any, ...]]", rows):
        if len(texts) >= limit:
            break
        texts.setdefault(bytes(key), make_chunk(*passage).contextual_item(Item(first, last)))
    return list(texts.items())


def count_waiting(connection: Connection, vectors: VectorSet) -> tuple[int, int]:
    """Return the number of vectors that chunks and items wait for, and of chunks that wait for theirs or an item's."""
    chunks = _WITHOUT.format(of="chunks")
    own = f"SELECT count(*) FROM chunks WHERE chunks.space = %s AND chunks.edition = %s AND {chunks}"  # noqa: S608 (fixed text)
    place = (*vectors.key[:2], vectors.id, vectors.id)
    ((waiting,),) = connection.execute(own.encode(), place).fetchall()
    statement = (
        f"SELECT count(*), count(DISTINCT CASE WHEN {chunks} THEN NULL ELSE items.chunk END)"
        f" {_OF_ITEMS} AND {_WITHOUT.format(of='items')}"
    )
    values = (vectors.id, vectors.id, *place)
    ((items, owners),) = connection.execute(statement.encode(), values).fetchall()
    return int(waiting) + int(items), int(waiting) + int(owners)


_EMBEDDED = (
    "FROM chunks JOIN {table} AS known ON known.space = chunks.space AND known.edition = chunks.edition"
    f" AND known.key = chunks.key WHERE {_OWN}"
)


def count_of(connection: Connection, vectors: VectorSet, table: str) -> int:
    """Return the number of chunks that have a row in `vectors` or `failures`."""
    statement = f"SELECT count(*) {_EMBEDDED.format(table=table)}"
    ((count,),) = connection.execute(statement.encode(), vectors.key).fetchall()
    return int(count)


def put(
    connection: Connection, vectors: VectorSet, keys: Sequence[bytes], rows: NDArray[np.float32], *, now: float
) -> None:
    """Store vectors of unit length under their keys, and clear the failures of these keys."""
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO vectors(space, edition, set, key, used_at, vector) VALUES (%s, %s, %s, %s, %s, %s)"
            " ON CONFLICT (space, edition, set, key) DO UPDATE SET used_at = excluded.used_at, vector = excluded.vector",
            [(*vectors.key, key, now, row) for key, row in zip(keys, rows, strict=True)],
        )
    connection.execute(
        "DELETE FROM failures WHERE space = %s AND edition = %s AND set = %s AND key = ANY(%s)",
        (*vectors.key, list(keys)),
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
    """Return the chunks nearest to a query, best first, ties by id: (chunk id, cosine)."""
    score, values = "cosine", list[Any]()
    if levels:
        named = [(script, *level) for script, level in levels.items() if script]
        score = "(cosine - coalesce(level.mean, %s)) / coalesce(level.deviation, %s)"
        values += [*levels[""]]
    level = (
        " LEFT JOIN (SELECT * FROM unnest(%s::text[], %s::float8[], %s::float8[]) AS level(script, mean, deviation)) AS level"
        " USING (script)"
        if levels
        else ""
    )
    statement = (
        "SELECT id, cosine FROM (SELECT chunks.id, chunks.script, -(known.vector <#> %s) AS cosine"  # noqa: S608 (fixed text; values are bound)
        " FROM chunks JOIN vectors AS known ON known.space = chunks.space AND known.edition = chunks.edition"
        f" AND known.key = chunks.key WHERE {_OWN} AND {scope.where}) AS found{level}"
        f" ORDER BY {score} DESC, id LIMIT %s"
    )
    tables = [list(column) for column in zip(*named, strict=True)] if levels and named else [[], [], []]
    every = (query, *vectors.key, *scope.values, *(tables if levels else ()), *values, limit)
    rows = connection.execute(statement.encode(), every).fetchall()
    return [(int(row), float(cosine)) for row, cosine in rows]


def of_chunks(connection: Connection, vectors: VectorSet, ids: Collection[int]) -> list[tuple[int, Any]]:
    """Return (chunk id, vector) of those chunks that have one, ascending."""
    statement = (
        f"SELECT chunks.id, known.vector {_EMBEDDED.format(table='vectors')} AND chunks.id = ANY(%s) ORDER BY chunks.id"
    )
    return cast("list[tuple[int, Any]]", connection.execute(statement.encode(), (*vectors.key, list(ids))).fetchall())


def of_items(connection: Connection, vectors: VectorSet, ids: Collection[int]) -> list[tuple[int, str, Any]]:
    """Return (chunk id, script, vector) of the items of chunks that have one."""
    statement = (
        "SELECT items.chunk, items.script, known.vector FROM items JOIN vectors AS known ON known.space = items.space"
        f" AND known.edition = items.edition AND known.key = items.key WHERE {_OWN} AND items.chunk = ANY(%s)"
        " ORDER BY items.chunk, items.first"
    )
    rows = connection.execute(statement.encode(), (*vectors.key, list(ids))).fetchall()
    return cast("list[tuple[int, str, Any]]", rows)


def sample(connection: Connection, vectors: VectorSet, count: int) -> list[tuple[str, Any]]:
    """Return (text, vector) of up to `count` chunks with different texts, in the order of the hashes of their texts."""
    statement = (
        "SELECT chunks.text, first.vector FROM (SELECT known.key, min(chunks.id) AS id, (array_agg(known.vector))[1]"  # noqa: S608 (fixed text)
        f" AS vector {_EMBEDDED.format(table='vectors')} GROUP BY known.key ORDER BY known.key LIMIT %s) AS first"
        " JOIN chunks ON chunks.id = first.id AND chunks.space = %s AND chunks.edition = %s ORDER BY first.key"
    )
    rows = connection.execute(statement.encode(), (*vectors.key, count, vectors.space, vectors.edition)).fetchall()
    return cast("list[tuple[str, Any]]", rows)


def evict(connection: Connection, space: int, edition: int, *, max_entries: int, max_bytes: int) -> int:
    """Delete unused vectors, the least recently used first, until the others fit; return how many."""
    statement = (
        "WITH sized AS (SELECT known.set, known.key, known.used_at, vector_dims(known.vector) * 4 AS bytes,"  # noqa: S608 (fixed text)
        f" {UNUSED} AS unused FROM vectors AS known WHERE space = %s AND edition = %s),"
        " totals AS (SELECT count(*) AS entries, coalesce(sum(bytes), 0) AS bytes FROM sized),"
        " idle AS (SELECT set, key, row_number() OVER oldest - 1 AS gone, sum(bytes) OVER oldest - bytes AS freed"
        " FROM sized WHERE unused WINDOW oldest AS (ORDER BY used_at, set, key)),"
        " chosen AS (SELECT set, key FROM idle, totals WHERE entries - gone > %s OR totals.bytes - freed > %s)"
        " DELETE FROM vectors AS known USING chosen WHERE known.space = %s AND known.edition = %s"
        " AND known.set = chosen.set AND known.key = chosen.key"
    )
    values = (space, edition, max_entries, max_bytes, space, edition)
    return connection.execute(statement.encode(), values).rowcount


def unit_rows(vectors: NDArray[np.float32], dimensions: int) -> NDArray[np.float32]:
    """Return rows scaled to length 1, (n, dims) float32. Raises BadVector: a row is not finite, zero or too long."""
    import numpy as np

    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    if rows.ndim != 2 or rows.shape[1] != dimensions:
        raise BadVector(f"Vectors of shape {rows.shape} do not fit a set of {dimensions} dimensions.")
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    if not np.all(np.isfinite(lengths)) or not np.all(lengths > 0):
        raise BadVector("A vector is zero or not finite.")
    return (rows / lengths[:, None]).astype(np.float32)
