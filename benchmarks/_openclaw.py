"""OpenClaw 2026.2.26's vector query on a scratch database of its shape.

It compares the query with every row by `vec_distance_cosine`, joined to the chunks.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self, cast

import apsw
import sqlite_vec

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.records import StoredChunk

_MODEL = "text-embedding-3-small"
_TABLES = """
CREATE TABLE chunks(
  id TEXT PRIMARY KEY, path TEXT NOT NULL, source TEXT NOT NULL, start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
  hash TEXT NOT NULL, model TEXT NOT NULL, text TEXT NOT NULL, embedding TEXT NOT NULL, updated_at INTEGER NOT NULL
);
CREATE INDEX chunks_path ON chunks(path);
CREATE INDEX chunks_source ON chunks(source);
"""
_NEAREST = """
SELECT chunks.id, chunks.path, chunks.start_line, chunks.end_line, chunks.text, chunks.source,
  vec_distance_cosine(chunks_vec.embedding, ?) AS distance
FROM chunks_vec JOIN chunks ON chunks.id = chunks_vec.id
WHERE chunks.model = ? ORDER BY distance LIMIT ?
"""


class OpenClawTables:
    """OpenClaw's tables with the same chunks; a context manager."""

    def __init__(self, path: Path) -> None:
        # The types of apsw include buffers only from Python 3.12 on.
        self._connection = cast("Any", apsw.Connection(str(path)))
        self._connection.enable_load_extension(True)
        self._connection.load_extension(sqlite_vec.loadable_path())
        self._connection.execute(_TABLES).fetchall()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def fill(self, rows: Sequence[StoredChunk], vectors: NDArray[np.float32]) -> None:
        """Store every chunk with its vector, as text and as vector, as OpenClaw does."""
        self._connection.execute(
            f"CREATE VIRTUAL TABLE chunks_vec USING vec0(id TEXT PRIMARY KEY, embedding FLOAT[{vectors.shape[1]}])"
        )
        with self._connection:
            for row, vector in zip(rows, vectors, strict=True):
                name = f"{row.id:064x}"
                place = (row.path, row.source, row.chunk.start_line, row.chunk.end_line)
                values = (name, *place, name, _MODEL, row.chunk.text, json.dumps(vector.tolist()), 0)
                self._connection.execute("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
                self._connection.execute(
                    "INSERT INTO chunks_vec(id, embedding) VALUES (?, ?)", (name, vector.tobytes())
                )

    def nearest(self, vector: NDArray[np.float32], limit: int) -> list[tuple[object, ...]]:
        """Return the passages nearest to a vector, with their distance."""
        rows = self._connection.execute(_NEAREST, (vector.tobytes(), _MODEL, limit)).fetchall()
        return cast("list[tuple[object, ...]]", rows)
