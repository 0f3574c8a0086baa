"""What an index keeps of text that no note holds any more, besides its words and vectors. Expects a transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from unicodedata import normalize

from memoriter.index import _segments
from memoriter.index._cache import VectorSet

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoriter.index._database import Database

UNFINISHED = "forgetting"
"""Set while a forgetting is under way, so that whoever comes next finishes it."""


def drop(connection: Database) -> None:
    """Codes, refusals and averages that deleted text has left; tables of sqlite-vec are made anew at their next use."""
    rows = cast(
        "Iterable[tuple[int, str, int]]",
        connection.execute("SELECT id, fingerprint, dimensions FROM sets").fetchall(),
    )
    for of in (VectorSet(*row) for row in rows):
        if _segments.exist(connection, of):
            _segments.reconcile(connection, of)
            _segments.rewrite_dead(connection, of)
    connection.execute("DELETE FROM failures WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.key = failures.key)")
    connection.execute("DELETE FROM meta WHERE key GLOB 'background:*'")
    connection.execute("UPDATE counters SET value = -1 WHERE name GLOB 'vec:*'")


def chunks_with(connection: Database, text: str) -> list[tuple[str, int, int]]:
    """Path, first and last line of every chunk whose text or headings hold the text, composed or decomposed."""
    forms = sorted({text, normalize("NFC", text), normalize("NFD", text)})
    either = " OR ".join("instr(chunks.text, ?) OR instr(chunks.heading, ?)" for _ in forms)
    found = connection.execute(
        "SELECT files.path, start_line, end_line FROM chunks JOIN files ON files.id = chunks.file"  # noqa: S608 (fixed text)
        f" WHERE {either} ORDER BY files.path, start_line",
        tuple(form for each in forms for form in (each, each)),
    )
    return cast("list[tuple[str, int, int]]", found.fetchall())


def providers(connection: Database) -> set[str]:
    """Of the models whose vectors were ever kept here."""
    return {str(name) for (name,) in connection.execute("SELECT json_extract(spec, '$.provider') FROM sets")}
