"""The SQL of a query: filters, and the keyword retriever (FTS5 over analysed terms).

Functions that write expect an open transaction. The final ranking is made elsewhere; this module selects the chunks
that contain most of a query's terms, by weight. That needs only the list of each term and no access to single chunks,
which ranking by BM25 needs. BM25 only chooses among chunks that contain the same terms. The lists of common terms are
long: of those, only the part that also lies in the lists of rarer terms is read.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from memoriter.folding import fold_tag
from memoriter.index.store._connection import counter, increment, set_counter, storable
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import date

    from memoriter.index.store._connection import Database
    from memoriter.types import Filters


class Condition(NamedTuple):
    """An SQL condition; an empty one excludes nothing."""

    sql: str = ""
    values: tuple[str | int, ...] = ()


def _sources(kinds: Collection[str]) -> Condition:
    return Condition("files.kind IN (SELECT value FROM json_each(?))", (json.dumps(sorted(kinds)),))


def _path(path: str) -> Condition:
    plain = _plain(storable(path))
    if not plain:
        return Condition()
    # "0" is the character after "/", so the range contains everything in the folder, whatever its name.
    sql = "(files.path = ? OR (files.path >= ? AND files.path < ?) OR path_matches(files.path, ?))"
    return Condition(sql, (plain, f"{plain}/", f"{plain}0", plain.replace("[^", "[!")))


def _tags(tags: Collection[str]) -> Condition:
    """Return the condition that a file has all of the tags, or others below them: `a/b` is below `a`."""
    wanted = sorted(filter(None, (fold_tag(storable(tag)) for tag in tags)))
    # "0" is the character after "/".
    one = "files.id IN (SELECT tags.file FROM tags WHERE tag = ? OR (tag >= ? AND tag < ?))"
    values = [value for tag in wanted for value in (tag, f"{tag}/", f"{tag}0")]
    return Condition(" AND ".join([one] * len(wanted)), tuple(values))


def _since(day: date) -> Condition:
    return Condition("chunks.day >= ?", (day.toordinal(),))


def _until(day: date) -> Condition:
    """Return the condition on the last day. A day with a minus is only that of the last change of a file."""
    return Condition("chunks.day BETWEEN 1 AND ?", (day.toordinal(),))


def _changed(counts: bool) -> Condition:
    """Return no condition of its own: `condition` lets the day of the last change count for the others."""
    del counts
    return Condition()


FILE_CONDITIONS: Mapping[str, Callable[[Any], Condition]] = {"sources": _sources, "path": _path, "tags": _tags}
"""Conditions over `files`, by the field of `Filters`."""


def _phrases(phrases: Collection[str]) -> Condition:
    one = "holds_phrase(chunks.heading, chunks.text, ?)"
    return Condition(" AND ".join([one] * len(phrases)), tuple(map(storable, phrases)))


def _without(phrases: Collection[str]) -> Condition:
    one = "NOT holds_phrase(chunks.heading, chunks.text, ?)"
    return Condition(" AND ".join([one] * len(phrases)), tuple(map(storable, phrases)))


CHUNK_CONDITIONS: Mapping[str, Callable[[Any], Condition]] = {
    "since": _since,
    "until": _until,
    "changed": _changed,
    "phrases": _phrases,
    "without": _without,
}
"""Conditions over `chunks`, by the field of `Filters`."""


def condition(filters: Filters) -> tuple[str, tuple[str | int, ...]]:
    """Return an SQL condition over `chunks` and its values; `1` if there is nothing to filter."""
    if filters.empty:
        return "1", ()
    file = _joined(filters, FILE_CONDITIONS)
    chunk = _joined(filters, CHUNK_CONDITIONS)
    of_file = f"chunks.file IN (SELECT files.id FROM files WHERE {file.sql})" if file.sql else ""  # noqa: S608 (fixed text; values are bound)
    days = chunk.sql.replace("chunks.day ", "abs(chunks.day) ") if filters.changed else chunk.sql
    return " AND ".join(filter(None, (of_file, days))) or "1", (*file.values, *chunk.values)


def _joined(filters: Filters, conditions: Mapping[str, Callable[[Any], Condition]]) -> Condition:
    """Return one condition for all filters of a table that are set."""
    parts = [
        part
        for name, make in conditions.items()
        if (value := getattr(filters, name)) is not None and (part := make(value)).sql
    ]
    return Condition(" AND ".join(part.sql for part in parts), tuple(value for part in parts for value in part.values))


def _plain(path: str) -> str:
    while path.startswith("./"):
        path = path[2:]
    path = path.rstrip("/")
    return "" if path == "." else path


_SEPARATORS = re.compile(r"[\x00-\x20\x7f]+")
"""Characters at which the tokenizer splits, and NUL, which would end a query."""
_FOLD = str.maketrans({chr(upper): chr(upper + 32) for upper in range(ord("A"), ord("Z") + 1)})
"""The tokenizer folds ASCII letters and nothing else."""
MAX_PROPOSING = 4_096
"""Maximum total length of the lists of the rarest terms, which propose chunks. With words of natural frequency, 99 of
100 results are the same as without any of these bounds at 20,000 chunks (tested)."""
WHOLE_LIST_RATIO = 4
"""A list up to this many times as long as the candidates is read whole; a longer one only where both intersect."""
MAX_SINGLE_LIST = 16_384
"""Maximum list length of the rarest term, if it alone proposes chunks; of a longer list, the newest are read."""
MAX_RANKED = 1_024
"""Maximum number of chunks with a term that BM25 ranks among chunks with the same terms; of more, the newest are
ranked."""
MAX_COUNTED = 262_144
"""Maximum total length of the lists of all counted terms. A more frequent term has next to no weight, but its list
would be read."""
ALWAYS_PURGED = 16_384
"""Maximum size, in chunks, of an index whose words are all rewritten after any deletion."""
PURGE_SHARE = 256
"""In a larger index, one in this many chunks must be deleted first, because rewriting all words takes seconds."""


def add(connection: Database, entries: Iterable[tuple[int, str]]) -> None:
    """Index the terms of chunks."""
    connection.executemany(
        "INSERT INTO chunks_fts(rowid, terms) VALUES (?, ?)", ((each, storable(terms)) for each, terms in entries)
    )


def drop(connection: Database, ids: Sequence[int]) -> None:
    """Remove chunks from search at once; their words leave the file with the next `purge`."""
    connection.executemany("DELETE FROM chunks_fts WHERE rowid = ?", ((each,) for each in ids))
    if ids:
        increment(connection, "deleted", len(ids))


def is_purge_due(deleted: int, chunks: int) -> bool:
    """Return whether enough chunks were deleted to rewrite all words, which takes seconds in a large index."""
    return chunks <= ALWAYS_PURGED or deleted * PURGE_SHARE >= chunks


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
    """Return chunks with any of the terms, heaviest first: (chunk id, total weight of its terms).

    If the terms occur in too many chunks to read them all, chunks with only common terms come last. They are returned
    only if the rare terms match too few chunks, and then only the newest are read.
    """
    if limit <= 0:
        return []
    words = _quote(terms)
    query = _split_terms({word: _Term(frequency[term], weights[term]) for word, term in words.items()})
    hits: list[tuple[int, float]] = []
    for group in _group_by_terms(connection, query, filters, limit):
        remaining = limit - len(hits)
        if remaining <= 0:
            break
        chosen = group.chunks if len(group.chunks) <= remaining else _rank_group(connection, group, remaining, filters)
        hits += [(row, group.weight) for row in sorted(chosen)]
    if len(hits) < limit and query.common:
        hits += _search_newest(connection, query.common, limit, filters, exclude={row for row, _ in hits})
    return hits[:limit]


class _Term(NamedTuple):
    chunks: int
    weight: float


@dataclass(frozen=True, slots=True)
class _QueryTerms:
    """The quoted terms of a query that occur in any chunk, rarest first."""

    terms: Mapping[str, _Term]
    rare: Sequence[str]
    """Terms that propose chunks."""
    common: Sequence[str]
    """The other terms."""
    counted: Sequence[str]
    """The common terms that count towards the weight of proposed chunks."""


class _TermGroup(NamedTuple):
    """Chunks that contain the same terms."""

    rarest: str
    weight: float
    """Total weight of the terms."""
    chunks: Sequence[int]


def _split_terms(terms: Mapping[str, _Term]) -> _QueryTerms:
    present = {word: term for word, term in terms.items() if term.chunks}
    sizes = {word: term.chunks for word, term in present.items()}
    ordered = sorted(sizes, key=sizes.__getitem__)
    sums = list(accumulate(map(sizes.__getitem__, ordered)))
    cut = bisect_right(sums, MAX_PROPOSING) or bisect_right(sums[:1], MAX_SINGLE_LIST)
    last = bisect_right(sums, MAX_COUNTED) if cut else 0
    return _QueryTerms(present, ordered[:cut], ordered[cut:], ordered[cut : max(cut, last)])


def _group_by_terms(connection: Database, query: _QueryTerms, filters: Filters, limit: int) -> list[_TermGroup]:
    """Return the chunks with any of the rare terms, grouped by the terms they contain, heaviest group first.

    Once enough chunks outweigh the sum of the remaining terms, those terms only rank the candidates.
    """
    words = [*query.rare, *query.counted]
    weights = [query.terms[word].weight for word in words]
    term_bits: dict[int, int] = {}
    """The terms of each chunk, one bit for each."""
    totals = {0: 0.0}
    """The weight of each set of terms."""
    candidates: set[int] | None = None
    rare_match = ""
    for place, (word, weight) in enumerate(zip(words, weights, strict=True)):
        if candidates is None and (
            place >= len(query.rare) or _is_settled(term_bits, totals, sum(weights[place:]), limit)
        ):
            candidates = set(term_bits)
            rare_match = _any_of(words[:place])
        intersect = candidates is not None and query.terms[word].chunks > WHOLE_LIST_RATIO * len(candidates)
        matches = _matching_chunks(connection, f"{rare_match} AND {word}" if intersect else word, filters)
        bit = 1 << place
        bits_of = term_bits.get
        for row in matches if candidates is None else candidates.intersection(matches):
            before = bits_of(row, 0)
            term_bits[row] = after = before | bit
            if after not in totals:
                totals[after] = totals[before] + weight
    classes: dict[int, list[int]] = {}
    for row, bits in term_bits.items():
        classes.setdefault(bits, []).append(row)
    heaviest = [bits for *_, bits in sorted([(-totals[bits], rows[0], bits) for bits, rows in classes.items()])]
    return [_TermGroup(words[(bits & -bits).bit_length() - 1], totals[bits], classes[bits]) for bits in heaviest]


def _is_settled(term_bits: Mapping[int, int], totals: Mapping[int, float], remaining: float, limit: int) -> bool:
    """Return whether `limit` chunks weigh so much that no other chunk can pass them with the remaining terms."""
    if len(term_bits) < limit:
        return False
    return sorted(map(totals.__getitem__, term_bits.values()), reverse=True)[limit - 1] >= remaining


def _matching_chunks(connection: Database, match: str, filters: Filters) -> list[int]:
    """Return every chunk that matches, ascending."""
    matching, values = _from_and_where(match, filters)
    # Reading one JSON text is faster than reading a row for each chunk.
    statement = f"SELECT json_group_array(chunks_fts.rowid) {matching}"
    return cast("list[int]", json.loads(connection.execute(statement, values).get))


def _rank_group(connection: Database, group: _TermGroup, count: int, filters: Filters) -> list[int]:
    """Return the best chunks of a group, by BM25 of its rarest term; if that term is very common, the newest chunks."""
    chunks = set(group.chunks)
    ranked = _rank(connection, group.rarest, MAX_RANKED, filters, newest=MAX_RANKED)
    best = [row for row, _ in ranked if row in chunks][:count]
    return best if len(best) == count else [*best, *sorted(chunks.difference(best), reverse=True)][:count]


def _search_newest(
    connection: Database, words: Sequence[str], limit: int, filters: Filters, *, exclude: Collection[int]
) -> list[tuple[int, float]]:
    """Return the best of the newest chunks: all terms first, then the rarest and another one, then it alone."""
    first = words[0]
    others = _any_of(words[1:])
    seen = set(exclude)
    hits: list[tuple[int, float]] = []
    for match in [" AND ".join(words), f"{first} AND {others}", first] if others else [first]:
        if len(seen) < limit:
            rows = _rank(connection, match, limit, filters, newest=MAX_SINGLE_LIST)
            hits += [(row, 0.0) for row, _ in rows if row not in seen]
            seen.update(row for row, _ in rows)
    return hits


def _any_of(words: Sequence[str]) -> str:
    return f"({' OR '.join(words)})" if words else ""


def search_all(connection: Database, terms: Iterable[str], *, limit: int, filters: Filters) -> list[tuple[int, float]]:
    """Return chunks with all of the terms, best first, with the FTS5 rank: negative, lower is better."""
    return _rank(connection, " AND ".join(_quote(terms)), limit, filters)


def _rank(
    connection: Database, match: str, limit: int, filters: Filters, *, newest: int | None = None
) -> list[tuple[int, float]]:
    """Return the best chunks that match, or the best of the `newest` that match, lowest rank first."""
    if not match or limit <= 0:
        return []
    matching, values = _from_and_where(match, filters)
    # Sorting by the function instead of the FTS5 `rank` column keeps only `limit` rows in the sorter: a quarter faster.
    statement = f"SELECT chunks_fts.rowid AS id, bm25(chunks_fts) AS score {matching}"
    if newest is not None:
        statement = f"SELECT id, score FROM ({statement} ORDER BY chunks_fts.rowid DESC LIMIT ?)"  # noqa: S608 (fixed text)
        values = (*values, newest)
    ordered = f"{statement} ORDER BY score, id LIMIT ?"
    return cast("list[tuple[int, float]]", connection.execute(ordered, (*values, limit)).fetchall())


def _from_and_where(match: str, filters: Filters) -> tuple[str, tuple[str | int, ...]]:
    """Return the end of a statement over the chunks that match and pass the filters, and its values."""
    where, values = condition(filters)
    # The cross join makes SQLite look up the filter for each match instead of the other way round.
    join = "" if filters.empty else "CROSS JOIN chunks ON chunks.id = chunks_fts.rowid"
    return f"FROM chunks_fts {join} WHERE chunks_fts MATCH ? AND {where}", (match, *values)


def _quote(terms: Iterable[str]) -> dict[str, str]:
    """Return the terms as quoted for a query, each with its original term."""
    words = {_SEPARATORS.sub(" ", storable(term)).strip(): term for term in terms}
    return {'"' + word.replace('"', '""') + '"': term for word, term in words.items() if word}


def fold(term: str) -> str:
    """Return a term as the index stores it."""
    return storable(term).translate(_FOLD)
