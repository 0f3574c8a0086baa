"""Files and their chunks. Functions that write expect an open transaction."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from memoriter.extensions.postgres._conditions import all_storable, escaped, storable
from memoriter.extensions.postgres._vectors import make_chunk
from memoriter.extensions.postgres._words import as_tsvector, distinct
from memoriter.records import COUNTED_OF_FILE, Corpus, IndexedFile, KindCount, StoredChunk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from memoriter.extensions.postgres._connections import Connection
    from memoriter.records import ChunkRecord
    from memoriter.types import Source, SourceKind


class Place(NamedTuple):
    """The content of a space."""

    space: int
    edition: int


_HERE = "space = %s AND edition = %s"


def put(
    connection: Connection,
    place: Place,
    source: Source,
    hash: str,  # noqa: A002 (named as in `IndexedFile`)
    entries: Sequence[ChunkRecord],
    *,
    keep: int,
    tail: str,
    tags: Collection[str],
    names: Collection[str],
) -> None:
    """Replace what is stored of a file after its first `keep` chunks."""
    path = storable(source.path)
    row = connection.execute(f"SELECT id FROM files WHERE {_HERE} AND path = %s", (*place, path)).fetchone()  # noqa: S608 (fixed text)
    file = int(row[0]) if row else _next_file(connection)
    if row:
        _delete_chunks(connection, place, file, keep)
    ((kept, length),) = connection.execute(
        f"SELECT count(*), coalesce(sum(length), 0) FROM chunks WHERE {_HERE} AND file = %s",  # noqa: S608 (fixed text)
        (*place, file),
    ).fetchall()
    length += sum(entry.length for entry in entries)
    last = storable(tail), source.stamp
    connection.execute(
        "INSERT INTO files(space, edition, id, path, kind, hash, size, mtime_ns, chunks, length, tail, stamp)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (space, edition, path) DO UPDATE SET"
        " kind = excluded.kind, hash = excluded.hash, size = excluded.size, mtime_ns = excluded.mtime_ns,"
        " chunks = excluded.chunks, length = excluded.length, tail = excluded.tail, stamp = excluded.stamp",
        (*place, file, path, source.kind, hash, source.size, source.mtime_ns, kept + len(entries), length, *last),
    )
    _drop_names(connection, place, [file])
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO tags(space, edition, file, tag) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
            [(*place, file, tag) for tag in all_storable(tags)],
        )
        if len(names) > 1:
            cursor.executemany(
                "INSERT INTO names(space, edition, name, file) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
                [(*place, name, file) for name in all_storable(names)],
            )
    _add_chunks(connection, place, file, entries, kept)


def _next_file(connection: Connection) -> int:
    ((number,),) = connection.execute("SELECT nextval('file_ids')").fetchall()
    return int(number)


def _add_chunks(connection: Connection, place: Place, file: int, entries: Sequence[ChunkRecord], before: int) -> None:
    ((newest,),) = connection.execute(
        "UPDATE editions SET newest = newest + %s WHERE id = %s RETURNING newest", (len(entries), place.edition)
    ).fetchall()
    first = int(newest) - len(entries) + 1
    frequencies = Counter[str]()
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO chunks(space, edition, id, file, day, ordinal, length, script, key, term_counts, start_line,"
            " end_line, heading, text, words) VALUES"
            " (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s::text::tsvector)",
            [
                (*place, first + number, file, entry.day, before + number, *_columns(entry))
                for number, entry in enumerate(entries)
            ],
        )
        cursor.executemany(
            "INSERT INTO items(space, edition, chunk, first, last, script, key) VALUES (%s, %s, %s, %s, %s, %s, %s)",
            [
                (*place, first + number, item.first, item.last, script, key)
                for number, entry in enumerate(entries)
                for item, key, script in entry.items
            ],
        )
    for entry in entries:
        frequencies.update(distinct(entry.terms))
    connection.execute(
        "INSERT INTO frequencies(space, edition, term, chunks) SELECT %s, %s, term, chunks FROM"
        " unnest(%s::text[], %s::bigint[]) AS added(term, chunks) ON CONFLICT (space, edition, term)"
        " DO UPDATE SET chunks = frequencies.chunks + excluded.chunks",
        (*place, list(frequencies), list(frequencies.values())),
    )


def _columns(entry: ChunkRecord) -> tuple[Any, ...]:
    passage = entry.chunk
    heading = json.dumps(passage.heading, ensure_ascii=False) if passage.heading else ""
    place = passage.start_line, passage.end_line, escaped(heading), escaped(passage.text)
    return entry.length, entry.script, entry.key, entry.term_counts, *place, as_tsvector(entry.terms)


def _delete_chunks(connection: Connection, place: Place, file: int, keep: int = 0) -> None:
    rows = connection.execute(
        f"DELETE FROM chunks WHERE {_HERE} AND file = %s AND ordinal >= %s RETURNING id, tsvector_to_array(words)",  # noqa: S608 (fixed text)
        (*place, file, keep),
    ).fetchall()
    gone = [int(row) for row, _ in rows]
    if not gone:
        return
    connection.execute(f"DELETE FROM items WHERE {_HERE} AND chunk = ANY(%s)", (*place, gone))  # noqa: S608 (fixed text)
    counts = Counter(term for _, terms in rows for term in cast("list[str]", terms))
    connection.execute(
        "UPDATE frequencies SET chunks = frequencies.chunks - gone.chunks FROM unnest(%s::text[], %s::bigint[])"  # noqa: S608 (fixed text)
        f" AS gone(term, chunks) WHERE frequencies.{_HERE.replace('edition', 'frequencies.edition')}"
        " AND frequencies.term = gone.term",
        (list(counts), list(counts.values()), *place),
    )
    connection.execute(
        f"DELETE FROM frequencies WHERE {_HERE} AND term = ANY(%s) AND chunks <= 0",  # noqa: S608 (fixed text)
        (*place, list(counts)),
    )


def _drop_names(connection: Connection, place: Place, files: list[int]) -> None:
    for table in ("tags", "names"):
        connection.execute(f"DELETE FROM {table} WHERE {_HERE} AND file = ANY(%s)".encode(), (*place, files))  # noqa: S608 (fixed text)


def remove(connection: Connection, place: Place, paths: Collection[str]) -> None:
    """Delete files; unknown paths are ignored."""
    rows = connection.execute(
        f"DELETE FROM files WHERE {_HERE} AND path = ANY(%s) RETURNING id",  # noqa: S608 (fixed text)
        (*place, all_storable(paths)),
    ).fetchall()
    files = [int(row) for (row,) in rows]
    for file in files:
        _delete_chunks(connection, place, file)
    _drop_names(connection, place, files)


def touch(connection: Connection, place: Place, source: Source, tail: str | None) -> None:
    connection.execute(
        f"UPDATE files SET size = %s, mtime_ns = %s, stamp = %s, tail = coalesce(%s, tail) WHERE {_HERE} AND path = %s",  # noqa: S608 (fixed text)
        (source.size, source.mtime_ns, source.stamp, tail, *place, storable(source.path)),
    )


_LISTING = "SELECT path, kind, hash, size, mtime_ns, chunks, tail, stamp FROM files"


def listing(connection: Connection, place: Place) -> dict[str, IndexedFile]:
    rows = connection.execute(f"{_LISTING} WHERE {_HERE} ORDER BY path", place).fetchall()
    return {row[0]: IndexedFile(*row) for row in rows}


def listing_of(connection: Connection, place: Place, paths: Collection[str]) -> dict[str, IndexedFile]:
    statement = f"{_LISTING} WHERE {_HERE} AND path = ANY(%s) ORDER BY path"
    rows = connection.execute(statement, (*place, all_storable(paths))).fetchall()
    return {row[0]: IndexedFile(*row) for row in rows}


def corpus(connection: Connection, place: Place) -> Corpus:
    rows = connection.execute(
        "SELECT kind, count(*), sum(chunks)::bigint, sum(least(chunks, %s))::bigint,"  # noqa: S608 (fixed text)
        " sum(length::float8 * least(chunks, %s) / greatest(chunks, 1))"
        f" FROM files WHERE {_HERE} GROUP BY kind ORDER BY kind",
        (COUNTED_OF_FILE, COUNTED_OF_FILE, *place),
    ).fetchall()
    kinds: dict[SourceKind, KindCount] = {kind: KindCount(int(files), int(chunks)) for kind, files, chunks, *_ in rows}
    files, chunks = (sum(column) for column in zip(*kinds.values(), strict=True)) if kinds else (0, 0)
    counted = sum(int(each) for *_, each, _ in rows)
    mean = sum(float(length) for *_, length in rows) / counted if counted else 0.0
    ((names,),) = connection.execute(f"SELECT EXISTS (SELECT 1 FROM names WHERE {_HERE})", place).fetchall()  # noqa: S608 (fixed text)
    return Corpus(files, chunks, mean, bool(names), kinds)


WITH_FILES = (
    "FROM chunks JOIN files ON files.space = chunks.space AND files.edition = chunks.edition AND files.id = chunks.file"
)
WANTED = "WHERE chunks.space = %s AND chunks.edition = %s AND chunks.id = ANY(%s)"


def rows(connection: Connection, place: Place, ids: Collection[int]) -> dict[int, StoredChunk]:
    found = connection.execute(
        "SELECT chunks.id, files.path, files.kind, ordinal, start_line, end_line, text, heading, term_counts,"
        f" chunks.length, day, script, chunks.key {WITH_FILES} {WANTED}",
        (*place, list(ids)),
    )
    return {
        row: StoredChunk(
            row,
            path,
            kind,
            ordinal,
            make_chunk(start, end, text, heading),
            bytes(counts),
            length,
            day,
            script,
            bytes(key),
        )
        for row, path, kind, ordinal, start, end, text, heading, counts, length, day, script, key in found
    }


def settings(connection: Connection, place: Place, prefix: str) -> dict[str, str]:
    """Return the settings whose names start with a text, by name."""
    statement = f"SELECT key, value FROM meta WHERE {_HERE} AND starts_with(key, %s) ORDER BY key"  # noqa: S608 (fixed text)
    return dict(cast("Iterable[tuple[str, str]]", connection.execute(statement, (*place, prefix))))
