"""The keyword leg: FTS5 over analysed terms. Writers expect an open transaction.

What a chunk is worth is for others to say; here those are chosen that hold most of a question's terms, by weight. That
needs the list of each term and no look at a single chunk, which ranking by BM25 does; it is left to choose among chunks
that hold the same terms. Lists of common terms are long: of those only what lies in the lists of rarer ones is read.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, cast

from memoriter.index._connection import counter, increment, set_counter
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
LISTED = 4_096
"""Chunks in the lists of the terms that propose, which are the rarest. With words of natural frequency 99 of 100
answers are those without any of these bounds at 20,000 chunks (a test holds it)."""
SHORT = 4
"""Times the chunks that are held already: a list that is no longer is read whole, a longer one only where both meet."""
ALONE = 16_384
"""Chunks in the list of the rarest term, if it proposes alone; of a term in more of them, the newest are looked at."""
ALIKE = 1_024
"""Chunks with a term that are ranked by it where others hold the same terms; of more, the newest are."""
WALKED = 262_144
"""Chunks in the lists of all terms that count: a term in more has next to no weight, but its list would be walked."""
CHEAP = 16_384
"""Chunks whose words are all written anew after any deletion."""
WORTH = 256
"""In a larger index, one in so many chunks must have been deleted: writing all words anew takes seconds there."""


def add(connection: Database, entries: Iterable[tuple[int, str]]) -> None:
    """Make chunks findable by their terms."""
    connection.executemany(
        "INSERT INTO chunks_fts(rowid, terms) VALUES (?, ?)", ((each, storable(terms)) for each, terms in entries)
    )


def drop(connection: Database, ids: Sequence[int]) -> None:
    """Make chunks unfindable at once; their words leave the file with the next `purge`."""
    connection.executemany("DELETE FROM chunks_fts WHERE rowid = ?", ((each,) for each in ids))
    if ids:
        increment(connection, "deleted", len(ids))


def is_purge_due(deleted: int, chunks: int) -> bool:
    """Return whether enough chunks were deleted to write the words of all anew: a large index takes seconds for it."""
    return chunks <= CHEAP or deleted * WORTH >= chunks


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
    frequency: Mapping[str, int],
    weights: Mapping[str, float],
) -> list[tuple[int, float]]:
    """Chunks with any of the terms, those with the heaviest terms first: (chunk id, weight of the terms in it).

    Where the terms are in too many chunks to look at all, those that hold only common terms come last and only if
    the rare ones do not find enough, and then the newest chunks are looked at.
    """
    if limit <= 0:
        return []
    words = _quoted(terms)
    asked = _parted({word: _Term(frequency[term], weights[term]) for word, term in words.items()})
    found: list[tuple[int, float]] = []
    for alike in _alike(connection, asked, filters, limit):
        left = limit - len(found)
        if left <= 0:
            break
        chosen = alike.rows if len(alike.rows) <= left else _best_of(connection, alike, left, filters)
        found += [(row, alike.weight) for row in sorted(chosen)]
    if len(found) < limit and asked.common:
        found += _newest(connection, asked.common, limit, filters, besides={row for row, _ in found})
    return found[:limit]


class _Term(NamedTuple):
    chunks: int
    weight: float


@dataclass(frozen=True, slots=True)
class _Asked:
    """The quoted terms of a question that any chunk holds, the rarest first."""

    terms: Mapping[str, _Term]
    telling: Sequence[str]
    """Those that propose chunks."""
    common: Sequence[str]
    """The others."""
    walked: Sequence[str]
    """Those of the others that count for what is proposed."""


class _Alike(NamedTuple):
    """Chunks that hold the same terms."""

    rarest: str
    weight: float
    """Of the terms."""
    rows: Sequence[int]


def _parted(terms: Mapping[str, _Term]) -> _Asked:
    known = {word: term for word, term in terms.items() if term.chunks}
    ordered = sorted(known, key=lambda word: known[word].chunks)
    sums = list(accumulate(known[word].chunks for word in ordered))
    cut = bisect_right(sums, LISTED) or bisect_right(sums[:1], ALONE)
    last = bisect_right(sums, WALKED) if cut else 0
    return _Asked(known, ordered[:cut], ordered[cut:], ordered[cut : max(cut, last)])


def _alike(connection: Database, asked: _Asked, filters: Filters, limit: int) -> list[_Alike]:
    """The chunks with any of the telling terms, the heaviest first.

    Once enough chunks are heavier than the terms that are left could make others, those only rank what is there.
    """
    words = [*asked.telling, *asked.walked]
    weights = [asked.terms[word].weight for word in words]
    held: dict[int, int] = {}
    """The terms of each chunk, a bit for each."""
    totals = {0: 0.0}
    """The weight of each set of terms."""
    proposed: set[int] | None = None
    rare = ""
    for place, (word, weight) in enumerate(zip(words, weights, strict=True)):
        if proposed is None and (place >= len(asked.telling) or _settled(held, totals, sum(weights[place:]), limit)):
            proposed, rare = set(held), _any(words[:place])
        met = proposed is not None and asked.terms[word].chunks > SHORT * len(proposed)
        listed = _listed(connection, f"{rare} AND {word}" if met else word, filters)
        bit = 1 << place
        known = held.get
        for row in listed if proposed is None else proposed.intersection(listed):
            had = known(row, 0)
            held[row] = has = had | bit
            if has not in totals:
                totals[has] = totals[had] + weight
    classes: dict[int, list[int]] = {}
    for row, bits in held.items():
        classes.setdefault(bits, []).append(row)
    heaviest = sorted(classes, key=lambda bits: (-totals[bits], classes[bits][0]))
    return [_Alike(words[(bits & -bits).bit_length() - 1], totals[bits], classes[bits]) for bits in heaviest]


def _settled(held: Mapping[int, int], totals: Mapping[int, float], left: float, limit: int) -> bool:
    """Whether `limit` chunks hold so much that none of the others can pass them with what is left."""
    if len(held) < limit:
        return False
    return sorted(map(totals.__getitem__, held.values()), reverse=True)[limit - 1] >= left


def _listed(connection: Database, match: str, filters: Filters) -> list[int]:
    """Every chunk that matches, ascending."""
    matching, values = _matching(match, filters)
    # One text is read faster than a row for each chunk.
    statement = f"SELECT json_group_array(chunks_fts.rowid) {matching}"
    return cast("list[int]", json.loads(connection.execute(statement, values).get))


def _best_of(connection: Database, alike: _Alike, count: int, filters: Filters) -> list[int]:
    """The best of chunks that hold the same terms, by BM25 of the rarest; where that is in very many, the newest."""
    wanted = set(alike.rows)
    found = _ranked(connection, alike.rarest, ALIKE, filters, newest=ALIKE)
    best = [row for row, _ in found if row in wanted][:count]
    return best if len(best) == count else [*best, *sorted(wanted.difference(best), reverse=True)][:count]


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
            found += [(row, 0.0) for row, _ in more if row not in seen]
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
    matching, values = _matching(match, filters)
    # Sorting the function instead of FTS5's own `rank` column keeps only `limit` rows in the sorter: a quarter faster.
    statement = f"SELECT chunks_fts.rowid AS id, bm25(chunks_fts) AS score {matching}"
    if newest is not None:
        statement = f"SELECT id, score FROM ({statement} ORDER BY chunks_fts.rowid DESC LIMIT ?)"  # noqa: S608 (fixed text)
        values = (*values, newest)
    ordered = f"{statement} ORDER BY score, id LIMIT ?"
    return cast("list[tuple[int, float]]", connection.execute(ordered, (*values, limit)).fetchall())


def _matching(match: str, filters: Filters) -> tuple[str, tuple[str | int, ...]]:
    """The end of a statement over the chunks that match and pass the filters, and its values."""
    where, values = condition(filters)
    # The cross join makes the filter a look-up for each match instead of the other way round.
    join = "" if filters.empty else "CROSS JOIN chunks ON chunks.id = chunks_fts.rowid"
    return f"FROM chunks_fts {join} WHERE chunks_fts MATCH ? AND {where}", (match, *values)


def _quoted(terms: Iterable[str]) -> dict[str, str]:
    """The terms as they stand in a query, each with the term it was made from."""
    words = {_SEPARATORS.sub(" ", storable(term)).strip(): term for term in terms}
    return {'"' + word.replace('"', '""') + '"': term for word, term in words.items() if word}


def folded(term: str) -> str:
    """A term as the index holds it."""
    return storable(term).translate(_FOLD)
