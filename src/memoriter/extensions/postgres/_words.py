"""The keyword retriever: a GIN index over the terms of each chunk.

As in the index of SQLite, rare terms propose chunks and common ones only weigh what is proposed; of chunks with the
same terms, the best by BM25 of the rarest term come first.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate, pairwise
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from memoriter.extensions.postgres._conditions import storable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from memoriter.extensions.postgres._conditions import Condition
    from memoriter.extensions.postgres._connections import Connection
    from memoriter.records import Corpus

MAX_PROPOSING = 4_096
"""Chunks that the rarest terms may propose in all."""
MAX_SINGLE_LIST = 16_384
"""Chunks that the rarest term may propose if it alone does; of more, the newest are read."""
MAX_RANKED = 1_024
"""Chunks with the same terms that BM25 ranks; of more, the newest are ranked."""
MAX_COUNTED = 262_144
"""Chunks that all counted terms may be in, in all: a more frequent term has next to no weight."""
K1 = 1.2
B = 0.75
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
    def table(self) -> str:
        """The chunks of the space: its partition, because the policies of the whole table keep GIN from being used."""
        return f"chunks_of_{self.space} AS chunks"

    @property
    def is_everything(self) -> bool:
        """Whether no filter excludes a chunk."""
        return self.allowed is None and self.condition.sql == "true"

    @property
    def where(self) -> str:
        allowed = "" if self.allowed is None else " AND chunks.id = ANY(%s)"
        return f"chunks.space = %s AND chunks.edition = %s AND {self.condition.sql}{allowed}"

    @property
    def where_by_words(self) -> str:
        """The same condition, of which no other index than that of the words can be used, whatever the server knows."""
        return self.where.replace("chunks.edition = %s", "chunks.edition + 0 = %s", 1)

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


class _Ranked(NamedTuple):
    """What ranks chunks by the words that they share with a query."""

    connection: Connection
    scope: Scope
    corpus: Corpus
    frequency: Mapping[str, int]
    """The number of chunks with each word."""


class _Group(NamedTuple):
    """Chunks that contain the same words."""

    bits: int
    """The words, one bit for each by its place."""
    weight: float
    chunks: list[int]
    """Ascending."""


def search(
    connection: Connection,
    terms: Sequence[str],
    *,
    limit: int,
    scope: Scope,
    frequency: Mapping[str, int],
    weights: Mapping[str, float],
    corpus: Corpus,
) -> list[tuple[int, float]]:
    """Return chunks with any of the terms, heaviest first: (chunk id, total weight of its terms)."""
    words = {folded: term for term in terms if (folded := fold(term)) and frequency[term]}
    if limit <= 0 or not words:
        return []
    ranked = _Ranked(connection, scope, corpus, {word: frequency[term] for word, term in words.items()})
    ordered = sorted(words, key=ranked.frequency.__getitem__)
    sums = list(accumulate(map(ranked.frequency.__getitem__, ordered)))
    cut = bisect_right(sums, MAX_PROPOSING) or bisect_right(sums[:1], MAX_SINGLE_LIST)
    counted = ordered[: max(cut, bisect_right(sums, MAX_COUNTED))]
    groups = _groups(ranked, ordered[:cut], counted, [weights[words[word]] for word in counted]) if cut else []
    hits: list[tuple[int, float]] = []
    for group in groups:
        remaining = limit - len(hits)
        if remaining <= 0:
            break
        chosen = group.chunks if len(group.chunks) <= remaining else _best(ranked, ordered, groups, group, remaining)
        hits += [(row, group.weight) for row in sorted(chosen)]
    if len(hits) < limit and ordered[cut:]:
        hits += _newest(ranked, ordered[cut:], limit, seen={row for row, _ in hits})
    return hits[:limit]


def _groups(ranked: _Ranked, rare: Sequence[str], words: Sequence[str], weights: Sequence[float]) -> list[_Group]:
    """Return the chunks with any of the rare words, grouped by the words they contain, heaviest group first."""
    scope = ranked.scope
    # An array for each word is filled from GIN alone: of a common word, only what is also in the list of a rare one.
    statement = (
        f"SELECT ARRAY(SELECT chunks.id FROM {scope.table} WHERE {scope.where_by_words} AND chunks.words @@ wanted.query::tsquery)"  # noqa: S608, E501 (fixed text; values are bound)
        " FROM unnest(%s::text[]) WITH ORDINALITY AS wanted(query, place) ORDER BY place"
    )
    any_rare = " | ".join(_quoted(word) for word in rare)
    queries = [
        _quoted(word) if place < len(rare) else f"({any_rare}) & {_quoted(word)}" for place, word in enumerate(words)
    ]
    bits_of = dict[int, int]()
    found = cast("Iterable[tuple[list[int]]]", ranked.connection.execute(statement.encode(), (*scope.values, queries)))
    for place, (rows,) in enumerate(found):
        for row in rows:
            bits_of[row] = bits_of.get(row, 0) | 1 << place
    classes = dict[int, list[int]]()
    for row, bits in bits_of.items():
        classes.setdefault(bits, []).append(row)
    groups = [
        _Group(bits, sum(weight for place, weight in enumerate(weights) if bits >> place & 1), sorted(rows))
        for bits, rows in classes.items()
    ]
    return sorted(groups, key=lambda group: (-group.weight, group.chunks[0]))


_TO_LIMIT = 0.1 / 1.64493406685
"""What `ts_rank` gives for one position: the weight of a position without a label, by the limit of the sum of 1/i²."""
_RANKS = [0.0, *accumulate(_TO_LIMIT / place**2 for place in range(1, MOST_POSITIONS + 1))]
"""What `ts_rank` gives for a word by its number of positions in a chunk (PostgreSQL, `calc_rank_or` in tsrank.c)."""
_BETWEEN = [(one + other) / 2 for one, other in pairwise(_RANKS)]
"""The bounds between these values: the bucket of a rank is the number of positions, faster than counted."""
_SCORED = (
    "SELECT id, (SELECT -sum(wanted.idf * found.count * %s / (found.count + %s * (1 - %s + %s * chosen.length / %s)))"
    " FROM unnest(%s::text[], %s::float8[]) AS wanted(query, idf), LATERAL"
    " (SELECT width_bucket(ts_rank(chosen.words, wanted.query::tsquery)::float8, %s::float8[]) AS count) AS found)"
    " AS score"
    " FROM ({chosen}) AS chosen ORDER BY score, id LIMIT %s"
)
"""Chunks by BM25 of some words, as FTS5 computes it: the lower, the better."""


def _rank(ranked: _Ranked, words: Sequence[str], chosen: str, values: tuple[Any, ...], limit: int) -> list[int]:
    """Return the best of the chosen chunks, whose columns are id, length and words, by BM25 of the words."""
    return [row for row, _ in _scores(ranked, words, chosen, values, limit)]


def _scores(
    ranked: _Ranked, words: Sequence[str], chosen: str, values: tuple[Any, ...], limit: int
) -> list[tuple[int, float]]:
    chunks = ranked.corpus.chunks
    mean = max(ranked.corpus.mean_length, 1e-9)
    counts = [ranked.frequency[word] for word in words]
    idf = [max(log((chunks - count + 0.5) / (count + 0.5)), 1e-6) for count in counts]
    every = (K1 + 1, K1, B, B, mean, [_quoted(word) for word in words], idf, _BETWEEN, *values, limit)
    rows = ranked.connection.execute(_SCORED.format(chosen=chosen).encode(), every)
    return [(int(row), float(score)) for row, score in rows]


def _best(ranked: _Ranked, ordered: Sequence[str], groups: Sequence[_Group], group: _Group, count: int) -> list[int]:
    """Return the best chunks of a group, by BM25 of its rarest word among the newest chunks that have it."""
    bit = group.bits & -group.bits
    having = sorted(row for each in groups if each.bits & bit for row in each.chunks)[-MAX_RANKED:]
    newest = sorted(set(group.chunks).intersection(having))
    scope = ranked.scope
    chosen = "SELECT chunks.id, chunks.length, chunks.words FROM chunks WHERE chunks.space = %s AND chunks.edition = %s AND chunks.id = ANY(%s)"  # noqa: E501 (one statement)
    best = _rank(ranked, [ordered[bit.bit_length() - 1]], chosen, (scope.space, scope.edition, newest), count)
    return best if len(best) == count else [*best, *sorted(set(group.chunks).difference(best), reverse=True)][:count]


def _newest(ranked: _Ranked, words: Sequence[str], limit: int, *, seen: set[int]) -> list[tuple[int, float]]:
    """Return the best of the newest chunks: all words first, then the rarest and another one, then it alone."""
    scope = ranked.scope
    first = _quoted(words[0])
    others = " | ".join(_quoted(word) for word in words[1:])
    every = " & ".join(_quoted(word) for word in words)
    hits = dict[int, None]()
    for query in [every, f"{first} & ({others})", first] if others else [first]:
        if len(seen) + len(hits) < limit:
            chosen = (
                f"SELECT chunks.id, chunks.length, chunks.words FROM {scope.table} WHERE {scope.where_by_words}"  # noqa: S608 (fixed text; values are bound)
                " AND chunks.words @@ %s::text::tsquery ORDER BY chunks.id DESC LIMIT %s"
            )
            scored = words[:1] if query == first else words
            rows = _rank(ranked, scored, chosen, (*scope.values, query, MAX_RANKED), limit)
            hits |= dict.fromkeys(row for row in rows if row not in seen)
    return [(row, 0.0) for row in hits]


def search_all(
    connection: Connection,
    terms: Sequence[str],
    *,
    limit: int,
    scope: Scope,
    frequency: Mapping[str, int],
    corpus: Corpus,
) -> list[tuple[int, float]]:
    """Return chunks with all of the terms, best first: (chunk id, negative BM25, as FTS5 gives it)."""
    words = {folded: frequency[term] for term in terms if (folded := fold(term))}
    if limit <= 0 or not words:
        return []
    chosen = f"SELECT chunks.id, chunks.length, chunks.words FROM {scope.table} WHERE {scope.where_by_words} AND chunks.words @@ %s::text::tsquery"  # noqa: S608, E501 (fixed text; values are bound)
    query = " & ".join(_quoted(word) for word in words)
    ranked = _Ranked(connection, scope, corpus, words)
    return _scores(ranked, list(words), chosen, (*scope.values, query), limit)


def _quoted(term: str) -> str:
    """Return a term as a lexeme in the notation of tsvector and tsquery."""
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"
