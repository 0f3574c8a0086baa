"""The store of a memory, as a Protocol: files with their chunks, words, vectors by key, and settings.

`memoriter.index.Index` implements it, and so do drivers of other packages; indexing, search and backends use it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from threading import Event

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.records import ChunkRecord, Corpus, IndexedFile, ScoringRow, StoredChunk, StoredIndex
    from memoriter.types import CompactReport, Diagnostic, Filters, ModelSpec, ScriptBaselines, Source

_T = TypeVar("_T")


class Passages(Protocol):
    """What a ranking reads of a store."""

    def corpus(self) -> Corpus:
        """Return the totals."""
        ...

    def count(self, filters: Filters) -> int:
        """Return the number of chunks that pass the filters."""
        ...

    def newest(self, filters: Filters, limit: int) -> list[int]:
        """Return chunks that pass the filters and have a day, the newest day first, then by path and line.

        If there are more than `limit`, those come in that are the first of their file, then the second ones, and so on.
        """
        ...

    def passing(self, ids: Collection[int], filters: Filters) -> set[int]:
        """Return those of the chunks that pass the filters."""
        ...

    def rows(self, ids: Collection[int]) -> Mapping[int, StoredChunk]:
        """Return complete chunks by id; ids that do not exist are absent."""
        ...

    def scoring_rows(self, ids: Collection[int]) -> Mapping[int, ScoringRow]:
        """Return what ranking needs of chunks, without their texts; ids that do not exist are absent."""
        ...

    def document_frequency(self, terms: Collection[str]) -> Mapping[str, int]:
        """Return the number of chunks that contain each term."""
        ...

    def other_names(self, names: Collection[str]) -> Mapping[str, Sequence[str]]:
        """Return for each name of a note the other names of the notes that have it."""
        ...

    def keyword_search(
        self,
        terms: Sequence[str],
        *,
        limit: int,
        filters: Filters,
        frequency: Mapping[str, int] | None,
        weights: Mapping[str, float] | None,
    ) -> Sequence[tuple[int, float]]:
        """Return chunks with any of the terms, heaviest first: (chunk id, weight of its terms). Any string is safe.

        `frequency` takes a result of `document_frequency` for these terms, so that they are not counted again. Without
        `weights`, rare terms weigh more.
        """
        ...

    def keyword_search_all(self, terms: Sequence[str], *, limit: int, filters: Filters) -> Sequence[tuple[int, float]]:
        """Return chunks with all of the terms, best first: (chunk id, rank, negative: lower is better)."""
        ...

    def vector_search(
        self, query: NDArray[np.float32], *, limit: int, filters: Filters, levels: ScriptBaselines | None = None
    ) -> Sequence[tuple[int, float]]:
        """Return the chunks nearest to the query, best first, ties by id: (chunk id, cosine).

        With `levels`, chunks are ordered by how far they stand out in their script.
        """
        ...

    def vectors_at(self, ids: Collection[int]) -> tuple[list[int], NDArray[np.float32]]:
        """Return the chunks that have a vector, ascending, and their vectors: (m ids, (m, dims))."""
        ...

    def item_vectors(self, ids: Collection[int]) -> tuple[list[int], list[int], list[str], NDArray[np.float32]]:
        """Return the vectors of the items of chunks, in no order: (n chunk ids, n first lines, n scripts, (n, dims)).

        The lines are 0-based within the text of the chunk.
        """
        ...


class Snapshot(Passages, Protocol):
    """One state of a store, for one thread."""

    def version(self) -> int:
        """Return a number that changes whenever the content may have changed, in any process."""
        ...

    def get_meta(self, key: str) -> str | None:
        """Return a setting, or None."""
        ...

    def files_at(self, paths: Collection[str]) -> Mapping[str, IndexedFile]:
        """Return the stored files among `paths`, by path."""
        ...

    def ids_at(self, path: str) -> list[int]:
        """Return the chunk ids of a file, in file order."""
        ...

    def all_ids(self) -> list[int]:
        """Return every chunk id, ascending."""
        ...

    def vectors(self) -> int:
        """Return the number of chunks that have a vector of their own."""
        ...

    def missing(self, limit: int, *, of: Collection[int] = ()) -> Sequence[tuple[bytes, str]]:
        """Return up to `limit` distinct (key, text) that have neither a vector nor a recorded failure.

        The texts of chunks come first, then those of items. With `of`, only the chunks with these ids, in their order.
        """
        ...


class Store(Snapshot, Protocol):
    """A store that is indexed, searched and maintained. Several threads may share it.

    A write is one transaction. It raises `IndexBusy` if another process writes for too long, `IndexDamaged` if the
    stored data cannot be used, or another `IndexUnavailable`. The ids of one file's chunks are consecutive, in the
    order of the file.
    """

    @property
    def path(self) -> Path:
        """The place of the store, for messages."""
        ...

    @property
    def spec(self) -> ModelSpec | None:
        """The model of the active vectors."""
        ...

    @property
    def generation(self) -> int:
        """The number of the content that was read last; a rebuild gives it another one."""
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
    def recall(self) -> float | None:
        """The share of the nearest vectors that an approximate engine found, as measured; None if it compares all."""
        ...

    @property
    def work_left(self) -> tuple[Diagnostic, ...]:
        """Diagnostics of work on the store that is due and that this user may not do. Answers are right without it."""
        ...

    def content(self) -> int:
        """Return a number that changes with every change of chunks or vectors, the same in every process."""
        ...

    def content_version(self) -> str:
        """Return a name of the content, the same in every process; after a change of chunks or vectors, another one."""
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

    def at_one_state(self, read: Callable[[Snapshot], _T]) -> _T:
        """Return the result of `read`, which gets one state of the store; it may run several times."""
        ...

    def refresh(self) -> bool:
        """Open the active content if another process replaced it, and return whether it did."""
        ...

    def quarantine(self) -> None:
        """Begin anew in the place of damaged content, with the vectors that can be read."""
        ...

    def check(self) -> None:
        """Check all stored data. Raises IndexDamaged."""
        ...

    def size_on_disk(self) -> int:
        """Return the bytes that the store takes up, with its log."""
        ...

    def close(self) -> None:
        """Close the store; no other method may be called afterwards."""
        ...

    # settings

    def set_meta(self, key: str, value: str) -> None:
        """Store a setting."""
        ...

    def drop_meta(self, key: str) -> None:
        """Delete a setting; do nothing if it does not exist."""
        ...

    def metas(self, prefix: str) -> Mapping[str, str]:
        """Return the settings whose names start with `prefix`, by name."""
        ...

    # files and chunks

    def files(self) -> Mapping[str, IndexedFile]:
        """Return every file by its path."""
        ...

    def put_file(
        self,
        source: Source,
        hash: str,  # noqa: A002 (named as in `IndexedFile`)
        entries: Sequence[ChunkRecord],
        *,
        keep: int = 0,
        tail: str = "",
        tags: Collection[str] = (),
        names: Collection[str] = (),
    ) -> None:
        """Replace what is stored of a file, except its first `keep` chunks. The new ones get consecutive ids.

        Args:
            source: the file.
            hash: identifies its content.
            entries: its chunks after the ones that are kept, in file order.
            keep: the number of stored chunks, from the first, that stay.
            tail: how far the file was read, for the next incremental read.
            tags: its tags, folded.
            names: the names by which links lead to it, as `folding.fold_name` returns them.
        """
        ...

    def touch_file(self, source: Source, *, tail: str | None = None) -> None:
        """Update size, time and read position of a file whose indexed content has not changed."""
        ...

    def remove_files(self, paths: Collection[str]) -> None:
        """Delete files with their chunks; unknown paths are ignored."""
        ...

    def places_of(self, text: str) -> Sequence[tuple[str, int, int]]:
        """Return (path, first line, last line) of every chunk that contains the exact text."""
        ...

    # vectors

    def use_vectors(self, spec: ModelSpec) -> None:
        """Activate the vectors of a model and keep the others. Raises EmbeddingError if its dimensions changed."""
        ...

    def cosines(self, query: NDArray[np.float32], ids: Collection[int]) -> Mapping[int, float]:
        """Return the cosine of a query (dims,) with each chunk that has a vector."""
        ...

    def sample(self, count: int) -> tuple[Sequence[str], NDArray[np.float32]]:
        """Return texts and vectors of up to `count` chunks with different texts; the same for the same notes."""
        ...

    def pending(self) -> int:
        """Return the number of chunks that wait for a vector, theirs or an item's; 0 if no vectors are active."""
        ...

    def waiting(self) -> int:
        """Return the number of vectors that chunks and items wait for; 0 if no vectors are active."""
        ...

    def failures(self) -> int:
        """Return the number of chunks whose text the model refused."""
        ...

    def referenced(self, keys: Collection[bytes]) -> Collection[bytes]:
        """Return the keys that chunks or items refer to."""
        ...

    def vector_keys(self) -> Collection[bytes]:
        """Return the keys of the vectors of all chunks and items."""
        ...

    def put_vectors(self, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Store vectors, (n, dims), under their keys. Raises BadVector if one does not fit."""
        ...

    def shared_vectors(self, keys: Collection[bytes]) -> Collection[bytes]:
        """Return those of the keys whose vectors other memories of the same owner have.

        The vectors are of the active model. A store that holds one memory alone returns none.
        """
        ...

    def take_vectors(self, keys: Collection[bytes]) -> Collection[bytes]:
        """Copy such vectors if chunks or items refer to them, and return their keys."""
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

    def providers(self) -> set[str]:
        """Return the providers whose models made the stored vectors."""
        ...

    def models(self) -> Mapping[ModelSpec, int]:
        """Return the models that have vectors or refused texts here, with the number of their vectors."""
        ...

    def put_failure(self, key: bytes, message: str) -> None:
        """Record that a text cannot be embedded, so that it is not sent again."""
        ...

    def clear_failures(self) -> None:
        """Delete the recorded failures, so that those texts are tried again."""
        ...

    def refused(self) -> Mapping[bytes, str]:
        """Return why the active model refused texts, by their keys."""
        ...

    def evict(self, *, max_entries: int, max_bytes: int) -> int:
        """Keep vectors that no chunk or item uses within these limits, the last used ones. Return how many went."""
        ...

    # the rights to index, to embed and to watch

    def lease(self, *, wait: float = 0.0) -> AbstractContextManager[None]:
        """Hold the right to index, for one thread of one process. Raises IndexBusy after `wait` seconds."""
        ...

    def storing(self, *, wait: float = 0.0) -> AbstractContextManager[None]:
        """Hold the right to index for one short write of vectors. Raises IndexBusy after `wait` seconds."""
        ...

    def embedding_lease(self, *, wait: float = 0.0) -> AbstractContextManager[None]:
        """Hold the right to compute vectors, separate from the right to index. Raises IndexBusy."""
        ...

    def background_lease(self) -> AbstractContextManager[None]:
        """Hold the right to be the one run in the background. Raises IndexBusy if another process has it."""
        ...

    def watch_lease(self) -> AbstractContextManager[None]:
        """Hold the right to watch. Raises IndexBusy if another process watches."""
        ...

    # upkeep

    def rebuild(self, *, vectors: bool = True) -> AbstractContextManager[Store]:
        """Yield an empty store that replaces this one at the end, unless something fails. It keeps the vectors.

        Args:
            vectors: False drops the vectors of the active model.
        """
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
