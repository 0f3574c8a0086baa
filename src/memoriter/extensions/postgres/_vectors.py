"""Vector sets, the vectors of texts by key, and those that other memories of the same owner have.

With those, a text is embedded once for a whole team. Only memories that belong to the same role are looked at, and the
server itself gives no rows of those that the user may not read.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from memoriter.errors import BadVector, EmbeddingError
from memoriter.extensions.postgres._conditions import restored
from memoriter.ids import fingerprint
from memoriter.records import SEEN_PER_SAMPLED, SKETCH_BYTES, TextPlace, sampled
from memoriter.short_vectors import full_bytes, read_stored, shorten
from memoriter.types import Chunk, Item

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.extensions.postgres._connections import Connection
    from memoriter.types import ModelSpec

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


def literal_place(vectors: VectorSet) -> str:
    """Return the condition on rows of a set, `known`, with its numbers, so that the server sees which graphs apply."""
    return f"known.space = {vectors.space} AND known.edition = {vectors.edition} AND known.set = {vectors.id}"


def find_set(connection: Connection, spec: ModelSpec, space: int, edition: int) -> VectorSet | None:
    """Return the set of a model, or None. Raises EmbeddingError: its vectors have another length, or none."""
    if spec.dimensions < 1:
        raise EmbeddingError(
            f"{spec.model!r} gives vectors of {spec.dimensions} dimensions.", remedy="Choose another model."
        )
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
    connection.execute(
        "INSERT INTO sets(space, edition, fingerprint, dimensions, spec, created_at) VALUES (%s, %s, %s, %s, %s, %s)"
        " ON CONFLICT DO NOTHING",
        (space, edition, fingerprint(spec), spec.dimensions, json.dumps(asdict(spec)), now),
    )


_OWN = "known.space = %s AND known.edition = %s AND known.set = %s"


def unused(space: int, edition: int) -> str:
    """Return the condition on rows with a key, `known`, that neither a chunk nor an item refers to it."""
    return " AND ".join(
        f"NOT EXISTS (SELECT 1 FROM {table} WHERE {table}.space = {space} AND {table}.edition = {edition}"  # noqa: S608 (fixed text and numbers)
        f" AND {table}.key = known.key)"
        for table in ("chunks", "items")
    )


def _without(of: str, vectors: VectorSet) -> str:
    """Return the condition on chunks or items that their keys have neither a vector nor a failure.

    The numbers are literal, so that the server does not wait for tables of another memory, which may be locked.
    """
    return " AND ".join(
        f"NOT EXISTS (SELECT 1 FROM {table} AS known WHERE {literal_place(vectors)} AND known.key = {of}.key)"  # noqa: S608 (fixed text and numbers)
        for table in ("vectors", "failures")
    )


_PASSAGE = "chunks.start_line, chunks.end_line, chunks.text, chunks.heading"
_OF_ITEMS = (
    "FROM items JOIN chunks"
    " ON chunks.space = items.space AND chunks.edition = items.edition AND chunks.id = items.chunk"
    " WHERE items.space = %s AND items.edition = %s"
)


def make_chunk(start_line: int, end_line: int, text: str, heading: str) -> Chunk:
    headings = tuple(cast("list[str]", json.loads(restored(heading)))) if heading else ()
    return Chunk(start_line, end_line, restored(text), headings)


def missing(connection: Connection, vectors: VectorSet, limit: int, of: Collection[int]) -> list[tuple[bytes, str]]:
    """Return up to `limit` (key, text) without a vector or a failure: of chunks, then of items."""
    texts = dict[bytes, str]()
    without = _without("chunks", vectors)
    scope = "chunks.space = %s AND chunks.edition = %s"
    chosen = f"SELECT chunks.key, {_PASSAGE} FROM chunks WHERE {scope} AND {without} ORDER BY chunks.id LIMIT %s"  # noqa: S608 (fixed text)
    values: tuple[Any, ...] = (*vectors.key[:2], limit)
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
        f"SELECT items.key, items.first, items.last, {_PASSAGE} {_OF_ITEMS} AND {_without('items', vectors)}"
        " ORDER BY items.chunk, items.first LIMIT %s"
    )
    rows = connection.execute(statement.encode(), (*vectors.key[:2], 4 * limit))
    for key, first, last, *passage in cast("Iterable[tuple[Any, ...]]", rows):
        if len(texts) >= limit:
            break
        texts.setdefault(bytes(key), make_chunk(*passage).contextual_item(Item(first, last)))
    return list(texts.items())


def count_waiting(connection: Connection, vectors: VectorSet) -> tuple[int, int]:
    """Return the number of vectors that chunks and items wait for, and of chunks that wait for theirs or an item's."""
    chunks = _without("chunks", vectors)
    own = f"SELECT count(*) FROM chunks WHERE chunks.space = %s AND chunks.edition = %s AND {chunks}"  # noqa: S608 (fixed text)
    place = vectors.key[:2]
    ((waiting,),) = connection.execute(own.encode(), place).fetchall()
    statement = (
        f"SELECT count(*), count(DISTINCT CASE WHEN {chunks} THEN NULL ELSE items.chunk END)"
        f" {_OF_ITEMS} AND {_without('items', vectors)}"
    )
    ((items, owners),) = connection.execute(statement.encode(), place).fetchall()
    return int(waiting) + int(items), int(waiting) + int(owners)


_EMBEDDED = (
    "FROM chunks JOIN {table} AS known ON known.space = chunks.space AND known.edition = chunks.edition"
    f" AND known.key = chunks.key WHERE {_OWN}"
)


def count_in(table: str, connection: Connection, vectors: VectorSet) -> tuple[int]:
    """Return the number of chunks that have a row in `vectors` or, because the model refused the text, `failures`."""
    statement = f"SELECT count(*) {_EMBEDDED.format(table=table)}"
    ((count,),) = connection.execute(statement.encode(), vectors.key).fetchall()
    return (int(count),)


def put(
    connection: Connection, vectors: VectorSet, keys: Sequence[bytes], rows: NDArray[np.float32], *, now: float
) -> None:
    """Store vectors of unit length under keys, those of items alone in the short form, and clear their failures."""
    import numpy as np

    uses = (
        "SELECT key, (SELECT min(script) FROM chunks WHERE space = %s AND edition = %s AND chunks.key = given.key),"
        " EXISTS (SELECT 1 FROM items WHERE space = %s AND edition = %s AND items.key = given.key)"
        " FROM unnest(%s::bytea[]) AS given(key)"
    )
    place = vectors.key[:2]
    found = connection.execute(uses, (*place, *place, list(keys))).fetchall()
    scripts = {bytes(key): script for key, script, _ in found}
    shorts = {bytes(key) for key, script, in_items in found if script is None and in_items}
    blobs = shorten(np.ascontiguousarray(rows)) if shorts else np.empty((len(keys), 0), np.uint8)
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO vectors(space, edition, set, key, used_at, script, vector, short)"
            " VALUES (%s, %s, %s, %s, %s, %s, %b, %b) ON CONFLICT (space, edition, set, key) DO UPDATE"
            " SET used_at = excluded.used_at, script = excluded.script, vector = excluded.vector,"
            " short = excluded.short",
            [
                (*vectors.key, key, now, scripts[key], *((None, bytes(blob)) if key in shorts else (row, None)))
                for key, row, blob in zip(keys, rows, blobs, strict=True)
            ],
        )
    connection.execute(
        "DELETE FROM failures WHERE space = %s AND edition = %s AND set = %s AND key = ANY(%s)",
        (*vectors.key, list(keys)),
    )


def fit_to_chunks(connection: Connection, space: int, edition: int, keys: Collection[bytes]) -> None:
    """Give vectors that chunks have from now on the form that can be searched, and the script of the chunks."""
    found = connection.execute(
        "SELECT known.set, known.key, known.short, sets.dimensions FROM vectors AS known JOIN sets"
        " ON sets.space = known.space AND sets.edition = known.edition AND sets.id = known.set"
        " WHERE known.space = %s AND known.edition = %s AND known.key = ANY(%s) AND known.short IS NOT NULL",
        (space, edition, list(keys)),
    ).fetchall()
    with connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE vectors SET vector = %b, short = NULL WHERE space = %s AND edition = %s AND set = %s AND key = %s",
            [(decode([short], dimensions)[0], space, edition, number, key) for number, key, short, dimensions in found],
        )
    connection.execute(
        "UPDATE vectors SET script = of.script FROM (SELECT key, min(script) AS script FROM chunks"
        " WHERE space = %s AND edition = %s AND key = ANY(%s) GROUP BY key) AS of"
        " WHERE vectors.space = %s AND vectors.edition = %s AND vectors.key = of.key AND vectors.script IS NULL",
        (space, edition, list(keys), space, edition),
    )


def decode(blobs: Sequence[bytes], dimensions: int) -> NDArray[np.float32]:
    """Return vectors as rows, (n, dims), from the bytes that `vector_send` gives or from the short form."""
    import numpy as np

    rows = np.empty((len(blobs), dimensions), dtype=np.float32)
    sent = 4 + full_bytes(dimensions)
    """Bytes of `vector_send`: the number of dimensions, two that are not used, and float32 in big endian."""
    for is_sent in (True, False):
        places = [place for place, blob in enumerate(blobs) if (len(blob) == sent) is is_sent]
        if not places:
            continue
        stored = np.frombuffer(b"".join([blobs[place] for place in places]), dtype=np.uint8).reshape(len(places), -1)
        part = stored[:, 4:].copy().view(">f4") if is_sent else read_stored(stored, dimensions)
        if len(places) == len(blobs):
            return part.astype(np.float32)
        rows[places] = part
    return rows


_OF_CHUNKS = (
    f"SELECT chunks.id, vector_send(known.vector) {_EMBEDDED.format(table='vectors')} AND chunks.id = ANY(%s)"
    " ORDER BY chunks.id"
)
_OF_ITEMS_OF_CHUNKS = (
    "SELECT items.chunk, items.first, items.script, coalesce(known.short, vector_send(known.vector)) FROM items"  # noqa: S608 (fixed text)
    " JOIN vectors AS known ON known.space = items.space AND known.edition = items.edition"
    f" AND known.key = items.key WHERE {_OWN} AND items.chunk = ANY(%s) ORDER BY items.chunk, items.first"
)


def of_chunks(connection: Connection, vectors: VectorSet, ids: Sequence[int]) -> tuple[list[int], NDArray[np.float32]]:
    """Return those of the chunks that have a vector, ascending, and their vectors: (n ids, (n, dims))."""
    rows = connection.execute(_OF_CHUNKS.encode(), (*vectors.key, list(ids)), binary=True).fetchall()
    return [int(row) for row, _ in rows], decode([blob for _, blob in rows], vectors.dimensions)


def of_items(
    connection: Connection, vectors: VectorSet, ids: Sequence[int]
) -> tuple[list[int], list[int], list[str], NDArray[np.float32]]:
    """Return the vectors of the items of chunks: (n chunk ids, n first lines, n scripts, (n, dims))."""
    rows = connection.execute(_OF_ITEMS_OF_CHUNKS.encode(), (*vectors.key, list(ids)), binary=True).fetchall()
    found = decode([blob for *_, blob in rows], vectors.dimensions)
    chunks, lines = ([int(row[at]) for row in rows] for at in (0, 1))
    return chunks, lines, [str(script) for _, _, script, _ in rows], found


MOST_AHEAD = 4_096
"""Chunks whose vectors are read together with those of their items."""


class ReadAhead:
    """The vectors of candidates and of their items, which one search asks for several times, read at once."""

    def __init__(self) -> None:
        self._read = set[int]()
        self._chunks: dict[int, NDArray[np.float32]] = {}
        self._items: dict[int, list[tuple[int, str, NDArray[np.float32]]]] = {}

    def chunks(
        self, connection: Connection, vectors: VectorSet, ids: Sequence[int]
    ) -> tuple[list[int], NDArray[np.float32]]:
        """Return what `of_chunks` does."""
        self._read_those(connection, vectors, ids)
        found = sorted(set(ids).intersection(self._chunks))
        return found, _stacked([self._chunks[row] for row in found], vectors)

    def items(
        self, connection: Connection, vectors: VectorSet, ids: Sequence[int]
    ) -> tuple[list[int], list[int], list[str], NDArray[np.float32]]:
        """Return what `of_items` does."""
        self._read_those(connection, vectors, ids)
        found = [(row, *item) for row in sorted(set(ids)) for item in self._items.get(row, ())]
        rows = _stacked([vector for *_, vector in found], vectors)
        lines = [line for _, line, *_ in found]
        return [row for row, *_ in found], lines, [script for _, _, script, _ in found], rows

    def _read_those(self, connection: Connection, vectors: VectorSet, ids: Sequence[int]) -> None:
        if not (wanted := list(set(ids).difference(self._read))):
            return
        values = (*vectors.key, wanted)
        with connection.pipeline():
            own = connection.execute(_OF_CHUNKS.encode(), values, binary=True)
            parts = connection.execute(_OF_ITEMS_OF_CHUNKS.encode(), values, binary=True)
        of_chunks = own.fetchall()
        of_items = parts.fetchall()
        rows = decode([blob for *_, blob in (*of_chunks, *of_items)], vectors.dimensions)
        self._chunks.update(zip([int(row) for row, _ in of_chunks], rows, strict=False))
        for (row, line, script, _), vector in zip(of_items, rows[len(of_chunks) :], strict=True):
            self._items.setdefault(int(row), []).append((int(line), str(script), vector))
        self._read.update(wanted)


def no_rows(vectors: VectorSet | None) -> NDArray[np.float32]:
    """Return no vectors of a set: (0, dims)."""
    import numpy as np

    return np.empty((0, vectors.dimensions if vectors else 0), dtype=np.float32)


def _stacked(rows: Sequence[NDArray[np.float32]], vectors: VectorSet) -> NDArray[np.float32]:
    import numpy as np

    return np.stack(rows) if rows else no_rows(vectors)


def sample(connection: Connection, vectors: VectorSet, count: int) -> tuple[list[str], NDArray[np.float32]]:
    """Return texts and vectors of up to `count` chunks with different texts, a few of each file, by their hashes."""
    texts = (
        f"SELECT DISTINCT ON (known.key) chunks.id, files.path, substr(chunks.term_counts, 1, {SKETCH_BYTES})"  # noqa: S608 (fixed text)
        " FROM vectors AS known JOIN chunks USING (space, edition, key)"
        " JOIN files ON files.space = chunks.space AND files.edition = chunks.edition AND files.id = chunks.file"
        f" WHERE {_OWN} ORDER BY known.key, files.path LIMIT %s"
    )
    # A cursor, because most samples are complete long before all texts are read.
    with connection.transaction(), connection.cursor("sampled", binary=True) as cursor:
        cursor.itersize = 2 * count
        cursor.execute(texts.encode(), (*vectors.key, SEEN_PER_SAMPLED * count))
        chosen = sampled((TextPlace(int(row), str(path), bytes(sketch)) for row, path, sketch in cursor), count)
    statement = (
        "SELECT chunks.text, vector_send(known.vector) FROM unnest(%s::bigint[]) WITH ORDINALITY AS chosen(id, place)"  # noqa: S608 (fixed text)
        " JOIN chunks ON chunks.id = chosen.id AND chunks.space = %s AND chunks.edition = %s"
        f" JOIN vectors AS known ON known.key = chunks.key AND {_OWN} ORDER BY chosen.place"
    )
    values = (chosen, vectors.space, vectors.edition, *vectors.key)
    rows = connection.execute(statement.encode(), values, binary=True).fetchall()
    return [restored(str(text)) for text, _ in rows], decode([blob for _, blob in rows], vectors.dimensions)


def fits(connection: Connection, space: int, edition: int, *, max_entries: int, max_bytes: int) -> bool:
    """Return whether all vectors fit even if none is short. The lengths of vectors are not read.

    The numbers are literal, so that the server does not wait for tables of another memory, which may be locked.
    """
    here = f"space = {space} AND edition = {edition}"
    statement = (
        "SELECT coalesce(sum(entries), 0) <= %s AND coalesce(sum(entries * dimensions * 4), 0) <= %s"  # noqa: S608 (fixed text and numbers)
        f" FROM (SELECT set, count(*) AS entries FROM vectors WHERE {here} GROUP BY set) AS counted"
        f" JOIN sets ON sets.id = counted.set AND {here}"
    )
    return connection.execute(statement.encode(), (max_entries, max_bytes)).fetchone() == (True,)


def evict(connection: Connection, space: int, edition: int, *, max_entries: int, max_bytes: int) -> int:
    """Delete unused vectors, the least recently used first, until the others fit; return how many."""
    statement = (
        "WITH sized AS (SELECT known.set, known.key, known.used_at,"  # noqa: S608 (fixed text)
        " coalesce(length(known.short), vector_dims(known.vector) * 4) AS bytes,"
        f" {unused(space, edition)} AS unused FROM vectors AS known WHERE space = %s AND edition = %s),"
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


MOST_MEMORIES = 32
"""Other memories that are looked at: those that were indexed last."""
LOCK_MILLISECONDS = 1_000
"""How long a memory that is being compacted may delay the indexing of another one."""


def other_sets(connection: Connection, spec: ModelSpec | None, space: int, role: str) -> list[VectorSet]:
    """Return the vectors of a model in other memories of the same owner, those first that were indexed last.

    A memory that does not exist yet has the number 0; `role` would own it then, or the user if that is empty.
    """
    if spec is None:
        return []
    new_owner = "to_regrole(quote_ident(coalesce(nullif(%s, ''), session_user)))"
    owner = f"coalesce((SELECT owner FROM spaces WHERE id = %s), {new_owner})"  # noqa: S608 (fixed text)
    others = connection.execute(
        f"SELECT id, edition FROM spaces WHERE owner = {owner} AND id <> %s AND edition > 0"  # noqa: S608 (fixed text)
        " ORDER BY epoch DESC, id DESC LIMIT %s",
        (space, role, space, MOST_MEMORIES),
    ).fetchall()
    if not others:
        return []
    spaces, editions = ([int(row[column]) for row in others] for column in (0, 1))
    statement = (
        "SELECT sets.space, sets.edition, sets.id, sets.dimensions FROM sets"
        " JOIN unnest(%s::integer[], %s::bigint[]) WITH ORDINALITY AS others(space, edition, place)"
        " ON others.space = sets.space AND others.edition = sets.edition"
        # The server then looks at the partitions of these memories alone.
        " WHERE sets.space = ANY(%s) AND sets.fingerprint = %s AND sets.dimensions = %s ORDER BY others.place"
    )
    values = (spaces, editions, spaces, fingerprint(spec), spec.dimensions)
    rows = _rows_unless_locked(connection, statement, values)
    return [VectorSet(*map(int, row)) for row in rows]


def held_by(connection: Connection, others: Sequence[VectorSet], keys: Collection[bytes]) -> set[bytes]:
    """Return those of the keys that have a vector in one of the sets; none while one of them is being compacted."""
    if not others or not keys:
        return set()
    statement = f"SELECT DISTINCT key FROM ({_rows_of(others)}) AS found"  # noqa: S608 (fixed text and numbers)
    rows = _rows_unless_locked(connection, statement, [list(keys)] * len(others))
    return {bytes(key) for (key,) in rows}


def take_from(
    connection: Connection, vectors: VectorSet, others: Sequence[VectorSet], keys: Collection[bytes], *, now: float
) -> set[bytes]:
    """Copy the vectors of keys that chunks or items refer to, in the form in which they are kept; return those keys.

    The connection is in a transaction. Of several sets that have a vector, the first one is preferred.
    """
    if not others or not keys:
        return set()
    place = vectors.key[:2]
    referred = " OR ".join(
        f"EXISTS (SELECT 1 FROM {table} WHERE space = %s AND edition = %s AND key = found.key)"  # noqa: S608 (fixed text)
        for table in ("chunks", "items")
    )
    statement = (
        "INSERT INTO vectors(space, edition, set, key, used_at, vector, short)"  # noqa: S608 (fixed text and numbers)
        " SELECT DISTINCT ON (found.key) %s::integer, %s::bigint, %s::integer, found.key, %s::double precision,"
        f" found.vector, found.short FROM ({_rows_of(others)}) AS found WHERE {referred}"
        " ORDER BY found.key, found.vector IS NULL, found.place ON CONFLICT DO NOTHING RETURNING key"
    )
    values = (*vectors.key, now, *([list(keys)] * len(others)), *place, *place)
    taken = {bytes(key) for (key,) in _rows_unless_locked(connection, statement, values)}
    if not taken:
        return taken
    of_chunks = "SELECT DISTINCT key FROM chunks WHERE space = %s AND edition = %s AND key = ANY(%s)"
    in_chunks = {bytes(key) for (key,) in connection.execute(of_chunks, (*place, list(taken)))}
    fit_to_chunks(connection, *place, in_chunks)
    _shorten(connection, vectors, taken - in_chunks)
    return taken


def _rows_of(others: Sequence[VectorSet]) -> str:
    """Return a query for the vectors of keys in sets; each set takes the keys as a value."""
    return " UNION ALL ".join(
        f"SELECT {place} AS place, key, vector, short FROM vectors AS known"  # noqa: S608 (fixed text and numbers)
        f" WHERE {literal_place(other)} AND known.key = ANY(%s::bytea[])"
        for place, other in enumerate(others)
    )


def _shorten(connection: Connection, vectors: VectorSet, keys: Collection[bytes]) -> None:
    """Give vectors that only items have the short form."""
    import numpy as np

    statement = (
        f"SELECT key, vector_send(vector) FROM vectors AS known WHERE {_OWN} AND key = ANY(%s) AND vector IS NOT NULL"  # noqa: S608 (fixed text)
    )
    rows = connection.execute(statement.encode(), (*vectors.key, list(keys)), binary=True).fetchall()
    if not rows:
        return
    blobs = shorten(np.ascontiguousarray(decode([blob for _, blob in rows], vectors.dimensions)))
    with connection.cursor() as cursor:
        cursor.executemany(
            f"UPDATE vectors AS known SET vector = NULL, short = %b WHERE {_OWN} AND key = %s".encode(),  # noqa: S608 (fixed text)
            [(bytes(blob), *vectors.key, key) for (key, _), blob in zip(rows, blobs, strict=True)],
        )


def _rows_unless_locked(connection: Connection, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return the rows of a statement; none if a table stays locked, as one that is being compacted does."""
    import psycopg

    try:
        with connection.transaction():
            connection.execute("SELECT set_config('lock_timeout', %s, true)", (str(LOCK_MILLISECONDS),))
            rows = connection.execute(statement.encode(), values).fetchall()
            connection.execute("SELECT set_config('lock_timeout', '0', true)")
            return rows
    except psycopg.errors.LockNotAvailable:
        return []
