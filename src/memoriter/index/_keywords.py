"""The keyword leg: FTS5 over analysed terms. Writers expect an open transaction."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from memoriter.index._connection import advance, counter, set_counter
from memoriter.index._filters import condition
from memoriter.index._text import storable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from memoriter.index._database import Database
    from memoriter.types import Filters

_SEPARATORS = re.compile(r"[\x00-\x20\x7f]+")
"""What the tokenizer splits at, and NUL, which would end a query."""
_FOLD = str.maketrans({chr(upper): chr(upper + 32) for upper in range(ord("A"), ord("Z") + 1)})
"""The tokenizer folds ASCII and nothing else."""


def add(connection: Database, entries: Iterable[tuple[int, str]]) -> None:
    """Make chunks findable by their terms."""
    connection.executemany(
        "INSERT INTO chunks_fts(rowid, terms) VALUES (?, ?)", ((each, storable(terms)) for each, terms in entries)
    )


def drop(connection: Database, ids: Sequence[int]) -> None:
    """Make chunks unfindable at once; their words leave the file with the next `purge`."""
    connection.executemany("DELETE FROM chunks_fts WHERE rowid = ?", ((each,) for each in ids))
    if ids:
        advance(connection, "deleted", len(ids))


def purge(connection: Database) -> None:
    """Rewrite the word index without the words of deleted chunks, if there are any."""
    if counter(connection, "deleted"):
        connection.execute("INSERT INTO chunks_fts(chunks_fts) VALUES ('optimize')").fetchall()
        set_counter(connection, "deleted", 0)


def search(connection: Database, terms: Iterable[str], *, limit: int, filters: Filters) -> list[tuple[int, float]]:
    """Chunks with any of the terms, best first, with BM25 as a positive number."""
    return [(found, -rank) for found, rank in _ranked(connection, " OR ".join(_quoted(terms)), limit, filters)]


def search_all(connection: Database, terms: Iterable[str], *, limit: int, filters: Filters) -> list[tuple[int, float]]:
    """Chunks with all of the terms, best first, with FTS5's own rank: negative, lower is better."""
    return _ranked(connection, " AND ".join(_quoted(terms)), limit, filters)


def _ranked(connection: Database, match: str, limit: int, filters: Filters) -> list[tuple[int, float]]:
    if not match or limit <= 0:
        return []
    where, values = condition(filters)
    # Sorting the function instead of FTS5's own `rank` column keeps only `limit` rows in the sorter: a quarter faster.
    # The cross join makes the filter a look-up for each match instead of the other way round.
    join = "" if filters.empty else "CROSS JOIN chunks ON chunks.id = chunks_fts.rowid"
    statement = (
        f"SELECT chunks_fts.rowid, bm25(chunks_fts) AS score FROM chunks_fts {join}"  # noqa: S608 (fixed text; values are bound)
        f" WHERE chunks_fts MATCH ? AND {where} ORDER BY score, chunks_fts.rowid LIMIT ?"
    )
    return cast("list[tuple[int, float]]", connection.execute(statement, (match, *values, limit)).fetchall())


def _quoted(terms: Iterable[str]) -> list[str]:
    words = (_SEPARATORS.sub(" ", storable(term)).strip() for term in terms)
    return ['"' + word.replace('"', '""') + '"' for word in dict.fromkeys(words) if word]


def document_frequency(connection: Database, terms: Collection[str]) -> dict[str, int]:
    """How many chunks hold each term; 0 for an unknown one."""
    statement = "SELECT doc FROM chunks_terms WHERE term = ?"
    return {term: int(connection.execute(statement, (storable(term).translate(_FOLD),)).get or 0) for term in terms}
