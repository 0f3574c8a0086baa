"""Files and their chunks. Functions that write expect an open transaction."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from memoriter.index.files import _queries
from memoriter.index.files._queries import condition
from memoriter.index.store._connection import counter, storable
from memoriter.records import COUNTED_OF_FILE, Corpus, IndexedFile, KindCount, ScoringRow, StoredChunk
from memoriter.types import Chunk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from memoriter.index.store._connection import Database
    from memoriter.records import ChunkRecord
    from memoriter.types import Filters, Source, SourceKind


class StoredChange(NamedTuple):
    """The ids of chunks that a write deleted and added."""

    gone: Sequence[int]
    added: Sequence[int]


CHUNK = "chunks.start_line, chunks.end_line, chunks.text, chunks.heading"


def make_chunk(start_line: int, end_line: int, text: str, heading: str) -> Chunk:
    """Return a chunk from the columns of `CHUNK`."""
    titles = tuple(cast("list[str]", json.loads(heading))) if heading else ()
    return Chunk(start_line, end_line, text, titles)


def put(
    connection: Database,
    source: Source,
    hash: str,  # noqa: A002 (named as in `Index.put_file`)
    entries: Sequence[ChunkRecord],
    *,
    keep: int = 0,
    tail: str = "",
    tags: Iterable[str] = (),
    names: Collection[str] = (),
) -> StoredChange:
    """Replace all stored data of a file except its first `keep` chunks, and return what changed."""
    path = storable(source.path)
    file, gone = _delete_chunks(connection, path, keep)
    kept, length = cast(
        "tuple[int, int]",
        connection.execute("SELECT count(*), coalesce(sum(length), 0) FROM chunks WHERE file = ?", (file,)).get,
    )
    chunks = kept + len(entries)
    length += sum(entry.length for entry in entries)
    values = (path, source.kind, hash, source.size, source.mtime_ns, chunks, length, tail, source.stamp)
    if file is None:
        statement = (
            "INSERT INTO files(path, kind, hash, size, mtime_ns, chunks, length, tail, stamp)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id"
        )
        file = int(connection.execute(statement, values).get)
    else:
        statement = (
            "UPDATE files SET path = ?, kind = ?, hash = ?, size = ?, mtime_ns = ?, chunks = ?, length = ?, tail = ?,"
            " stamp = ? WHERE id = ?"
        )
        connection.execute(statement, (*values, file))
    connection.execute("DELETE FROM tags WHERE file = ?", (file,))
    connection.executemany(
        "INSERT OR IGNORE INTO tags(file, tag) VALUES (?, ?)", ((file, storable(tag)) for tag in tags)
    )
    connection.execute("DELETE FROM names WHERE file = ?", (file,))
    if len(names) > 1:
        connection.executemany(
            "INSERT OR IGNORE INTO names(name, file) VALUES (?, ?)", ((storable(name), file) for name in names)
        )
    return StoredChange(gone, _add_chunks(connection, file, entries, kept))


def _add_chunks(connection: Database, file: int, entries: Sequence[ChunkRecord], before: int) -> range:
    first = newest_id(connection) + 1
    ids = range(first, first + len(entries))
    connection.executemany(
        "INSERT INTO chunks"
        "(id, file, day, ordinal, length, script, key, term_counts, start_line, end_line, heading, text)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (chunk_id, file, entry.day, before + chunk_id - first, *_columns(entry))
            for chunk_id, entry in zip(ids, entries, strict=True)
        ),
    )
    connection.executemany(
        "INSERT INTO items(chunk, first, last, script, key) VALUES (?, ?, ?, ?, ?)",
        (
            (chunk_id, item.first, item.last, script, key)
            for chunk_id, entry in zip(ids, entries, strict=True)
            for item, key, script in entry.items
        ),
    )
    _queries.add(connection, zip(ids, (entry.terms for entry in entries), strict=True))
    return ids


def _columns(entry: ChunkRecord) -> tuple[int, str, bytes, bytes, int, int, str, str]:
    passage = entry.chunk
    heading = json.dumps(passage.heading, ensure_ascii=False) if passage.heading else ""
    place = passage.start_line, passage.end_line, storable(heading), storable(passage.text)
    return entry.length, entry.script, entry.key, entry.term_counts, *place


def _delete_chunks(connection: Database, path: str, keep: int = 0) -> tuple[int | None, list[int]]:
    file = connection.execute("SELECT id FROM files WHERE path = ?", (path,)).get
    if file is None:
        return None, []
    which = "FROM chunks WHERE file = ? AND ordinal >= ?"
    gone = _column(connection, f"SELECT id {which} ORDER BY id", (file, keep))
    _queries.drop(connection, gone)
    connection.execute(f"DELETE FROM items WHERE chunk IN (SELECT id {which})", (file, keep))  # noqa: S608 (fixed text)
    connection.execute(f"DELETE {which}", (file, keep))
    return int(file), gone


def remove(connection: Database, paths: Collection[str]) -> StoredChange:
    """Delete files and return what changed; unknown paths are ignored."""
    everything: list[int] = []
    for path in paths:
        file, gone = _delete_chunks(connection, storable(path))
        connection.execute("DELETE FROM tags WHERE file = ?", (file,))
        connection.execute("DELETE FROM names WHERE file = ?", (file,))
        connection.execute("DELETE FROM files WHERE id = ?", (file,))
        everything += gone
    return StoredChange(everything, ())


def other_names(connection: Database, names: Collection[str]) -> dict[str, list[str]]:
    """Return for each name of a note the other names of the notes that have it."""
    result = connection.execute(
        "SELECT DISTINCT wanted.value, others.name FROM json_each(?) AS wanted"
        " CROSS JOIN names ON names.name = wanted.value CROSS JOIN names AS others ON others.file = names.file"
        " WHERE others.name <> wanted.value ORDER BY others.name",
        (json.dumps([storable(name) for name in names]),),
    )
    found: dict[str, list[str]] = {}
    for name, other in cast("Iterable[tuple[str, str]]", result):
        found.setdefault(name, []).append(other)
    return found


def touch(connection: Database, source: Source, tail: str | None = None) -> None:
    """Update size, time and read position of a file whose content has not changed."""
    values = (source.size, source.mtime_ns, source.stamp, tail, storable(source.path))
    statement = "UPDATE files SET size = ?, mtime_ns = ?, stamp = ?, tail = coalesce(?, tail) WHERE path = ?"
    connection.execute(statement, values)


def listing(connection: Database) -> dict[str, IndexedFile]:
    """Return every indexed file by its path."""
    statement = "SELECT path, kind, hash, size, mtime_ns, chunks, tail, stamp FROM files ORDER BY path"
    rows = connection.execute(statement).fetchall()
    return {str(row[0]): IndexedFile(*row) for row in rows}


def listing_of(connection: Database, paths: Collection[str]) -> dict[str, IndexedFile]:
    """Return the indexed files among `paths`, by path."""
    statement = (
        "SELECT files.path, kind, hash, size, mtime_ns, chunks, tail, stamp FROM json_each(?) AS wanted"
        " CROSS JOIN files ON files.path = wanted.value ORDER BY files.path"
    )
    rows = connection.execute(statement, (json.dumps([storable(path) for path in paths]),)).fetchall()
    return {str(row[0]): IndexedFile(*row) for row in rows}


def corpus(connection: Database) -> Corpus:
    """Return totals, from the rows of files and names."""
    statement = (
        "SELECT kind, count(*), sum(chunks), sum(min(chunks, ?1)), sum(length * 1.0 * min(chunks, ?1) / max(chunks, 1))"
        " FROM files GROUP BY kind ORDER BY kind"
    )
    rows = cast(
        "list[tuple[SourceKind, int, int, int, float]]", connection.execute(statement, (COUNTED_OF_FILE,)).fetchall()
    )
    kinds: dict[SourceKind, KindCount] = {kind: KindCount(files, chunks) for kind, files, chunks, *_ in rows}
    files, chunks = (sum(column) for column in zip(*kinds.values(), strict=True)) if kinds else (0, 0)
    counted = sum(each for *_, each, _ in rows)
    mean_length = sum(length for *_, length in rows) / counted if counted else 0.0
    names = connection.execute("SELECT EXISTS (SELECT 1 FROM names)").get
    return Corpus(files, chunks, mean_length, bool(names), kinds)


def count(connection: Database, filters: Filters) -> int:
    """Return the number of chunks that pass the filters."""
    where, values = condition(filters)
    return int(connection.execute(f"SELECT count(*) FROM chunks WHERE {where}", values).get)  # noqa: S608 (fixed text; values are bound)


def newest(connection: Database, filters: Filters, limit: int) -> list[int]:
    """Return the ids of chunks that pass the filters and have a day, the newest day first, then by path and line.

    If there are more than `limit`, those come in that are the first of their file, then the second ones, and so on.
    """
    where, values = condition(filters)
    day = "abs(chunks.day)" if filters.changed else "chunks.day"
    statement = (
        f"SELECT id, day, path FROM (SELECT chunks.id, {day} AS day, files.path,"  # noqa: S608 (fixed text; values are bound)
        " row_number() OVER (PARTITION BY chunks.file, chunks.day ORDER BY chunks.id) AS place"
        f" FROM chunks JOIN files ON files.id = chunks.file WHERE {where} AND {day} > 0)"
        " ORDER BY place, day DESC, path, id LIMIT ?"
    )
    found = connection.execute(statement, (*values, max(limit, 0))).fetchall()
    return [row for row, _, _ in sorted(found, key=lambda row: (-row[1], row[2], row[0]))]


def passing(connection: Database, ids: Iterable[int], filters: Filters) -> set[int]:
    """Return those of the chunks that pass the filters."""
    where, values = condition(filters)
    statement = f"SELECT id FROM chunks WHERE id IN (SELECT value FROM json_each(?)) AND {where}"  # noqa: S608 (fixed text; values are bound)
    return set(_column(connection, statement, (id_list(ids), *values)))


def rows(connection: Database, ids: Iterable[int]) -> dict[int, StoredChunk]:
    """Return complete chunks by id; ids that no longer exist are absent."""
    result = connection.execute(
        f"SELECT chunks.id, files.path, files.kind, ordinal, {CHUNK},"  # noqa: S608 (fixed text)
        " term_counts, chunks.length, day, script, chunks.key"
        " FROM json_each(?) AS wanted CROSS JOIN chunks ON chunks.id = wanted.value"
        " CROSS JOIN files ON files.id = chunks.file",
        (id_list(ids),),
    )
    return {
        chunk_id: StoredChunk(
            chunk_id,
            path,
            cast("SourceKind", kind),
            ordinal,
            make_chunk(*passage),
            term_counts,
            length,
            day,
            script,
            key,
        )
        for chunk_id, path, kind, ordinal, *passage, term_counts, length, day, script, key in cast(
            "Iterable[tuple[Any, ...]]", result
        )
    }


def texts(connection: Database, ids: Iterable[int]) -> dict[int, str]:
    """Return only the texts of chunks, by id."""
    result = connection.execute(
        "SELECT chunks.id, text FROM json_each(?) AS wanted CROSS JOIN chunks ON chunks.id = wanted.value",
        (id_list(ids),),
    )
    return dict(cast("Iterable[tuple[int, str]]", result))


def scoring_rows(connection: Database, ids: Iterable[int]) -> dict[int, ScoringRow]:
    """Return what ranking needs of chunks, by id; ids that no longer exist are absent."""
    result = connection.execute(
        "SELECT chunks.id, files.path, files.kind, chunks.length, chunks.term_counts, chunks.day, chunks.script"
        " FROM json_each(?) AS wanted CROSS JOIN chunks ON chunks.id = wanted.value"
        " CROSS JOIN files ON files.id = chunks.file",
        (id_list(ids),),
    )
    return {row[0]: ScoringRow._make(row) for row in cast("Iterable[tuple[Any, ...]]", result)}


def ids_at(connection: Database, path: str) -> list[int]:
    """Return the chunk ids of a file, in file order."""
    statement = (
        "SELECT chunks.id FROM files JOIN chunks ON chunks.file = files.id WHERE files.path = ? ORDER BY chunks.id"
    )
    return _column(connection, statement, (storable(path),))


def all_ids(connection: Database) -> list[int]:
    """Return every chunk id, ascending, read from the narrowest SQL index."""
    return sorted(_column(connection, "SELECT id FROM chunks INDEXED BY chunks_file", ()))


def id_list(ids: Iterable[int]) -> str:
    """Return ids as one value for `json_each`, so that one statement takes any number of them."""
    return json.dumps(list(map(int, ids)))


def newest_id(connection: Database) -> int:
    """Return the highest chunk id that was ever assigned."""
    return int(connection.execute("SELECT seq FROM main.sqlite_sequence WHERE name = 'chunks'").get or 0)


def chunks_with(connection: Database, text: str) -> list[tuple[str, int, int]]:
    """Return path, first and last line of every chunk whose text or headings contain a text, however written."""
    result = connection.execute(
        "SELECT files.path, start_line, end_line FROM chunks JOIN files ON files.id = chunks.file"
        " WHERE holds_text(chunks.text, ?1) OR holds_text(chunks.heading, ?1) ORDER BY files.path, start_line",
        (text,),
    )
    return cast("list[tuple[str, int, int]]", result.fetchall())


def content_counter(connection: Database) -> int:
    """Return the content counter."""
    return counter(connection, "content")


def _column(connection: Database, statement: str, values: tuple[Any, ...]) -> list[int]:
    return [int(cast("int", value)) for (value,) in connection.execute(statement, values)]


COMMON = 512
"""Terms in at least this many chunks are cached: few terms are that common, and many queries contain them."""
MAX_CACHED_TERMS = 16_384


class Counts:
    """Counts and the list of files, each read once. A change of the index needs a new object."""

    def __init__(self) -> None:
        self._corpus: Corpus | None = None
        self._listing: dict[str, IndexedFile] | None = None
        self._common: dict[str, int] = {}

    def corpus(self, connection: Database) -> Corpus:
        """Return totals."""
        if self._corpus is None:
            self._corpus = corpus(connection)
        return self._corpus

    def listing(self, connection: Database) -> dict[str, IndexedFile]:
        """Return every indexed file by its path."""
        if self._listing is None:
            self._listing = listing(connection)
        return self._listing

    def document_frequency(self, connection: Database, terms: Iterable[str]) -> dict[str, int]:
        """Return the number of chunks that contain each term. The time grows with the counts of uncached terms."""
        wanted = dict.fromkeys(terms)
        unknown = [term for term in wanted if term not in self._common]
        new_counts = dict(zip(unknown, _count_terms(connection, unknown), strict=True))
        counts = new_counts | self._common
        if len(self._common) < MAX_CACHED_TERMS:
            self._common |= {term: count for term, count in new_counts.items() if count >= COMMON}
        return {term: counts[term] for term in wanted}


def _count_terms(connection: Database, terms: list[str]) -> list[int]:
    statement = (
        "SELECT wanted.key, doc FROM json_each(?) AS wanted CROSS JOIN chunks_terms ON chunks_terms.term = wanted.value"
    )
    folded = json.dumps([_queries.fold(term) for term in terms])
    counts = dict(cast("Iterable[tuple[int, int]]", connection.execute(statement, (folded,)))) if terms else {}
    return [counts.get(place, 0) for place in range(len(terms))]
