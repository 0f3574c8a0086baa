"""Text that remains in an index after its note was changed, apart from words and vectors. Expects a transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from unicodedata import normalize

from memoriter.index import _segments
from memoriter.index._cache import VectorSet

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoriter.index._database import Database

UNFINISHED = "forgetting"
"""Set while forgetting is in progress, so that a later process can finish it."""


def drop(connection: Database) -> None:
    """Delete codes, failures and baselines that deleted text has left.

    Tables of sqlite-vec are rebuilt at their next use.
    """
    rows = cast(
        "Iterable[tuple[int, str, int]]",
        connection.execute("SELECT id, fingerprint, dimensions FROM sets").fetchall(),
    )
    for vector_set in (VectorSet(*row) for row in rows):
        if _segments.exists(connection, vector_set):
            _segments.reconcile(connection, vector_set)
            _segments.rewrite_dead_segments(connection, vector_set)
    connection.execute("DELETE FROM failures WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.key = failures.key)")
    connection.execute("DELETE FROM meta WHERE key GLOB 'background:*'")
    connection.execute("UPDATE counters SET value = -1 WHERE name GLOB 'vec:*'")


def chunks_with(connection: Database, text: str) -> list[tuple[str, int, int]]:
    """Return path, first and last line of every chunk whose text or headings contain a text, composed or not."""
    forms = sorted({text, normalize("NFC", text), normalize("NFD", text)})
    either = " OR ".join("instr(chunks.text, ?) OR instr(chunks.heading, ?)" for _ in forms)
    result = connection.execute(
        "SELECT files.path, start_line, end_line FROM chunks JOIN files ON files.id = chunks.file"  # noqa: S608 (fixed text)
        f" WHERE {either} ORDER BY files.path, start_line",
        tuple(form for each in forms for form in (each, each)),
    )
    return cast("list[tuple[str, int, int]]", result.fetchall())


def providers(connection: Database) -> set[str]:
    """Return the providers of the models whose vectors were ever stored here."""
    return {str(name) for (name,) in connection.execute("SELECT json_extract(spec, '$.provider') FROM sets")}
