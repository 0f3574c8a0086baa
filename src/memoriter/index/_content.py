"""The content of an index: files, their chunks, and the words by which the keyword retriever (FTS5) finds those.

Functions that write expect an open transaction. The final ranking is made elsewhere; `search` selects the chunks
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
from memoriter.index._connection import counter, increment, set_counter, storable
from memoriter.records import COUNTED_OF_FILE, Corpus, IndexedFile, KindCount, ScoringRow, StoredChunk
from memoriter.types import Chunk
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import date

    from memoriter.index._connection import Database
    from memoriter.records import ChunkRecord
    from memoriter.types import Filters, Source, SourceKind


class StoredChange(NamedTuple):
    """The ids of chunks that a write deleted and added."""

    gone: Sequence[int]
    added: Sequence[int]


CHUNK = "chunks.start_line, chunks.end_line, chunks.text, chunks.heading"


def make_chunk(start_line: int, end_line: int, text: str, heading: str) -> Chunk:
    """Return a chunk from the columns of `CHUNK`."""
    titles = tuple(cast("list[str]", json.loads(heading))) if heading else ()
    return Chunk(start_line, end_line, text, titles)


def put(
    connection: Database,
    source: Source,
    hash: str,  # noqa: A002 (named as in `Index.put_file`)
    entries: Sequence[ChunkRecord],
    *,
    keep: int = 0,
    tail: str = "",
    tags: Iterable[str] = (),
    names: Collection[str] = (),
) -> StoredChange:
    """Replace all stored data of a file except its first `keep` chunks, and return what changed."""
    path = storable(source.path)
    file, gone = _delete_chunks(connection, path, keep)
    kept, length = cast(
        "tuple[int, int]",
        connection.execute("SELECT count(*), coalesce(sum(length), 0) FROM chunks WHERE file = ?", (file,)).get,
    )
    chunks = kept + len(entries)
    length += sum(entry.length for entry in entries)
    values = (path, source.kind, hash, source.size, source.mtime_ns, chunks, length, tail, source.stamp)
    if file is None:
        statement = (
            "INSERT INTO files(path, kind, hash, size, mtime_ns, chunks, length, tail, stamp)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id"
        )
        file = int(connection.execute(statement, values).get)
    else:
        statement = (
            "UPDATE files SET path = ?, kind = ?, hash = ?, size = ?, mtime_ns = ?, chunks = ?, length = ?, tail = ?,"
            " stamp = ? WHERE id = ?"
        )
        connection.execute(statement, (*values, file))
    connection.execute("DELETE FROM tags WHERE file = ?", (file,))
    connection.executemany(
        "INSERT OR IGNORE INTO tags(file, tag) VALUES (?, ?)", ((file, storable(tag)) for tag in tags)
    )
    connection.execute("DELETE FROM names WHERE file = ?", (file,))
    if len(names) > 1:
        connection.executemany(
            "INSERT OR IGNORE INTO names(name, file) VALUES (?, ?)", ((storable(name), file) for name in names)
        )
    return StoredChange(gone, _add_chunks(connection, file, entries, kept))


def _add_chunks(connection: Database, file: int, entries: Sequence[ChunkRecord], before: int) -> range:
    first = newest_id(connection) + 1
    ids = range(first, first + len(entries))
    connection.executemany(
        "INSERT INTO chunks"
        "(id, file, day, ordinal, length, script, key, term_counts, start_line, end_line, heading, text)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (chunk_id, file, entry.day, before + chunk_id - first, *_columns(entry))
            for chunk_id, entry in zip(ids, entries, strict=True)
        ),
    )
    connection.executemany(
        "INSERT INTO items(chunk, first, last, script, key) VALUES (?, ?, ?, ?, ?)",
        (
            (chunk_id, item.first, item.last, script, key)
            for chunk_id, entry in zip(ids, entries, strict=True)
            for item, key, script in entry.items
        ),
    )
    _add_terms(connection, zip(ids, (entry.terms for entry in entries), strict=True))
    return ids


def _columns(entry: ChunkRecord) -> tuple[int, str, bytes, bytes, int, int, str, str]:
    passage = entry.chunk
    heading = json.dumps(passage.heading, ensure_ascii=False) if passage.heading else ""
    place = passage.start_line, passage.end_line, storable(heading), storable(passage.text)
    return entry.length, entry.script, entry.key, entry.term_counts, *place


def _delete_chunks(connection: Database, path: str, keep: int = 0) -> tuple[int | None, list[int]]:
    file = connection.execute("SELECT id FROM files WHERE path = ?", (path,)).get
    if file is None:
        return None, []
    which = "FROM chunks WHERE file = ? AND ordinal >= ?"
    gone = _column(connection, f"SELECT id {which} ORDER BY id", (file, keep))
    _drop_terms(connection, gone)
    connection.execute(f"DELETE FROM items WHERE chunk IN (SELECT id {which})", (file, keep))  # noqa: S608 (fixed text)
    connection.execute(f"DELETE {which}", (file, keep))
    return int(file), gone


def remove(connection: Database, paths: Collection[str]) -> StoredChange:
    """Delete files and return what changed; unknown paths are ignored."""
    everything: list[int] = []
    for path in paths:
        file, gone = _delete_chunks(connection, storable(path))
        connection.execute("DELETE FROM tags WHERE file = ?", (file,))
        connection.execute("DELETE FROM names WHERE file = ?", (file,))
        connection.execute("DELETE FROM files WHERE id = ?", (file,))
        everything += gone
    return StoredChange(everything, ())


def other_names(connection: Database, names: Collection[str]) -> dict[str, list[str]]:
    """Return for each name of a note the other names of the notes that have it."""
    result = connection.execute(
        "SELECT DISTINCT wanted.value, others.name FROM json_each(?) AS wanted"
        " CROSS JOIN names ON names.name = wanted.value CROSS JOIN names AS others ON others.file = names.file"
        " WHERE others.name <> wanted.value ORDER BY others.name",
        (json.dumps([storable(name) for name in names]),),
    )
    found: dict[str, list[str]] = {}
    for name, other in cast("Iterable[tuple[str, str]]", result):
        found.setdefault(name, []).append(other)
    return found


def touch(connection: Database, source: Source, tail: str | None = None) -> None:
    """Update size, time and read position of a file whose content has not changed."""
    values = (source.size, source.mtime_ns, source.stamp, tail, storable(source.path))
    statement = "UPDATE files SET size = ?, mtime_ns = ?, stamp = ?, tail = coalesce(?, tail) WHERE path = ?"
    connection.execute(statement, values)


def listing(connection: Database) -> dict[str, IndexedFile]:
    """Return every indexed file by its path."""
    statement = "SELECT path, kind, hash, size, mtime_ns, chunks, tail, stamp FROM files ORDER BY path"
    rows = connection.execute(statement).fetchall()
    return {str(row[0]): IndexedFile(*row) for row in rows}


def listing_of(connection: Database, paths: Collection[str]) -> dict[str, IndexedFile]:
    """Return the indexed files among `paths`, by path."""
    statement = (
        "SELECT files.path, kind, hash, size, mtime_ns, chunks, tail, stamp FROM json_each(?) AS wanted"
        " CROSS JOIN files ON files.path = wanted.value ORDER BY files.path"
    )
    rows = connection.execute(statement, (json.dumps([storable(path) for path in paths]),)).fetchall()
    return {str(row[0]): IndexedFile(*row) for row in rows}


def corpus(connection: Database) -> Corpus:
    """Return totals, from the rows of files and names."""
    statement = (
        "SELECT kind, count(*), sum(chunks), sum(min(chunks, ?1)), sum(length * 1.0 * min(chunks, ?1) / max(chunks, 1))"
        " FROM files GROUP BY kind ORDER BY kind"
    )
    rows = cast(
        "list[tuple[SourceKind, int, int, int, float]]", connection.execute(statement, (COUNTED_OF_FILE,)).fetchall()
    )
    kinds: dict[SourceKind, KindCount] = {kind: KindCount(files, chunks) for kind, files, chunks, *_ in rows}
    files, chunks = (sum(column) for column in zip(*kinds.values(), strict=True)) if kinds else (0, 0)
    counted = sum(each for *_, each, _ in rows)
    mean_length = sum(length for *_, length in rows) / counted if counted else 0.0
    names = connection.execute("SELECT EXISTS (SELECT 1 FROM names)").get
    return Corpus(files, chunks, mean_length, bool(names), kinds)


def count(connection: Database, filters: Filters) -> int:
    """Return the number of chunks that pass the filters."""
    where, values = condition(filters)
    return int(connection.execute(f"SELECT count(*) FROM chunks WHERE {where}", values).get)  # noqa: S608 (fixed text; values are bound)


def newest(connection: Database, filters: Filters, limit: int) -> list[int]:
    """Return the ids of chunks that pass the filters and have a day, the newest day first, then by path and line.

    If there are more than `limit`, those come in that are the first of their file, then the second ones, and so on.
    """
    where, values = condition(filters)
    day = "abs(chunks.day)" if filters.changed else "chunks.day"
    statement = (
        f"SELECT id, day, path FROM (SELECT chunks.id, {day} AS day, files.path,"  # noqa: S608 (fixed text; values are bound)
        " row_number() OVER (PARTITION BY chunks.file, chunks.day ORDER BY chunks.id) AS place"
        f" FROM chunks JOIN files ON files.id = chunks.file WHERE {where} AND {day} > 0)"
        " ORDER BY place, day DESC, path, id LIMIT ?"
    )
    found = connection.execute(statement, (*values, max(limit, 0))).fetchall()
    return [row for row, _, _ in sorted(found, key=lambda row: (-row[1], row[2], row[0]))]


def passing(connection: Database, ids: Iterable[int], filters: Filters) -> set[int]:
    """Return those of the chunks that pass the filters."""
    where, values = condition(filters)
    statement = f"SELECT id FROM chunks WHERE id IN (SELECT value FROM json_each(?)) AND {where}"  # noqa: S608 (fixed text; values are bound)
    return set(_column(connection, statement, (id_list(ids), *values)))


def rows(connection: Database, ids: Iterable[int]) -> dict[int, StoredChunk]:
    """Return complete chunks by id; ids that no longer exist are absent."""
    result = connection.execute(
        f"SELECT chunks.id, files.path, files.kind, ordinal, {CHUNK},"  # noqa: S608 (fixed text)
        " term_counts, chunks.length, day, script, chunks.key"
        " FROM json_each(?) AS wanted CROSS JOIN chunks ON chunks.id = wanted.value"
        " CROSS JOIN files ON files.id = chunks.file",
        (id_list(ids),),
    )
    return {
        chunk_id: StoredChunk(
            chunk_id,
            path,
            cast("SourceKind", kind),
            ordinal,
            make_chunk(*passage),
            term_counts,
            length,
            day,
            script,
            key,
        )
        for chunk_id, path, kind, ordinal, *passage, term_counts, length, day, script, key in cast(
            "Iterable[tuple[Any, ...]]", result
        )
    }


def texts(connection: Database, ids: Iterable[int]) -> dict[int, str]:
    """Return only the texts of chunks, by id."""
    result = connection.execute(
        "SELECT chunks.id, text FROM json_each(?) AS wanted CROSS JOIN chunks ON chunks.id = wanted.value",
        (id_list(ids),),
    )
    return dict(cast("Iterable[tuple[int, str]]", result))


def scoring_rows(connection: Database, ids: Iterable[int]) -> dict[int, ScoringRow]:
    """Return what ranking needs of chunks, by id; ids that no longer exist are absent."""
    result = connection.execute(
        "SELECT chunks.id, files.path, files.kind, chunks.length, chunks.term_counts, chunks.day, chunks.script"
        " FROM json_each(?) AS wanted CROSS JOIN chunks ON chunks.id = wanted.value"
        " CROSS JOIN files ON files.id = chunks.file",
        (id_list(ids),),
    )
    return {row[0]: ScoringRow._make(row) for row in cast("Iterable[tuple[Any, ...]]", result)}


def ids_at(connection: Database, path: str) -> list[int]:
    """Return the chunk ids of a file, in file order."""
    statement = (
        "SELECT chunks.id FROM files JOIN chunks ON chunks.file = files.id WHERE files.path = ? ORDER BY chunks.id"
    )
    return _column(connection, statement, (storable(path),))


def all_ids(connection: Database) -> list[int]:
    """Return every chunk id, ascending, read from the narrowest SQL index."""
    return sorted(_column(connection, "SELECT id FROM chunks INDEXED BY chunks_file", ()))


def id_list(ids: Iterable[int]) -> str:
    """Return ids as one value for `json_each`, so that one statement takes any number of them."""
    return json.dumps(list(map(int, ids)))


def newest_id(connection: Database) -> int:
    """Return the highest chunk id that was ever assigned."""
    return int(connection.execute("SELECT seq FROM main.sqlite_sequence WHERE name = 'chunks'").get or 0)


def chunks_with(connection: Database, text: str) -> list[tuple[str, int, int]]:
    """Return path, first and last line of every chunk whose text or headings contain a text, however written."""
    result = connection.execute(
        "SELECT files.path, start_line, end_line FROM chunks JOIN files ON files.id = chunks.file"
        " WHERE holds_text(chunks.text, ?1) OR holds_text(chunks.heading, ?1) ORDER BY files.path, start_line",
        (text,),
    )
    return cast("list[tuple[str, int, int]]", result.fetchall())


def _column(connection: Database, statement: str, values: tuple[Any, ...]) -> list[int]:
    return [int(cast("int", value)) for (value,) in connection.execute(statement, values)]


COMMON = 512
"""Terms in at least this many chunks are cached: few terms are that common, and many queries contain them."""
MAX_CACHED_TERMS = 16_384


class Counts:
    """Counts and the list of files, each read once. A change of the index needs a new object."""

    def __init__(self) -> None:
        self._corpus: Corpus | None = None
        self._listing: dict[str, IndexedFile] | None = None
        self._common: dict[str, int] = {}

    def corpus(self, connection: Database) -> Corpus:
        """Return totals."""
        if self._corpus is None:
            self._corpus = corpus(connection)
        return self._corpus

    def listing(self, connection: Database) -> dict[str, IndexedFile]:
        """Return every indexed file by its path."""
        if self._listing is None:
            self._listing = listing(connection)
        return self._listing

    def document_frequency(self, connection: Database, terms: Iterable[str]) -> dict[str, int]:
        """Return the number of chunks that contain each term. The time grows with the counts of uncached terms."""
        wanted = dict.fromkeys(terms)
        unknown = [term for term in wanted if term not in self._common]
        new_counts = dict(zip(unknown, _count_terms(connection, unknown), strict=True))
        counts = new_counts | self._common
        if len(self._common) < MAX_CACHED_TERMS:
            self._common |= {term: count for term, count in new_counts.items() if count >= COMMON}
        return {term: counts[term] for term in wanted}


def _count_terms(connection: Database, terms: list[str]) -> list[int]:
    statement = (
        "SELECT wanted.key, doc FROM json_each(?) AS wanted CROSS JOIN chunks_terms ON chunks_terms.term = wanted.value"
    )
    folded = json.dumps([fold(term) for term in terms])
    counts = dict(cast("Iterable[tuple[int, int]]", connection.execute(statement, (folded,)))) if terms else {}
    return [counts.get(place, 0) for place in range(len(terms))]


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
    "changed": lambda _: Condition(),  # `condition` lets the day of the last change count for the others
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


def _add_terms(connection: Database, entries: Iterable[tuple[int, str]]) -> None:
    """Index the terms of chunks."""
    connection.executemany(
        "INSERT INTO chunks_fts(rowid, terms) VALUES (?, ?)", ((each, storable(terms)) for each, terms in entries)
    )


def _drop_terms(connection: Database, ids: Sequence[int]) -> None:
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
