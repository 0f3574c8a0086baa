"""The keyword leg: FTS5 over analysed terms. Writers expect an open transaction.

To walk along a term's list costs little, to rank a chunk by BM25 a dozen times as much and more with every term. So a
search ranks a bounded number of chunks: those that hold the rarest of its terms, by most of its terms.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, cast

from memoriter.index._connection import advance, counter, set_counter
from memoriter.index._filters import condition
from memoriter.index._text import storable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from memoriter.index._database import Database
    from memoriter.types import Filters

_SEPARATORS = re.compile(r"[\x00-\x20\x7f]+")
"""What the tokenizer splits at, and NUL, which would end a query."""
_FOLD = str.maketrans({chr(upper): chr(upper + 32) for upper in range(ord("A"), ord("Z") + 1)})
"""The tokenizer folds ASCII and nothing else."""
RANKED = 32_768
"""Chunks times terms that are ranked. With words of natural frequency 99 of 100 answers are those of no bound at 20,000
chunks (a test holds it); in larger corpora more of the last hits change places with others of nearly their score."""
ALONE = 16_384
"""Chunks that are ranked for the rarest term however many terms there are; of a term in more of them, the newest."""
WALKED = 262_144
"""Chunks in the lists of the terms that rank: a term in more has next to no weight, but its list would be walked."""


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


def search(
    connection: Database,
    terms: Iterable[str],
    *,
    limit: int,
    filters: Filters,
    frequency: Mapping[str, int] | None = None,
) -> list[tuple[int, float]]:
    """Chunks with any of the terms, best first, with BM25 as a positive number; `frequency` spares counting them again.

    Where the terms are in too many chunks to rank them all, those that hold only common terms come last and only if
    the rare ones do not find enough, and then the newest chunks are looked at.
    """
    words = _quoted(terms)
    counted = document_frequency(connection, words.values()) if frequency is None else frequency
    telling, common = _parted({word: counted[term] for word, term in words.items()})
    rare, walked = _any(telling), _any(common.walked)
    parts = [f"{rare} AND {walked}", f"{rare} NOT {walked}"] if rare and walked else [rare]
    found = [pair for part in parts for pair in _ranked(connection, part, limit, filters)]
    found.sort(key=lambda pair: (pair[1], pair[0]))
    if len(found) < limit and common.words:
        found += _newest(connection, common.words, limit, filters, besides={row for row, _ in found})
    return [(row, -rank) for row, rank in found[: max(limit, 0)]]


@dataclass(frozen=True, slots=True)
class _Common:
    """Terms of a question that do not propose chunks, the rarest first."""

    words: Sequence[str]
    walked: Sequence[str]
    """Those that rank what others propose."""


def _parted(frequency: Mapping[str, int]) -> tuple[list[str], _Common]:
    """The quoted terms that propose chunks, which are the rarest, and the others."""
    ordered = sorted(frequency, key=frequency.__getitem__)
    sums = list(accumulate(frequency[word] for word in ordered))
    most = RANKED // max(len(ordered), 1)
    cut = bisect_right(sums, most) or bisect_right(sums[:1], ALONE)
    return ordered[:cut], _Common(ordered[cut:], ordered[cut : max(cut, bisect_right(sums, WALKED))])


def _newest(
    connection: Database, words: Sequence[str], limit: int, filters: Filters, *, besides: Collection[int]
) -> list[tuple[int, float]]:
    """The best of the newest chunks: first of those with all of the terms, then with the rarest and another one."""
    first, others = words[0], _any(words[1:])
    seen = set(besides)
    found: list[tuple[int, float]] = []
    for match in [" AND ".join(words), f"{first} AND {others}", first] if others else [first]:
        if len(seen) < limit:
            more = _ranked(connection, match, limit, filters, newest=ALONE)
            found += [pair for pair in more if pair[0] not in seen]
            seen.update(row for row, _ in more)
    return found


def _any(words: Sequence[str]) -> str:
    return f"({' OR '.join(words)})" if words else ""


def search_all(connection: Database, terms: Iterable[str], *, limit: int, filters: Filters) -> list[tuple[int, float]]:
    """Chunks with all of the terms, best first, with FTS5's own rank: negative, lower is better."""
    return _ranked(connection, " AND ".join(_quoted(terms)), limit, filters)


def _ranked(
    connection: Database, match: str, limit: int, filters: Filters, *, newest: int | None = None
) -> list[tuple[int, float]]:
    """The best chunks that match, or the best of the newest that do, lowest rank first."""
    if not match or limit <= 0:
        return []
    where, values = condition(filters)
    # Sorting the function instead of FTS5's own `rank` column keeps only `limit` rows in the sorter: a quarter faster.
    # The cross join makes the filter a look-up for each match instead of the other way round.
    join = "" if filters.empty else "CROSS JOIN chunks ON chunks.id = chunks_fts.rowid"
    statement = (
        f"SELECT chunks_fts.rowid AS id, bm25(chunks_fts) AS score FROM chunks_fts {join}"  # noqa: S608 (fixed text; values are bound)
        f" WHERE chunks_fts MATCH ? AND {where}"
    )
    if newest is not None:
        statement = f"SELECT id, score FROM ({statement} ORDER BY chunks_fts.rowid DESC LIMIT {newest:d})"  # noqa: S608 (a number)
    bindings = (match, *values, limit)
    ordered = f"{statement} ORDER BY score, id LIMIT ?"
    return cast("list[tuple[int, float]]", connection.execute(ordered, bindings).fetchall())


def _quoted(terms: Iterable[str]) -> dict[str, str]:
    """The terms as they stand in a query, each with the term it was made from."""
    words = {_SEPARATORS.sub(" ", storable(term)).strip(): term for term in terms}
    return {'"' + word.replace('"', '""') + '"': term for word, term in words.items() if word}


def document_frequency(connection: Database, terms: Iterable[str]) -> dict[str, int]:
    """How many chunks hold each term; 0 for an unknown one; the time grows with the counts."""
    statement = "SELECT doc FROM chunks_terms WHERE term = ?"
    return {
        term: int(connection.execute(statement, (storable(term).translate(_FOLD),)).get or 0)
        for term in dict.fromkeys(terms)
    }
