"""The keyword retriever: a GIN index over the terms of each chunk.

As in the index of SQLite, rare terms propose chunks and common ones only weigh what is proposed; of chunks with the
same terms, the best by BM25 of the rarest term come first.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from memoriter.postgres._conditions import storable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from memoriter.postgres._conditions import Condition
    from memoriter.postgres._server import Connection

MAX_PROPOSING = 4_096
"""Chunks that the rarest terms may propose in all."""
MAX_SINGLE_LIST = 16_384
"""Chunks that the rarest term may propose if it alone does; of more, the newest are read."""
MAX_RANKED = 1_024
"""Chunks with the same terms that BM25 ranks."""
K1, B = 1.2, 0.75
"""The constants of BM25, as in SQLite's FTS5."""
MOST_POSITIONS = 255
"""Positions of a term in a chunk that PostgreSQL keeps."""
_SEPARATORS = re.compile(r"[\x00-\x20\x7f]+")
_FOLD = str.maketrans({chr(upper): chr(upper + 32) for upper in range(ord("A"), ord("Z") + 1)})
_LONGEST = 2_000
"""Bytes of a term that are kept; PostgreSQL allows 2,046."""


class Scope(NamedTuple):
    """The chunks that a query may return."""

    space: int
    edition: int
    condition: Condition
    allowed: list[int] | None
    """The ids that pass the filters on phrases; None: there are none."""

    @property
    def where(self) -> str:
        allowed = "" if self.allowed is None else " AND chunks.id = ANY(%s)"
        return f"chunks.space = %s AND chunks.edition = %s AND {self.condition.sql}{allowed}"

    @property
    def values(self) -> tuple[Any, ...]:
        allowed = () if self.allowed is None else (self.allowed,)
        return (self.space, self.edition, *self.condition.values, *allowed)


def fold(term: str) -> str:
    """Return a term as the store keeps it; empty if nothing is left of it."""
    folded = _SEPARATORS.sub(" ", storable(term)).strip().translate(_FOLD)
    return folded.encode()[:_LONGEST].decode(errors="ignore")


def as_tsvector(terms: str) -> str:
    """Return analysed terms, separated by spaces, in the notation of a tsvector, with their positions."""
    places = dict[str, list[int]]()
    for place, term in enumerate(terms.split(" "), 1):
        if folded := fold(term):
            places.setdefault(folded, []).append(min(place, 16_383))
    return " ".join(
        f"{_quoted(term)}:{','.join(map(str, list(dict.fromkeys(found))[:MOST_POSITIONS]))}"
        for term, found in places.items()
    )


def distinct(terms: str) -> set[str]:
    """Return the different terms, as the store keeps them."""
    return {folded for term in terms.split(" ") if (folded := fold(term))}


def search(
    connection: Connection,
    terms: Sequence[str],
    *,
    limit: int,
    scope: Scope,
    frequency: Mapping[str, int],
    weights: Mapping[str, float],
    mean_length: float,
) -> list[tuple[int, float]]:
    """Return chunks with any of the terms, heaviest first: (chunk id, total weight of its terms)."""
    words = {folded: term for term in terms if (folded := fold(term)) and frequency[term]}
    if limit <= 0 or not words:
        return []
    ordered = sorted(words, key=lambda word: frequency[words[word]])
    sums = list(accumulate(frequency[words[word]] for word in ordered))
    cut = bisect_right(sums, MAX_PROPOSING) or bisect_right(sums[:1], MAX_SINGLE_LIST)
    if not cut:
        return _newest(connection, ordered, limit, scope)
    groups = _groups(connection, ordered[:cut], ordered, [weights[words[word]] for word in ordered], scope)
    hits: list[tuple[int, float]] = []
    for bits, weight, chunks in groups:
        remaining = limit - len(hits)
        if remaining <= 0:
            break
        rarest = ordered[(bits & -bits).bit_length() - 1]
        chosen = (
            chunks if len(chunks) <= remaining else _best(connection, rarest, chunks, remaining, scope, mean_length)
        )
        hits += [(row, weight) for row in sorted(chosen)]
    if len(hits) < limit and ordered[cut:]:
        seen = {row for row, _ in hits}
        hits += [hit for hit in _newest(connection, ordered[cut:], limit, scope) if hit[0] not in seen]
    return hits[:limit]


def _groups(
    connection: Connection, rare: Sequence[str], words: Sequence[str], weights: Sequence[float], scope: Scope
) -> list[tuple[int, float, list[int]]]:
    """Return the chunks with any of the rare terms by the set of their terms, heaviest first: (bits, weight, ids)."""
    statement = (
        f"WITH proposed AS MATERIALIZED (SELECT chunks.id, chunks.words FROM chunks WHERE {scope.where}"  # noqa: S608 (fixed text; values are bound)
        " AND chunks.words @@ %s::text::tsquery)"
        " SELECT proposed.id, array_agg(wanted.place) FROM proposed JOIN unnest(%s::text[]) WITH ORDINALITY"
        " AS wanted(query, place) ON proposed.words @@ wanted.query::tsquery GROUP BY proposed.id"
    )
    any_rare = " | ".join(_quoted(word) for word in rare)
    values = (*scope.values, any_rare, [_quoted(word) for word in words])
    classes = dict[int, list[int]]()
    for row, places in cast("Iterable[tuple[int, list[int]]]", connection.execute(statement.encode(), values)):
        classes.setdefault(sum(1 << (place - 1) for place in places), []).append(row)
    weighed = [
        (bits, sum(weight for place, weight in enumerate(weights) if bits >> place & 1), sorted(rows))
        for bits, rows in classes.items()
    ]
    return sorted(weighed, key=lambda group: (-group[1], group[2][0]))


def _best(
    connection: Connection, rarest: str, chunks: Sequence[int], count: int, scope: Scope, mean_length: float
) -> list[int]:
    """Return the best chunks of a group by BM25 of its rarest term."""
    statement = (
        "SELECT chunks.id FROM chunks, LATERAL (SELECT cardinality(positions) AS count FROM unnest(chunks.words)"
        " WHERE lexeme = %s) AS term WHERE chunks.space = %s AND chunks.edition = %s AND chunks.id = ANY(%s)"
        " ORDER BY term.count * %s / (term.count + %s * (1 - %s + %s * chunks.length / %s)) DESC, chunks.id LIMIT %s"
    )
    newest = list(chunks)[-MAX_RANKED:]
    values = (rarest, scope.space, scope.edition, newest, K1 + 1, K1, B, B, max(mean_length, 1e-9), count)
    best = [int(row) for (row,) in connection.execute(statement.encode(), values)]
    return best if len(best) == count else [*best, *sorted(set(chunks).difference(best), reverse=True)][:count]


def _newest(connection: Connection, words: Sequence[str], limit: int, scope: Scope) -> list[tuple[int, float]]:
    """Return the newest chunks: those with all terms, then with the rarest and another one, then with the rarest."""
    first, others = _quoted(words[0]), " | ".join(_quoted(word) for word in words[1:])
    every = " & ".join(_quoted(word) for word in words)
    seen = dict[int, None]()
    for query in [every, f"{first} & ({others})", first] if others else [first]:
        if len(seen) < limit:
            statement = f"SELECT chunks.id FROM chunks WHERE {scope.where} AND chunks.words @@ %s::text::tsquery ORDER BY chunks.id DESC LIMIT %s"  # noqa: S608, E501 (fixed text; values are bound)
            rows = connection.execute(statement.encode(), (*scope.values, query, limit))
            seen |= dict.fromkeys(int(row) for (row,) in rows)
    return [(row, 0.0) for row in seen][:limit]


def search_all(
    connection: Connection,
    terms: Sequence[str],
    *,
    limit: int,
    scope: Scope,
    frequency: Mapping[str, int],
    chunks: int,
    mean_length: float,
) -> list[tuple[int, float]]:
    """Return chunks with all of the terms, best first: (chunk id, negative BM25, as FTS5 gives it)."""
    from math import log

    words = {folded: term for term in terms if (folded := fold(term))}
    if limit <= 0 or not words:
        return []
    idf = [max(log((chunks - frequency[term] + 0.5) / (frequency[term] + 0.5)), 1e-6) for term in words.values()]
    statement = (
        f"SELECT chunks.id, (SELECT -sum(wanted.idf * cardinality(term.positions) * %s / (cardinality(term.positions)"  # noqa: S608 (fixed text; values are bound)
        " + %s * (1 - %s + %s * chunks.length / %s))) FROM unnest(chunks.words) AS term"
        " JOIN unnest(%s::text[], %s::float8[]) AS wanted(lexeme, idf) USING (lexeme)) AS score"
        f" FROM chunks WHERE {scope.where} AND chunks.words @@ %s::text::tsquery ORDER BY score, chunks.id LIMIT %s"
    )
    query = " & ".join(_quoted(word) for word in words)
    values = (K1 + 1, K1, B, B, max(mean_length, 1e-9), list(words), idf, *scope.values, query, limit)
    return [(int(row), float(score)) for row, score in connection.execute(statement.encode(), values)]


def _quoted(term: str) -> str:
    """Return a term as a lexeme in the notation of tsvector and tsquery."""
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"
