"""The vector retriever of an open index: the active set, its engine, and the chunks and items that wait."""

from __future__ import annotations

from operator import methodcaller
from typing import TYPE_CHECKING, Any, TypeVar, cast

from memoriter.errors import EmbeddingError
from memoriter.ids import fingerprint
from memoriter.index import _content
from memoriter.index._connection import counter, increment, set_counter, transaction
from memoriter.index.vectors import _binary_quantization, _cache, _engines, _segments
from memoriter.index.vectors._binary_quantization import RECALL, Measurement
from memoriter.index.vectors._cache import WAITING, decode
from memoriter.index.vectors._engines import (
    LARGEST_MATRIX,
    MOST_COMPARED,
    ChunkScripts,
    ExactEngine,
    StandardizedCosines,
)
from memoriter.types import Diagnostic, Filters, Item

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index._connection import Database
    from memoriter.index.vectors._cache import VectorSet
    from memoriter.index.vectors._engines import EngineName, VectorEngine
    from memoriter.types import ModelSpec, ScriptBaselines


_WAITING_ITEMS = WAITING.replace("chunks.key", "items.key")
_VECTORS_OF_ITEMS = (
    "SELECT items.chunk, known.vector, items.script, items.first"
    " FROM json_each(?) AS wanted"
    " CROSS JOIN items ON items.chunk = wanted.value"
    " CROSS JOIN embedding_cache AS known ON known.set_id = ? AND known.key = items.key"
)


def missing_items(connection: Database, vector_set: VectorSet, *, limit: int) -> dict[bytes, str]:
    """Return up to `limit` texts of items without a vector by key, in the order of their chunks."""
    columns = f"items.key, items.first, items.last, {_content.CHUNK}"
    statement = (
        f"SELECT {columns} FROM items CROSS JOIN chunks ON chunks.id = items.chunk"  # noqa: S608 (fixed text)
        f" WHERE items.chunk > :complete AND {_WAITING_ITEMS} ORDER BY items.chunk, items.first"
    )
    texts: dict[bytes, str] = {}
    rows = connection.execute(statement, {"complete": _complete(connection, vector_set), "set": vector_set.id})
    for key, first, last, *passage in cast("Iterable[tuple[Any, ...]]", rows):
        if len(texts) >= limit:
            break
        if key not in texts:
            texts[key] = _content.make_chunk(*passage).contextual_item(Item(first, last))
    return texts


def count_waiting_items(connection: Database, vector_set: VectorSet) -> tuple[int, int]:
    """Return the number of items that wait for a vector, and of chunks that have such items but wait for no own."""
    statement = (
        f"SELECT count(*), count(DISTINCT iif({WAITING}, NULL, items.chunk))"  # noqa: S608 (fixed text)
        f" FROM items CROSS JOIN chunks ON chunks.id = items.chunk WHERE items.chunk > :complete AND {_WAITING_ITEMS}"
    )
    values = {"complete": _complete(connection, vector_set), "set": vector_set.id}
    return cast("tuple[int, int]", connection.execute(statement, values).get)


def note_complete(connection: Database, vector_set: VectorSet) -> None:
    """Record up to which chunk no item waits for a vector, so that only later chunks are looked at.

    A chunk never changes, new ones have higher ids, and a vector in use is never evicted. Expects an open transaction.
    """
    set_counter(connection, f"items:{vector_set.id}", _find_complete(connection, vector_set))


def is_complete_noted(connection: Database, vector_set: VectorSet) -> bool:
    """Return whether `note_complete` has nothing to record."""
    return _find_complete(connection, vector_set) == _complete(connection, vector_set)


def _find_complete(connection: Database, vector_set: VectorSet) -> int:
    """Return a chunk up to which no item waits for a vector."""
    complete = _complete(connection, vector_set)
    statement = f"SELECT chunk FROM items WHERE chunk > :complete AND {_WAITING_ITEMS} ORDER BY chunk LIMIT 1"  # noqa: S608 (fixed text)
    first = connection.execute(statement, {"complete": complete, "set": vector_set.id}).get
    return max(complete, _content.newest_id(connection) if first is None else int(first) - 1)


def _complete(connection: Database, vector_set: VectorSet) -> int:
    return counter(connection, f"items:{vector_set.id}")


_T = TypeVar("_T")

NO_SET = -1
"""The id of a set that is not registered."""
_LOW_RECALL = Diagnostic(
    "vector_recall",
    f"Binary quantization loses too much on these vectors: less than {RECALL:.0%} of the nearest passages are found.",
    "Set memorySearch.store.vector.engine to exact.",
)


class Vectors:
    """All vector operations on one connection. Methods that write expect an open transaction."""

    def __init__(self, connection: Database, notice: Callable[[Diagnostic], None]) -> None:
        self._connection = connection
        self._notice = notice
        self._set: _cache.VectorSet | None = None
        self._engine: VectorEngine | None = None
        self._scripts: ChunkScripts | None = None
        self._engine_setting: EngineName = "exact"
        self._engine_name: EngineName = "exact"
        self._auto_checked = -1
        self._first_waiting = 0
        self._cached_counts: tuple[int, int, int] | None = None
        self._cached_waiting: tuple[int, int, int] | None = None

    @property
    def engine(self) -> EngineName:
        """The active engine, `exact` or `codes`."""
        if self._engine_name == "auto":
            self._use(self._auto_engine())
        return self._engine_name

    def register(self, spec: ModelSpec, *, now: float) -> None:
        """Add a set for this model if it is new."""
        if _cache.find_set(self._connection, spec) is None:
            with transaction(self._connection):
                _cache.register(self._connection, spec, now=now)

    def activate(self, spec: ModelSpec) -> None:
        """Use this model's set from now on, or an empty one if it has none."""
        registered = _cache.find_set(self._connection, spec)
        vector_set = registered or _cache.VectorSet(NO_SET, fingerprint(spec), spec.dimensions)
        if vector_set != self._set:
            self._set = vector_set
            self._engine = None
            self.forget_progress()
            self.choose(self._engine_setting)

    def choose(self, name: EngineName) -> None:
        """Select the engine; nothing is read yet."""
        self._engine_setting = name
        self._auto_checked = -1
        self._use(name)

    def _use(self, name: EngineName) -> None:
        if name != self._engine_name:
            self._engine_name = name
            self._engine = None

    def _auto_engine(self) -> EngineName:
        """Return the best engine for this corpus size, given the recall measured for codes."""
        chunks = _content.corpus(self._connection).chunks
        if chunks <= MOST_COMPARED:
            return "exact"
        code_means = self._code_means()
        if (
            code_means is None
            or code_means.recall >= RECALL
            or _binary_quantization.is_due(code_means.measured, chunks)
        ):
            return "codes"
        return "exact" if chunks * code_means.means.nbytes <= LARGEST_MATRIX else "codes"

    def _fall_back(self, problem: str) -> None:
        message = f"The engine codes does not work here ({problem}); vectors are searched by the exact engine."
        remedy = "Run `memoriter index --force`, or leave it: the answers are the same."
        self._notice(Diagnostic("vector_engine", message, remedy))
        self.choose("exact")

    def forget_progress(self) -> None:
        """Search all chunks again for missing vectors, because another process may have changed what waits."""
        self._first_waiting = 0
        self._cached_counts = self._cached_waiting = None

    def active(self) -> _cache.VectorSet:
        """Return the active set. Raises EmbeddingError if there is none."""
        if self._set is None:
            raise EmbeddingError("No embedding model is in use.", remedy="Call `use_vectors` first.")
        return self._set

    def _code_means(self) -> _segments.CodeMeans | None:
        """Return how the codes of the active set were made; None if there are none."""
        return _segments.read_code_means(self._connection, self._set) if self._set else None

    # reading

    @property
    def oversampling(self) -> Measurement | None:
        """The measured oversampling, if codes are active and not all chunks are compared anyway; else None."""
        code_means = self._code_means() if self.engine == "codes" else None
        return (
            None
            if code_means is None or not code_means.measured
            else Measurement(code_means.oversampling, code_means.recall)
        )

    def missing(self, limit: int, *, of: Collection[int] = ()) -> list[tuple[bytes, str]]:
        if self._set is None:
            return []
        if of:
            return list(_cache.missing_of(self._connection, self._set, of, limit=limit).items())
        first, texts = _cache.missing(self._connection, self._set, limit=limit, since=self._first_waiting)
        # No earlier chunk waits, and a vector in use is never evicted, so the next call starts here.
        self._first_waiting = first
        if len(texts) < limit:
            texts |= missing_items(self._connection, self._set, limit=limit - len(texts))
        return list(texts.items())

    def counts(self, version: int) -> tuple[int, int]:
        """Return the number of chunks with a vector and the number that failed."""
        if self._set is None:
            return 0, 0
        if self._cached_counts is None or self._cached_counts[0] != version:
            engine = self._engine
            is_current = engine is not None and engine.loaded(version)
            having = engine.size if engine and is_current else _cache.count_embedded(self._connection, self._set)
            self._cached_counts = version, having, _cache.count_failed(self._connection, self._set)
        return self._cached_counts[1:]

    def waiting(self, version: int) -> tuple[int, int]:
        """Return the number of missing vectors, and of chunks that wait for their own or for those of their items."""
        if self._set is None:
            return 0, 0
        if self._cached_waiting is None or self._cached_waiting[0] != version:
            items, owners = count_waiting_items(self._connection, self._set)
            chunks = max(0, _content.corpus(self._connection).chunks - sum(self.counts(version)))
            self._cached_waiting = version, chunks + items, chunks + owners
        return self._cached_waiting[1:]

    def nearest(
        self,
        query: NDArray[np.float32],
        *,
        limit: int,
        filters: Filters,
        baselines: ScriptBaselines | None,
        version: int,
    ) -> list[tuple[int, float]]:
        if self._set is None or limit <= 0:
            return []
        unit = _engines.unit_query(query, self._set.dimensions)
        standardized = None
        if baselines:
            self._scripts = self._scripts or ChunkScripts(self._connection)
            standardized = StandardizedCosines(self._scripts, baselines)
        ids, rows = self._query_engine(
            version, lambda engine: engine.fetch(engine.candidates(unit, limit, filters, standardized).tolist())
        )
        cosines = _engines.cosines(rows, unit)
        scores = standardized.scores(cosines, standardized.numbers(ids)) if standardized else cosines
        order = _engines.best(ids, scores, limit)
        return list(zip(ids[order].tolist(), cosines[order].tolist(), strict=True))

    def at(self, ids: Collection[int], *, version: int) -> tuple[list[int], NDArray[np.float32]]:
        """Return the chunks that have a vector, and their vectors."""
        import numpy as np

        if self._set is None or not ids:
            return [], np.empty((0, self._set.dimensions if self._set else 0), dtype=np.float32)
        found_ids, rows = self._query_engine(version, methodcaller("fetch", list(ids)))
        return found_ids.tolist(), rows

    def of_items(self, ids: Collection[int]) -> tuple[list[int], list[int], list[str], NDArray[np.float32]]:
        """Return the vectors of the items of chunks: (n chunk ids, n first lines, n scripts, (n, dims))."""
        import numpy as np

        vector_set = self._set
        if vector_set is None or not ids:
            return [], [], [], np.empty((0, vector_set.dimensions if vector_set else 0), np.float32)
        cursor = self._connection.execute(_VECTORS_OF_ITEMS, (_content.id_list(list(ids)), vector_set.id))
        rows = cast("list[tuple[int, bytes, str, int]]", cursor.fetchall())
        if not rows:
            return [], [], [], np.empty((0, vector_set.dimensions), np.float32)
        chunks, blobs, scripts, lines = zip(*rows, strict=True)
        return list(chunks), list(lines), list(scripts), decode(blobs, vector_set.dimensions)

    def cosines(self, query: NDArray[np.float32], ids: Collection[int], *, version: int) -> dict[int, float]:
        if self._set is None or not ids:
            return {}
        unit = _engines.unit_query(query, self._set.dimensions)
        found_ids, rows = self._query_engine(version, lambda engine: engine.fetch(list(ids)))
        return dict(zip(found_ids.tolist(), _engines.cosines(rows, unit).tolist(), strict=True))

    def sample_texts(self, count: int, *, version: int) -> tuple[list[str], NDArray[np.float32]]:
        """Return texts and vectors of up to `count` chunks with different texts, a few of each file."""
        chosen = _cache.sample_chunks(self._connection, self.active(), count)
        found_ids, vectors = self.at(chosen, version=version)
        positions = {chunk_id: position for position, chunk_id in enumerate(found_ids)}
        texts = _content.texts(self._connection, found_ids)  # another process may have deleted some meanwhile
        kept = [chunk_id for chunk_id in chosen if chunk_id in texts]
        return [texts[chunk_id] for chunk_id in kept], vectors[[positions[chunk_id] for chunk_id in kept]]

    def stored(self, after: bytes, limit: int) -> tuple[list[bytes], NDArray[np.float32]]:
        """Return vectors of the active set by ascending key, those after a key."""
        return _cache.stored(self._connection, self.active(), after, limit)

    def _query_engine(self, version: int, operation: Callable[[VectorEngine], _T]) -> _T:
        """Return the result of an operation of the engine. Replace an engine that fails by the exact one."""
        import apsw

        try:
            return operation(self._current_engine(version))
        except apsw.ReadOnlyError:  # codes cannot be brought up to date
            if self._engine_name == "exact":
                raise
            self.choose("exact")
        except apsw.SQLError as error:
            if self._engine_name == "exact":
                raise
            self._fall_back(str(error))
        return operation(self._current_engine(version))

    def _current_engine(self, version: int) -> VectorEngine:
        engine: VectorEngine | None = None
        while engine is None:
            if self._engine is None:
                self._engine = self._make_engine()
            engine = self._engine
            engine.catch_up(version)
            if self._engine_setting == "auto" and self._auto_checked != version:
                # The recall of codes is known only after they are up to date, so check the choice of engine now.
                self._use(self._auto_engine())
                engine = self._engine
        self._auto_checked = version
        if engine.measured and engine.measured.recall < RECALL:
            self._notice(_LOW_RECALL)
        return engine

    def _make_engine(self) -> VectorEngine:
        if self.engine == "exact":
            return ExactEngine(self._connection, self.active())
        from memoriter.index.vectors._codes_engine import CodesEngine  # most indexes are too small for it

        return CodesEngine(self._connection, self.active())

    # writing

    def settle(self, version: int) -> None:
        """Prepare the next search: make the codes and measure their oversampling, and note which items wait."""
        if self._set is None:
            return
        if self._engine_setting == "auto":
            self._use(self._auto_engine())
        if not is_complete_noted(self._connection, self._set):
            with transaction(self._connection):
                note_complete(self._connection, self._set)
        if self.engine == "codes":
            from memoriter.index.vectors._codes_engine import needs_settling

            if needs_settling(self._connection, self._set):
                self._query_engine(version, lambda _: None)

    def apply_change(self, change: _content.StoredChange) -> None:
        """Count a change of chunks and apply it to the codes."""
        before = increment(self._connection, "content")
        if self._set is None:
            return
        _segments.apply_change(self._connection, self._set, change, before=before)

    def put(self, keys: Sequence[bytes], vectors: NDArray[np.float32], *, now: float) -> None:
        rows = _engines.unit_rows(vectors, self.active().dimensions)
        if len(rows) != len(keys):
            raise EmbeddingError(f"{len(keys)} keys were given with {len(rows)} vectors.")
        replaced = _cache.store(self._connection, self.active(), keys, rows, now=now)
        needs_ids = _segments.exists(self._connection, self.active())
        ids = _cache.chunks_of_keys(self._connection, keys) if needs_ids else []
        note_complete(self._connection, self.active())
        self.apply_change(_content.StoredChange(ids if replaced else [], ids))
