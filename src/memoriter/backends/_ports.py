"""The Protocols of what the builtin backend stores. `memoriter.index` and drivers of other packages implement them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from memoriter.search import Reader
from memoriter.sync import WritableStore

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from threading import Event

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.records import Corpus, StoredChunk, StoredIndex
    from memoriter.types import CompactReport, Diagnostic, Filters, ModelSpec, Spent

_T = TypeVar("_T")


class Store(WritableStore, Reader, Protocol):
    """A store that a backend searches, updates and maintains. Several threads may share it."""

    @property
    def generation(self) -> int:
        """The number of the active file; 0 where there are no generations."""
        ...

    @property
    def notices(self) -> tuple[Diagnostic, ...]:
        """Diagnostics about the store itself, such as a damaged file that was set aside."""
        ...

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written; a notice gives the reason."""
        ...

    @property
    def engine(self) -> str:
        """The name of the vector engine."""
        ...

    @property
    def oversampling(self) -> int | None:
        """Vectors that an approximate engine compares for each wanted one; None if it compares all."""
        ...

    @property
    def work_left(self) -> tuple[Diagnostic, ...]:
        """Diagnostics of work on the store that is due and that this user may not do. Answers are right without it."""
        ...

    @property
    def recall(self) -> float | None:
        """The share of the nearest vectors that an approximate engine found, as measured; None if it compares all."""
        ...

    def size_on_disk(self) -> int:
        """Return the bytes that the store takes up, with its log."""
        ...

    def refresh(self) -> bool:
        """Open the active content if another process replaced it, and return whether it did."""
        ...

    def quarantine(self) -> None:
        """Set damaged content aside and start empty."""
        ...

    def close(self) -> None:
        """Close the store; no other method may be called afterwards."""
        ...

    def at_one_state(self, read: Callable[[], _T]) -> _T:
        """Return the result of `read`, all of whose reads see one state; it may run several times."""
        ...

    def check(self) -> None:
        """Check all stored data. Raises IndexDamaged."""
        ...

    def check_if_changed(self) -> None:
        """Check all stored data if something other than indexing changed it. Raises IndexDamaged."""
        ...

    def content(self) -> int:
        """Return a number that changes with every change of chunks or vectors, the same in every process."""
        ...

    def changes(self, stop: Event) -> Generator[str]:
        """Yield `content_version` now, and again soon after a change by any process, until `stop` is set.

        It may end earlier, so that the caller calls `refresh` and asks again.

        Args:
            stop: another thread sets it to end this within a second.

        Raises:
            IndexUnavailable: the store cannot be read.
        """
        ...

    def corpus(self) -> Corpus:
        """Return the totals."""
        ...

    def ids_at(self, path: str) -> list[int]:
        """Return the chunk ids of a file, in file order."""
        ...

    def newest(self, filters: Filters, limit: int) -> list[int]:
        """Return chunks that pass the filters and have a day, the newest day first, then by path and line.

        If there are more than `limit`, those come in that are the first of their file, then the second ones, and so on.
        """
        ...

    def passing(self, ids: Collection[int], filters: Filters) -> set[int]:
        """Return those of the chunks that pass the filters."""
        ...

    def all_ids(self) -> list[int]:
        """Return every chunk id, ascending."""
        ...

    def rows(self, ids: Collection[int]) -> Mapping[int, StoredChunk]:
        """Return complete chunks by id; ids that do not exist are absent."""
        ...

    def cosines(self, query: NDArray[np.float32], ids: Collection[int]) -> Mapping[int, float]:
        """Return the cosine of a query (dims,) with each chunk that has a vector."""
        ...

    def vectors(self) -> int:
        """Return the number of chunks that have a vector of their own."""
        ...

    def failures(self) -> int:
        """Return the number of chunks whose text the model refused."""
        ...

    def vector_keys(self) -> Collection[bytes]:
        """Return the keys of the vectors of all chunks and items."""
        ...

    def providers(self) -> set[str]:
        """Return the providers whose models made the stored vectors."""
        ...

    def models(self) -> Mapping[ModelSpec, int]:
        """Return the models that have vectors or refused texts here, with the number of their vectors."""
        ...

    def stored_vectors(self, after: bytes, limit: int) -> tuple[Sequence[bytes], NDArray[np.float32]]:
        """Return up to `limit` vectors of the active model, also unused ones, by ascending key: (n keys, (n, dims)).

        Args:
            after: the key before the first; empty: from the beginning.
            limit: the most vectors.
        """
        ...

    def having_vectors(self, keys: Collection[bytes]) -> Collection[bytes]:
        """Return those of the keys that have a vector of the active model."""
        ...

    def refused(self) -> Mapping[bytes, str]:
        """Return why the active model refused texts, by their keys."""
        ...

    def places_of(self, text: str) -> Sequence[tuple[str, int, int]]:
        """Return (path, first line, last line) of every chunk that contains the exact text."""
        ...

    def background_lease(self) -> AbstractContextManager[None]:
        """Hold the right to be the one run in the background. Raises IndexBusy if another process has it."""
        ...

    def watch_lease(self) -> AbstractContextManager[None]:
        """Hold the right to watch. Raises IndexBusy if another process watches."""
        ...

    def purge(self) -> None:
        """Remove deleted text permanently and release free space, without waiting for other processes."""
        ...

    def compact(self, *, max_entries: int, max_bytes: int, damaged: bool = False, wait: float = 0.0) -> CompactReport:
        """Make the store as small as possible; search results do not change. Raises IndexBusy after `wait` seconds.

        Args:
            max_entries: how many vectors without a chunk stay.
            max_bytes: how many bytes of such vectors stay.
            damaged: also delete damaged content that was set aside.
            wait: seconds to wait for another process that is indexing.
        """
        ...

    @property
    def forgetting(self) -> bool:
        """Whether text was removed from notes and `forget` has not finished since."""
        ...

    def begin_forgetting(self) -> None:
        """Record that text is about to be removed from notes."""
        ...

    def end_forgetting(self) -> None:
        """Record that nothing has to be forgotten any more, or that no note was changed."""
        ...

    def forget(self) -> CompactReport:
        """Delete from disk everything that no note contains any more. Index the current notes first."""
        ...


class OpenStore(Protocol):
    """Opens the store of one workspace."""

    def __call__(self, *, inspect: bool) -> Store:
        """Return the open store. With `inspect`, nothing is created or changed, and it is empty if there is none."""
        ...

    def runs_in_background(self) -> bool:
        """Return whether a process holds `Store.background_lease`. Nothing is opened or changed."""
        ...


class StoreDriver(OpenStore, Protocol):
    """Opens the store of one workspace, and knows the other ones that are kept where it is."""

    def list_stored(self) -> list[StoredIndex]:
        """Return what is stored there and may be read, by name. Nothing is created.

        Raises:
            IndexUnavailable: a server does not answer, or something is missing there.
        """
        ...

    def drop_stored(self, name: str) -> None:
        """Delete one of them. Notes are not touched.

        Raises:
            IndexBusy: another process uses it.
            IndexUnavailable: a server does not answer, or a file cannot be deleted.
            UsageError: there is no such index that the user may delete.
        """
        ...


class Ledger(Protocol):
    """What must outlive every store: spending at providers, and what is known about them."""

    def add(self, provider: str, model: str, tokens: int, dollars: float | None) -> None:
        """Record one response of a provider; `dollars` is None if the price is unknown."""
        ...

    def today(self) -> Spent:
        """Return what was spent since midnight (UTC), at all providers."""
        ...

    def get(self, name: str) -> str | None:
        """Return a stored value, or None."""
        ...

    def set(self, name: str, value: str) -> None:
        """Store a value. Raises ProviderUnavailable if it cannot be written."""
        ...

    def swap(self, name: str, old: str, new: str) -> bool:
        """Replace a stored value if it still is `old`; return whether it was."""
        ...

    def close(self) -> None:
        """Close the ledger; it is reopened when needed."""
        ...
