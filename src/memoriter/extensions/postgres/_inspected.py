"""Stores that are only read: nothing is created or changed on the server."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn, TypeVar

from memoriter.errors import IndexUnavailable
from memoriter.extensions.postgres._graphs import NONE, Graphs
from memoriter.extensions.postgres._requirements import find_space
from memoriter.extensions.postgres._server import Server
from memoriter.extensions.postgres._state import State
from memoriter.extensions.postgres._store import PostgresStore
from memoriter.records import Corpus
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Mapping, Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.extensions.postgres._files import Place
    from memoriter.extensions.postgres._server import Connection, ServerSettings
    from memoriter.extensions.postgres._vectors import VectorSet
    from memoriter.records import IndexedFile, ScoringRow, StoredChunk
    from memoriter.store import Snapshot
    from memoriter.types import Filters, ModelSpec, ScriptBaselines

T = TypeVar("T")
_INSPECTED = Diagnostic(
    "index_read_only", "This command only inspects the index, so it stores nothing.", "Run `memoriter index`."
)


class InspectedStore(PostgresStore):
    """A store that refuses every right and every write."""

    read_only = True

    @classmethod
    def inspect(cls, settings: ServerSettings, name: str, *, clock: Callable[[], float]) -> InspectedStore:
        """Open the space of a workspace and an agent; it is empty if it, or the schema, does not exist.

        Raises:
            IndexUnavailable: the server does not answer, something is missing there, or the user may not use the space.
            MissingPackage: the extra `postgres` is not installed.
        """
        server = Server(settings)
        known = None
        try:
            if server.prepare(create=False):
                with server.connection() as connection:
                    known = find_space(connection, server.name, name, settings.role)
            else:
                server.check_creation()
            if known is None or not known.has_content:
                return AbsentStore(server, name, State(0), clock=clock)
            return InspectedStore(server, name, State(known.id), clock=clock)
        except BaseException:
            server.close()
            raise

    def lease(self, *, wait: float = 0.0) -> AbstractContextManager[None]:
        del wait
        self._refuse()

    storing = embedding_lease = lease

    def background_lease(self) -> AbstractContextManager[None]:
        self._refuse()

    watch_lease = background_lease

    @contextmanager
    def _transaction(self) -> Generator[tuple[Connection, Place]]:
        self._refuse()
        yield  # type: ignore[misc]  # a context manager needs one

    def purge(self) -> None:
        """Do nothing."""

    def _refuse(self) -> NoReturn:
        raise IndexUnavailable(_INSPECTED.message, remedy=_INSPECTED.remedy)


class AbsentStore(InspectedStore):
    """The empty store that stands for a space that does not exist."""

    def _active_graphs(self) -> Graphs:
        return NONE

    def _without_graphs(self) -> VectorSet | None:
        return None

    def use_vectors(self, spec: ModelSpec) -> None:
        self._spec = spec

    def refresh(self) -> bool:
        return False

    def check(self) -> None:
        """Do nothing."""

    def version(self) -> int:
        return 0

    def content(self) -> int:
        return 0

    def at_one_state(self, read: Callable[[Snapshot], T]) -> T:
        return read(self)

    def metas(self, prefix: str) -> dict[str, str]:
        del prefix
        return {}

    def files(self) -> dict[str, IndexedFile]:
        return {}

    def files_at(self, paths: Collection[str]) -> dict[str, IndexedFile]:
        del paths
        return {}

    def corpus(self) -> Corpus:
        return Corpus(0, 0, 0.0, has_other_names=False, kinds={})

    def count(self, filters: Filters) -> int:
        del filters
        return 0

    def newest(self, filters: Filters, limit: int) -> list[int]:
        del filters, limit
        return []

    def passing(self, ids: Collection[int], filters: Filters) -> set[int]:
        del ids, filters
        return set()

    def rows(self, ids: Collection[int]) -> dict[int, StoredChunk]:
        del ids
        return {}

    def scoring_rows(self, ids: Collection[int]) -> dict[int, ScoringRow]:
        del ids
        return {}

    def ids_at(self, path: str) -> list[int]:
        del path
        return []

    def all_ids(self) -> list[int]:
        return []

    def places_of(self, text: str) -> list[tuple[str, int, int]]:
        del text
        return []

    def keyword_search(
        self,
        terms: Sequence[str],
        *,
        limit: int,
        filters: Filters | None = None,
        frequency: Mapping[str, int] | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> list[tuple[int, float]]:
        del terms, limit, filters, frequency, weights
        return []

    def keyword_search_all(
        self, terms: Sequence[str], *, limit: int, filters: Filters | None = None
    ) -> list[tuple[int, float]]:
        del terms, limit, filters
        return []

    def document_frequency(self, terms: Collection[str]) -> dict[str, int]:
        return dict.fromkeys(terms, 0)

    def other_names(self, names: Collection[str]) -> dict[str, list[str]]:
        del names
        return {}

    def missing(self, limit: int, *, of: Collection[int] = ()) -> list[tuple[bytes, str]]:
        del limit, of
        return []

    def pending(self) -> int:
        return 0

    waiting = failures = vectors = pending

    def referenced(self, keys: Collection[bytes]) -> set[bytes]:
        del keys
        return set()

    def vector_keys(self) -> set[bytes]:
        return set()

    def providers(self) -> set[str]:
        return set()

    def vector_search(
        self,
        query: NDArray[np.float32],
        *,
        limit: int,
        filters: Filters | None = None,
        levels: ScriptBaselines | None = None,
    ) -> list[tuple[int, float]]:
        del query, limit, filters, levels
        return []

    def vectors_at(self, ids: Collection[int]) -> tuple[list[int], NDArray[np.float32]]:
        del ids
        return [], self._no_rows()

    def item_vectors(self, ids: Collection[int]) -> tuple[list[int], list[int], list[str], NDArray[np.float32]]:
        del ids
        return [], [], [], self._no_rows()

    def sample(self, count: int) -> tuple[list[str], NDArray[np.float32]]:
        del count
        return [], self._no_rows()

    def models(self) -> dict[ModelSpec, int]:
        return {}

    def stored_vectors(self, after: bytes, limit: int) -> tuple[list[bytes], NDArray[np.float32]]:
        del after, limit
        return [], self._no_rows()

    def having_vectors(self, keys: Collection[bytes]) -> set[bytes]:
        del keys
        return set()

    def shared_vectors(self, keys: Collection[bytes]) -> set[bytes]:
        with self._server.connection() as connection:
            if connection.execute("SELECT to_regclass('spaces')").fetchone() == (None,):
                return set()
        return super().shared_vectors(keys)

    def refused(self) -> dict[bytes, str]:
        return {}

    def _no_rows(self) -> NDArray[np.float32]:
        import numpy as np

        return np.empty((0, self._spec.dimensions if self._spec else 0), dtype=np.float32)

    def size_on_disk(self) -> int:
        return 0
