"""The vector leg of an open index: the active set, its engine, and what waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from memoriter.errors import EmbeddingError
from memoriter.index import _cache, _files, _oversampling, _ranking, _segments
from memoriter.index._chunk_scripts import ChunkScripts, StandardizedCosines
from memoriter.index._codes_engine import CodesEngine, unsettled
from memoriter.index._connection import increment, transaction
from memoriter.index._engines import LARGEST_MATRIX, MOST_COMPARED, load_sqlite_vec
from memoriter.index._exact import ExactEngine
from memoriter.index._oversampling import RECALL, Measured
from memoriter.index._sqlite_vec import SqliteVecEngine
from memoriter.index._sums import BrokenCodes, BrokenVectors
from memoriter.types import Diagnostic, Filters

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index._database import Database
    from memoriter.index._engines import EngineName, VectorEngine
    from memoriter.types import ModelSpec, ScriptBaselines

_T = TypeVar("_T")

_MADE_BY: dict[EngineName, Callable[[Database, _cache.VectorSet], VectorEngine]] = {
    "exact": ExactEngine,
    "codes": CodesEngine,
    "sqlite-vec": SqliteVecEngine,
}
REPAIRS = 64
"""Times that a question is asked again without what turned out to be damaged: each time names a whole batch."""
_MISSES = Diagnostic(
    "vector_recall",
    f"Codes tell these vectors apart so badly that less than {RECALL:.0%} of the nearest passages are found.",
    "Set memorySearch.store.vector.engine to exact.",
)


class Vectors:
    """Everything about vectors on one connection. Methods that write say so and expect an open transaction."""

    def __init__(self, connection: Database, notice: Callable[[Diagnostic], None]) -> None:
        self._connection = connection
        self._notice = notice
        self._set: _cache.VectorSet | None = None
        self._engine: VectorEngine | None = None
        self._scripts: ChunkScripts | None = None
        self._wanted: tuple[EngineName, str | None] = ("exact", None)
        self._chosen: EngineName = "exact"
        self._judged = -1
        self._loaded: bool | None = None
        self._settled_before = 0
        self._counted: tuple[int, int, int] | None = None
        self.dropped = 0
        """Damaged vectors that were forgotten."""

    @property
    def engine(self) -> EngineName:
        return self._chosen

    @property
    def in_use(self) -> bool:
        """Whether a set is active."""
        return self._set is not None

    def use(self, spec: ModelSpec, *, now: float) -> None:
        """Make this model's set the active one, registering it if it is new."""
        found = _cache.find_set(self._connection, spec)
        if found is None:
            with transaction(self._connection):
                _cache.register(self._connection, spec, now=now)
            found = _cache.find_set(self._connection, spec)
        if found != self._set:
            self._set, self._engine = found, None
            self.forget_progress()
            self.choose(*self._wanted)

    def choose(self, name: EngineName, extension_path: str | None) -> None:
        """Pick the engine; sqlite-vec that does not work becomes the exact engine and a notice."""
        self._wanted = name, extension_path
        self._judged = -1
        if name == "auto":
            name = self._best()
        if name == "sqlite-vec" and not self._loaded:
            problem = load_sqlite_vec(self._connection, extension_path)
            self._loaded = problem is None
            if problem is not None:
                self._fall_back(name, problem)
                return
        if name != self._chosen:
            self._chosen, self._engine = name, None

    def _best(self) -> EngineName:
        """The engine for a corpus of this size, as far as it is known what codes find in it."""
        chunks = _files.corpus(self._connection).chunks
        if chunks <= MOST_COMPARED:
            return "exact"
        known = self._centre()
        if known is None or known.recall >= RECALL or _oversampling.due(known.measured, chunks):
            return "codes"
        return "exact" if chunks * known.means.nbytes <= LARGEST_MATRIX else "codes"

    def _fall_back(self, failed: EngineName, problem: str) -> None:
        remedies = {
            "sqlite-vec": "Set memorySearch.store.vector.extensionPath to a working library",
            "codes": "Run `memoriter index --force`",
        }
        remedy = f"{remedies[failed]}, or leave it: the answers are the same."
        message = f"{failed} does not work here ({problem}); vectors are searched by the exact engine."
        self._notice(Diagnostic("vector_engine", message, remedy))
        self._chosen, self._engine = "exact", None
        if failed == "codes":
            self._wanted = "exact", None

    def forget_progress(self) -> None:
        """Look through all chunks again for missing vectors: another process may have changed what waits."""
        self._settled_before, self._counted = 0, None

    def active(self) -> _cache.VectorSet:
        """The set in use; `EmbeddingError` when none is."""
        if self._set is None:
            raise EmbeddingError("No embedding model is in use", remedy="Call `use_vectors` first.")
        return self._set

    def _centre(self) -> _segments.CodeMeans | None:
        """How the codes of the active set were made; None where there are none, or none that can be used."""
        try:
            return _segments.centre(self._connection, self._set) if self._set else None
        except BrokenCodes:
            return None

    # reading

    @property
    def oversampling(self) -> Measured | None:
        """How the codes are used, when they serve and not all chunks are compared anyway."""
        known = self._centre() if self._chosen == "codes" else None
        return None if known is None or not known.measured else Measured(known.oversampling, known.recall)

    def missing(self, limit: int) -> list[tuple[bytes, str]]:
        if self._set is None:
            return []
        first, texts = _cache.missing(self._connection, self._set, limit=limit, since=self._settled_before)
        # No chunk before this one waits, and a vector in use is never evicted: the next call starts here.
        self._settled_before = first
        return list(texts.items())

    def counts(self, version: int) -> tuple[int, int]:
        """Chunks with a vector and chunks that failed."""
        if self._set is None:
            return 0, 0
        if self._counted is None or self._counted[0] != version:
            engine = self._engine if isinstance(self._engine, (ExactEngine, CodesEngine)) else None
            known = engine is not None and engine.loaded(version)
            having = engine.size if engine and known else _cache.count_having(self._connection, self._set)
            self._counted = version, having, _cache.count_failed(self._connection, self._set)
        return self._counted[1:]

    def nearest(
        self, query: NDArray[np.float32], *, limit: int, filters: Filters, levels: ScriptBaselines | None, version: int
    ) -> list[tuple[int, float]]:
        if self._set is None or limit <= 0:
            return []
        unit = _ranking.unit_query(query, self._set.dimensions)
        levelled = StandardizedCosines(self._known_scripts(), levels) if levels else None
        ids, rows = self._asked(
            version, lambda engine: engine.take(engine.candidates(unit, limit, filters, levelled).tolist())
        )
        cosines = _ranking.cosines(rows, unit)
        scores = levelled.scores(cosines, levelled.numbers(ids)) if levelled else cosines
        order = _ranking.best(ids, scores, limit)
        return list(zip(ids[order].tolist(), cosines[order].tolist(), strict=True))

    def at(self, ids: Collection[int], *, version: int) -> tuple[list[int], NDArray[np.float32]]:
        """Those of the chunks that have a vector, and their vectors."""
        import numpy as np

        if self._set is None or not ids:
            return [], np.empty((0, self._set.dimensions if self._set else 0), dtype=np.float32)
        found, rows = self._asked(version, lambda engine: engine.take(list(ids)))
        return found.tolist(), rows

    def cosines(self, query: NDArray[np.float32], ids: Collection[int], *, version: int) -> dict[int, float]:
        if self._set is None or not ids:
            return {}
        unit = _ranking.unit_query(query, self._set.dimensions)
        found, rows = self._asked(version, lambda engine: engine.take(list(ids)))
        return dict(zip(found.tolist(), _ranking.cosines(rows, unit).tolist(), strict=True))

    def sample(self, count: int, *, seed: int, version: int) -> NDArray[np.float32]:
        import numpy as np

        if self._set is None:
            return np.empty((0, 0), dtype=np.float32)
        _, rows = self._asked(version, lambda engine: engine.take(_ranking.drawn(engine.ids(), count, seed)))
        return rows

    def _asked(self, version: int, question: Callable[[VectorEngine], _T]) -> _T:
        def answer() -> _T:
            return question(self._caught_up(version))

        for _ in range(REPAIRS):
            try:
                return self._guarded(answer)
            except (BrokenVectors, BrokenCodes) as broken:
                self._repair(broken)
        return self._guarded(answer)

    def _repair(self, broken: BrokenVectors | BrokenCodes) -> None:
        """Forget what is damaged: vectors are computed again, codes are made again from the vectors."""
        with transaction(self._connection):
            if isinstance(broken, BrokenVectors):
                _cache.drop_vectors(self._connection, broken.ids)
            else:
                _segments.drop(self._connection, self.active())
        self._engine = None
        self.forget_progress()
        self._judged = -1
        if isinstance(broken, BrokenVectors):
            self.dropped += len(broken.ids)

    def _guarded(self, act: Callable[[], _T]) -> _T:
        """Let a fault of the extension cost its engine, never the index."""
        import apsw

        try:
            return act()
        except apsw.SQLError as error:
            if self._chosen == "exact":
                raise
            self._fall_back(self._chosen, str(error))
            return act()

    def _caught_up(self, version: int) -> VectorEngine:
        engine = self._serving()
        engine.catch_up(version)
        if self._wanted[0] == "auto" and self._judged != version:
            # Only once codes have caught up is it known what they find, and whether they may serve.
            while (better := self._best()) != self._chosen:
                self._chosen, self._engine = better, None
                engine = self._serving()
                engine.catch_up(version)
            self._judged = version
        if isinstance(engine, CodesEngine) and engine.measured and engine.measured.recall < RECALL:
            self._notice(_MISSES)
        return engine

    def _serving(self) -> VectorEngine:
        if self._engine is None:
            self._engine = _MADE_BY[self._chosen](self._connection, self.active())
        return self._engine

    def _known_scripts(self) -> ChunkScripts:
        if self._scripts is None:
            self._scripts = ChunkScripts(self._connection)
        return self._scripts

    # writing

    def settle(self, version: int) -> None:
        """Do now what the next search would have to do first: make the codes, and measure how they must be used."""
        if self._set is None:
            return
        if self._wanted[0] == "auto":
            self.choose(*self._wanted)
        if self._chosen == "codes" and unsettled(self._connection, self._set):
            self._asked(version, lambda _: None)

    def follow(self, change: _files.StoredChange) -> None:
        """Count a change of chunks, and let the engine's table go along with it."""
        before = increment(self._connection, "content")
        if self._set is None:
            return
        _segments.follow(self._connection, self._set, change, before=before)
        if self._chosen == "sqlite-vec":
            self._guarded(lambda: self._serving().follow(change, before=before))

    def put(self, keys: Sequence[bytes], vectors: NDArray[np.float32], *, now: float) -> None:
        rows = _ranking.unit_rows(vectors, self.active().dimensions)
        if len(rows) != len(keys):
            raise EmbeddingError(f"{len(keys)} keys were given with {len(rows)} vectors")
        replaced = _cache.store(self._connection, self.active(), keys, rows, now=now)
        followed = self._chosen == "sqlite-vec" or _segments.exist(self._connection, self.active())
        ids = _cache.chunks_with(self._connection, keys) if followed else []
        self.follow(_files.StoredChange(ids if replaced else [], ids))
