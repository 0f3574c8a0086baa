"""LanceDB as a store of long-term memories: one table for each embedding model, in a folder or in a bucket."""

from __future__ import annotations

import json
import logging
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import IndexUnavailable, sentence
from memoriter.extensions.longterm import _lance_upkeep as upkeep
from memoriter.extensions.longterm._records import LongTermMemory, Span, is_memory_id
from memoriter.extensions.longterm._results import EXACT_BELOW, Found, StoreState
from memoriter.search import ANALYSIS, analyse, query_terms

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Mapping, Sequence

    from memoriter.extensions.longterm._records import Origin
    from memoriter.extensions.longterm._results import Vector

TABLE = "memories"
"""The name of OpenClaw's table, and the beginning of the names of memoriter's: `memories_<fingerprint>`."""
CACHE_BYTES = 16 << 20
"""Size of LanceDB's caches, whose default of gigabytes fills with the versions of many small writes."""
BUCKET_CACHE_BYTES = 128 << 20
"""Size of the cache of indexes for a bucket, from which a search else reads its parts of the index again. The operating
system caches the files of a folder."""
FETCHED = 10_000
"""Rows that one query returns at most, where it returns all."""
_COLUMNS = (
    *("id", "text", "importance", "category", "createdAt", "origin", "principal", "session", "span", "status"),
    *("supersedes", "approved", "note"),
)
_ANALYSIS = b"memoriter.analysis"
"""The version of the terms of a table."""
_PRIMARY_KEY = "lance-schema:unenforced-primary-key"
"""LanceDB tells two writers of a new row from each other only if the fields of the key are marked as primary key."""
log = logging.getLogger(__name__)


class LanceStore:
    """The memories in a LanceDB database. The table is created with the first memory."""

    def __init__(
        self,
        place: str,
        *,
        model: str,
        dimensions: int,
        options: Mapping[str, str] | None = None,
        exact_below: int = EXACT_BELOW,
        trusted: Collection[Origin] = (),
    ) -> None:
        """Name a store; nothing is opened yet.

        Args:
            place: a folder, or the URI of a bucket such as `s3://memories/team`.
            model: the fingerprint of the model of the vectors.
            dimensions: the length of the vectors.
            options: LanceDB's options of the bucket, such as `region`.
            exact_below: number of memories below which a search compares all vectors, and does not use an index.
            trusted: whose memories, besides those of the owner, may be put before a turn without approval.
        """
        self.model = model
        self.dimensions = dimensions
        self._place = place
        self._options = dict(options or {})
        self._database: Any = None
        self._table: Any = None
        self._exact_below = exact_below
        self._checked = 0
        self._trusted = trusted
        self._lock = threading.RLock()

    def store(self, memories: Sequence[LongTermMemory], vectors: Sequence[Vector]) -> None:
        if not memories:
            return
        rows = [self._row(memory, vector) for memory, vector in zip(memories, vectors, strict=True)]
        ids = [(memory.id, memory.principal) for memory in memories]
        with self._working("written"), self._writing() as locked:
            opened = self._opened()  # a table without rows counts as false
            table = self._created() if opened is None else opened
            upkeep.write(table, self._arrow(rows), ids, locked=locked)
        self._maintain_sometimes()

    def search(
        self, vector: Vector, *, principal: str, limit: int, floor: float = -1.0, trusted: bool = False, words: str = ""
    ) -> list[Found]:
        condition = _condition(principal, self._trusted if trusted else None)
        with self._working("searched"):
            if (table := self._opened()) is None:
                return []
            columns = (*_COLUMNS, "_distance")
            below = self._exact_below
            near = self._fresh(
                lambda: upkeep.nearest(table, vector, condition, limit, exact_below=below, columns=columns)
            )
            found = {row["id"]: self._found(row, 1.0 - row["_distance"]) for row in near}
            found = {key: each for key, each in found.items() if each.similarity >= floor}
            if terms := " ".join(query_terms(words)):
                from lancedb.query import MatchQuery

                query = cast("Any", MatchQuery)(terms, upkeep.TERMS)
                worded = self._fresh(
                    lambda: (
                        table.search(query, query_type="fts")
                        .where(condition, prefilter=True)
                        .select([*_COLUMNS, "vector", "_score"])
                        .limit(limit)
                        .to_list()
                    )
                )
                for row in worded:
                    similarity = float(sum(a * b for a, b in zip(row["vector"], vector.tolist(), strict=True)))
                    found.setdefault(row["id"], self._found(row, similarity))
        return sorted(found.values(), key=lambda each: (-each.similarity, each.memory.id))

    def delete(self, ids: Collection[str], *, principal: str) -> int:
        if not (wanted := _valid(ids)):
            return 0
        condition = f"principal = {upkeep.quoted(principal)} AND id IN ({wanted})"
        gone = set[str]()
        with self._working("written"):
            for name in self._table_names():
                if name == TABLE:
                    continue
                table = self._connected().open_table(name)
                rows = table.search().where(condition).select(["id"]).limit(FETCHED).to_list()
                if rows:
                    upkeep.retried(table, lambda table=table: table.delete(condition))
                    gone |= {row["id"] for row in rows}
            if self._table is not None:
                self._table.checkout_latest()
        return len(gone)

    def _found(self, row: dict[str, Any], similarity: float) -> Found:
        return Found(_memory(row, self._trusted), min(max(similarity, -1.0), 1.0))

    def count(self, *, principal: str, trusted: bool = False) -> int:
        condition = _condition(principal, self._trusted if trusted else None)
        with self._working("read"):
            table = self._opened()
            return 0 if table is None else self._fresh(lambda: table.count_rows(condition))

    def get(self, ids: Collection[str], *, principal: str) -> list[LongTermMemory]:
        if not (wanted := _valid(ids)):
            return []
        return self._memories(f"principal = {upkeep.quoted(principal)} AND id IN ({wanted})")

    def memories(self, *, principal: str) -> list[LongTermMemory]:
        return self._memories(f"principal = {upkeep.quoted(principal)}")

    def vectors(self, ids: Sequence[str], *, principal: str) -> dict[str, Vector]:
        import numpy as np

        if not (wanted := _valid(ids)):
            return {}
        rows = self._rows(f"principal = {upkeep.quoted(principal)} AND id IN ({wanted})", ("id", "vector"))
        return {row["id"]: np.array(row["vector"], dtype=np.float32) for row in rows}

    def change(self, memory: LongTermMemory) -> None:
        vector = self.vectors([memory.id], principal=memory.principal)
        if memory.id in vector:
            self.store([memory], [vector[memory.id]])

    def other_models(self, *, principal: str) -> dict[str, int]:
        counts = dict[str, int]()
        with self._working("read"):
            for name in self._table_names():
                if name not in (TABLE, self._name):
                    table = self._connected().open_table(name)
                    if count := table.count_rows(f"principal = {upkeep.quoted(principal)}"):
                        counts[name.removeprefix(f"{TABLE}_")] = count
        return counts

    def maintain(self, *, erase: bool = False) -> None:
        with self._working("written"):
            for name in self._table_names():
                if name == TABLE:
                    continue
                table = self._connected().open_table(name)
                if erase:
                    # A deletion leaves the row in its file. Writing all rows again leaves files without it.
                    upkeep.drop_indexes(table)
                    upkeep.retried(table, lambda table=table: table.update(values_sql={"importance": "importance"}))
                    upkeep.index_words(table)
                upkeep.optimize(table, 0.0 if erase else upkeep.KEPT_SECONDS, self._exact_below)
            if self._table is not None:
                self._table.checkout_latest()
        upkeep.give_back_memory()

    def state(self) -> StoreState:
        with self._working("read"):
            if (table := self._opened()) is None:
                return StoreState(0, 0, 0, 0)
            stats = self._fresh(table.stats)
            versions = len(table.list_versions())
            fragments = stats["fragment_stats"]["num_fragments"]
            indexed = upkeep.indexed_vectors(table)
            return StoreState(stats["num_rows"], fragments, versions, self._bytes(), indexed)

    def close(self) -> None:
        with self._lock:
            self._database = self._table = None

    @property
    def _name(self) -> str:
        return f"{TABLE}_{self.model}"

    @property
    def _is_folder(self) -> bool:
        return "://" not in self._place

    def _connected(self) -> Any:
        if self._database is None:
            lancedb = upkeep.imported()
            if self._is_folder:
                from memoriter.permissions import make_private_folder

                make_private_folder(Path(self._place))
            indexes = CACHE_BYTES if self._is_folder else BUCKET_CACHE_BYTES
            caches = lancedb.Session(index_cache_size_bytes=indexes, metadata_cache_size_bytes=CACHE_BYTES)
            self._database = lancedb.connect(self._place, storage_options=self._options or None, session=caches)
        return self._database

    def _table_names(self) -> list[str]:
        if self._is_folder and not Path(self._place).is_dir():
            return []
        names = list[str]()
        token = None
        while True:
            page = self._connected().list_tables(page_token=token)
            names += [name for name in page.tables if name == TABLE or name.startswith(f"{TABLE}_")]
            token = page.page_token
            if not token:
                return names

    def _opened(self) -> Any:
        """Return the table of this model, or None if it does not exist yet."""
        if self._table is None and self._name in self._table_names():
            self._table = self._connected().open_table(self._name)
            schema = self._table.schema
            metadata = cast("dict[bytes, bytes]", schema.metadata or {})
            if upkeep.TERMS not in schema.names or int(metadata.get(_ANALYSIS, b"0")) < ANALYSIS:
                self._table = self._rewritten(self._table)
            self._checked = self._table.version
        if self._table is not None:
            self._table.checkout_latest()
        return self._table

    def _created(self) -> Any:
        self._table = upkeep.create(self._connected(), self._name, self._schema())
        upkeep.index_words(self._table)
        return self._table

    def _rewritten(self, table: Any) -> Any:
        """Return a table of an earlier version of memoriter with the columns and terms of this one."""
        log.info("the long-term memories in %r get the columns and terms of this version", self._place)
        held = table.to_arrow()
        schema = self._schema()
        terms = [[" ".join(analyse(text)) for text in held["text"].to_pylist()]]
        held = held.select([name for name in schema.names if name != upkeep.TERMS])
        held = held.append_column(upkeep.TERMS, terms).cast(schema)
        table = self._connected().create_table(self._name, held, mode="overwrite")
        upkeep.index_words(table)
        return table

    def _schema(self) -> Any:
        import pyarrow as pa

        arrow = cast("Any", pa)

        text = arrow.string()
        number = arrow.float64()
        kinds: dict[str, Any] = {"importance": number, "createdAt": number, "approved": arrow.bool_()}
        fields = [arrow.field(name, kinds.get(name, text)) for name in _COLUMNS]
        for position, name in enumerate(upkeep.KEY, start=1):
            key = {_PRIMARY_KEY: "true", f"{_PRIMARY_KEY}:position": str(position)}
            fields[_COLUMNS.index(name)] = arrow.field(name, text, nullable=False, metadata=key)
        fields.insert(2, arrow.field("vector", arrow.list_(arrow.float32(), self.dimensions)))
        fields.append(arrow.field(upkeep.TERMS, text))
        return arrow.schema(fields, metadata={"memoriter": self.model, _ANALYSIS: str(ANALYSIS)})

    def _arrow(self, rows: list[dict[str, Any]]) -> Any:
        import pyarrow as pa

        arrow = cast("Any", pa)

        return arrow.Table.from_pylist(rows, schema=self._schema())

    def _row(self, memory: LongTermMemory, vector: Vector) -> dict[str, Any]:
        span = memory.span
        return {
            "id": memory.id,
            "text": memory.text,
            "vector": vector,
            "importance": memory.importance,
            "category": memory.category,
            "createdAt": memory.created_at * 1000,
            "origin": memory.origin,
            "principal": memory.principal,
            "session": memory.session,
            "span": json.dumps([span.speaker, span.message, span.start, span.end]) if span else "",
            "status": memory.status,
            "supersedes": memory.supersedes,
            "approved": memory.approved,
            "note": memory.note,
            upkeep.TERMS: " ".join(analyse(memory.text)),
        }

    def _memories(self, condition: str) -> list[LongTermMemory]:
        rows = self._rows(condition, _COLUMNS)
        return sorted((_memory(row, self._trusted) for row in rows), key=lambda each: (each.created_at, each.id))

    def _rows(self, condition: str, columns: Sequence[str]) -> list[dict[str, Any]]:
        with self._working("read"):
            if (table := self._opened()) is None:
                return []
            count = self._fresh(lambda: table.count_rows(condition))
            query = table.search().where(condition).select(list(columns)).limit(max(count, 1))
            return self._fresh(query.to_list)

    def _fresh(self, read: Any) -> Any:
        """Return the result of a read, repeated once if another process has removed the files of its version."""
        try:
            return read()
        except (RuntimeError, OSError, ValueError):
            self._table.checkout_latest()
            return read()

    def _maintain_sometimes(self) -> None:
        """Merge small files if there are many; a failure changes no memory."""
        with self._lock:
            if self._table is None:
                return
            version = self._table.version
            if version % upkeep.CHECK_EVERY and 0 <= version - self._checked < upkeep.CHECK_EVERY:
                return
            self._checked = version
            try:
                if not upkeep.is_due(self._table):
                    return
                upkeep.optimize(self._table, upkeep.KEPT_SECONDS, self._exact_below)
            except (RuntimeError, OSError, ValueError) as error:  # another process merges at the same moment
                log.info("long-term memories were not compacted: %s", error)
            self.close()  # its caches hold what the versions before needed
            upkeep.give_back_memory()

    def _bytes(self) -> int | None:
        if not self._is_folder:
            return None
        total = 0
        for file in Path(self._place).rglob("*"):
            with suppress(OSError):
                total += file.stat().st_size if file.is_file() else 0
        return total

    @contextmanager
    def _writing(self) -> Generator[bool]:
        """Hold the lock of all writers, and yield whether there is one: a bucket has none."""
        if not self._is_folder:
            yield False
            return
        self._connected()  # makes the folder
        with upkeep.writers_lock(Path(self._place)) as locked:
            yield locked

    @contextmanager
    def _working(self, done: str) -> Generator[None]:
        """Hold the lock, and raise the failures of LanceDB as IndexUnavailable."""
        with self._lock:
            try:
                yield
            except (RuntimeError, OSError, ValueError) as error:
                self._table = None
                reason = sentence(str(error).partition("\n")[0][:300])
                message = f"The long-term memories in {self._place!r} cannot be {done}: {reason}"
                remedy = "Check plugins.entries.memory-lancedb.config.dbPath, or run `memoriter ltm rebuild`."
                raise IndexUnavailable(message, remedy=remedy) from error


def _condition(principal: str, trusted: Collection[Origin] | None) -> str:
    """Return the condition for all memories of a principal.

    With `trusted`, it holds only for those that `is_current` accepts: of the owner, of these authors, or approved.
    """
    every = f"principal = {upkeep.quoted(principal)}"
    if trusted is None:
        return every
    origins = ", ".join(map(upkeep.quoted, ["owner", *sorted(trusted)]))
    return f"{every} AND (origin IN ({origins}) OR approved) AND status = 'active'"


def _valid(ids: Collection[str]) -> str:
    """Return the ids as a list of SQL; what is no id cannot be in a table, and is left out."""
    return ", ".join(upkeep.quoted(each.lower()) for each in ids if is_memory_id(each))


def _memory(row: dict[str, Any], trusted: Collection[Origin]) -> LongTermMemory:
    return LongTermMemory(
        id=row["id"],
        text=row["text"],
        importance=row["importance"],
        category=row["category"],
        created_at=row["createdAt"] / 1000,
        origin=row["origin"],
        principal=row["principal"],
        session=row["session"],
        span=Span(*json.loads(row["span"])) if row["span"] else None,
        status=row["status"],
        supersedes=row["supersedes"],
        approved=row["approved"],
        author_trusted=row["origin"] in trusted,
        note=row["note"],
    )
