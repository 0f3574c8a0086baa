"""Many notes into a space of PostgreSQL with COPY, because a million of them through the store would take hours."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from benchmarks._vectors import WordVectors
from memoriter.extensions.postgres._conditions import storable
from memoriter.extensions.postgres._words import as_tsvector, distinct
from memoriter.ids import fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable

    import psycopg

    from benchmarks._prepared_notes import Batch
    from memoriter.records import ChunkRecord

_CHUNKS = (
    "space, edition, id, file, day, ordinal, length, script, key, term_counts, start_line, end_line, heading, text,"
    " words"
)
_FILES = "space, edition, id, path, kind, hash, size, mtime_ns, chunks, length, tail, stamp"
_VECTORS = "space, edition, set, key, used_at, script, vector"
_SLOW_INDEXES = (
    "SELECT pg_get_indexdef(index.oid), index.oid::regclass::text FROM pg_class AS index"
    " JOIN pg_am ON pg_am.oid = index.relam WHERE pg_am.amname IN ('gin', 'hnsw')"
    " AND index.relnamespace = %s::regnamespace AND NOT EXISTS (SELECT 1 FROM pg_inherits WHERE inhrelid = index.oid)"
)
"""Indexes that are made faster over all rows at once."""


class CopyFiller:
    """Writes into one empty space, whose store has registered the vectors. Indexes of words and vectors come last."""

    def __init__(self, dsn: str, schema: str, name: str) -> None:
        import psycopg
        from pgvector.psycopg import register_vector

        self._connection: psycopg.Connection[Any] = psycopg.connect(dsn)
        self._connection.execute("SELECT set_config('search_path', %s, false)", (f"{schema}, public",))
        register_vector(self._connection)
        row = self._connection.execute(
            "SELECT spaces.id, spaces.edition, sets.id FROM spaces JOIN sets ON sets.space = spaces.id"
            " WHERE spaces.name = %s AND sets.fingerprint = %s",
            (name, fingerprint(WordVectors.spec)),
        ).fetchone()
        if row is None:
            raise LookupError(f"There is no space {name!r} with vectors of the bundled model.")
        self._space, self._edition, self._set = row
        self._chunks = self._files = 0
        self._frequencies = Counter[str]()
        self._known = set[bytes]()
        self._indexes = self._connection.execute(_SLOW_INDEXES, (schema,)).fetchall()
        for _, index in self._indexes:
            self._connection.execute(f"DROP INDEX {index}".encode())

    def add(self, batch: Batch) -> None:
        """Write the notes of a batch and their vectors."""
        first_file = self._files + 1
        first_chunk = self._chunks + 1
        here = (self._space, self._edition)
        rows = list[tuple[Any, ...]]()
        for source, digest, entries in batch.notes:
            self._files += 1
            length = sum(entry.length for entry in entries)
            of_file = (source.path, source.kind, digest, source.size, source.mtime_ns, len(entries), length, "", 0)
            rows.append((*here, self._files, *of_file))
        self._copy("files", _FILES, rows)
        owned = ((first_file + at, entries) for at, (_, _, entries) in enumerate(batch.notes))
        self._copy("chunks", _CHUNKS, list(self._chunk_rows(owned, first_chunk)))
        new = [row for row, key in enumerate(batch.keys) if key not in self._known]
        self._known.update(batch.keys)
        now = time.monotonic()
        scripts = {entry.key: entry.script for _, _, entries in batch.notes for entry in entries}
        self._copy_vectors(
            [(*here, self._set, batch.keys[row], now, scripts[batch.keys[row]], batch.vectors[row]) for row in new]
        )

    def _chunk_rows(self, owned: Iterable[tuple[int, list[ChunkRecord]]], first: int) -> Iterable[tuple[Any, ...]]:
        for file, entries in owned:
            for ordinal, entry in enumerate(entries):
                self._frequencies.update(distinct(entry.terms))
                passage = entry.chunk
                place = (self._space, self._edition, first, file, entry.day, ordinal, entry.length, entry.script)
                text = (storable(_heading(passage.heading)), storable(passage.text), as_tsvector(entry.terms))
                lines = (passage.start_line, passage.end_line)
                yield (*place, entry.key, entry.term_counts, *lines, *text)
                first += 1
                self._chunks = first - 1

    def _copy(self, table: str, columns: str, rows: Iterable[tuple[Any, ...]]) -> None:
        with self._connection.cursor() as cursor, cursor.copy(f"COPY {table}({columns}) FROM STDIN".encode()) as copy:
            for row in rows:
                copy.write_row(row)

    def _copy_vectors(self, rows: Iterable[tuple[Any, ...]]) -> None:
        statement = f"COPY vectors({_VECTORS}) FROM STDIN (FORMAT BINARY)".encode()
        with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(["int4", "int8", "int4", "bytea", "float8", "text", "vector"])
            for row in rows:
                copy.write_row(row)

    def finish(self) -> dict[str, float]:
        """Write the frequencies, make the indexes, publish; return the seconds that each index took."""
        rows = ((self._space, self._edition, term, count) for term, count in self._frequencies.items())
        self._copy("frequencies", "space, edition, term, chunks", rows)
        taken = dict[str, float]()
        for definition, index in self._indexes:
            began = time.perf_counter()
            self._connection.execute(definition.replace(" ON ONLY ", " ON ").encode())
            taken[index] = time.perf_counter() - began
        self._connection.execute(
            "UPDATE editions SET newest = %s, changes = changes + 1, content = content + 1 WHERE id = %s",
            (self._chunks, self._edition),
        )
        self._connection.execute("SELECT setval('file_ids', %s)", (max(self._files, 1),))
        self._connection.commit()
        self._connection.autocommit = True
        self._connection.execute("VACUUM (ANALYZE)")
        self._connection.close()
        return taken


def _heading(heading: tuple[str, ...]) -> str:
    import json

    return json.dumps(heading, ensure_ascii=False) if heading else ""
