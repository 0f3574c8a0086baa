"""The Protocol of the store that indexing writes. `memoriter.index.Index` implements it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.records import ChunkRecord, Corpus, IndexedFile
    from memoriter.types import ModelSpec, Source


class WritableStore(Protocol):
    """Files with their chunks, the vectors of texts by key, and settings.

    A write is one transaction. It raises `IndexBusy` if another process writes for too long, `IndexDamaged` if the
    stored data cannot be used, or another `IndexUnavailable`.
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

    def version(self) -> int:
        """Return a number that changes whenever the content may have changed, in any process."""
        ...

    def content_version(self) -> str:
        """Return a name of the content, the same in every process; after a change of chunks or vectors, another one."""
        ...

    def get_meta(self, key: str) -> str | None:
        """Return a setting, or None."""
        ...

    def set_meta(self, key: str, value: str) -> None:
        """Store a setting."""
        ...

    def drop_meta(self, key: str) -> None:
        """Delete a setting; do nothing if it does not exist."""
        ...

    def metas(self, prefix: str) -> Mapping[str, str]:
        """Return the settings whose names start with `prefix`, by name."""
        ...

    def files(self) -> Mapping[str, IndexedFile]:
        """Return every file by its path."""
        ...

    def files_at(self, paths: Collection[str]) -> Mapping[str, IndexedFile]:
        """Return the stored files among `paths`, by path."""
        ...

    def corpus(self) -> Corpus:
        """Return the totals."""
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
            names: the names by which links lead to it, as `ids.fold_name` returns them.
        """
        ...

    def touch_file(self, source: Source, *, tail: str | None = None) -> None:
        """Update size, time and read position of a file whose indexed content has not changed."""
        ...

    def remove_files(self, paths: Collection[str]) -> None:
        """Delete files with their chunks; unknown paths are ignored."""
        ...

    def use_vectors(self, spec: ModelSpec) -> None:
        """Activate the vectors of a model and keep the others. Raises EmbeddingError if its dimensions changed."""
        ...

    def missing(self, limit: int, *, of: Collection[int] = ()) -> Sequence[tuple[bytes, str]]:
        """Return up to `limit` distinct (key, text) that have neither a vector nor a recorded failure.

        The texts of chunks come first, then those of items. With `of`, only the chunks with these ids, in their order.
        """
        ...

    def pending(self) -> int:
        """Return the number of chunks that wait for a vector, theirs or an item's; 0 if no vectors are active."""
        ...

    def waiting(self) -> int:
        """Return the number of vectors that chunks and items wait for; 0 if no vectors are active."""
        ...

    def referenced(self, keys: Collection[bytes]) -> Collection[bytes]:
        """Return the keys that chunks or items refer to."""
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

    def put_failure(self, key: bytes, message: str) -> None:
        """Record that a text cannot be embedded, so that it is not sent again."""
        ...

    def clear_failures(self) -> None:
        """Delete the recorded failures, so that those texts are tried again."""
        ...

    def sample(self, count: int) -> tuple[Sequence[str], NDArray[np.float32]]:
        """Return texts and vectors of up to `count` chunks with different texts; the same for the same notes."""
        ...

    def evict(self, *, max_entries: int, max_bytes: int) -> int:
        """Keep vectors that no chunk or item uses within these limits, the last used ones. Return how many went."""
        ...

    def lease(self, *, wait: float = 0.0) -> AbstractContextManager[None]:
        """Hold the right to index, for one thread of one process. Raises IndexBusy after `wait` seconds."""
        ...

    def storing(self, *, wait: float = 0.0) -> AbstractContextManager[None]:
        """Hold the right to index for one short write of vectors. Raises IndexBusy after `wait` seconds."""
        ...

    def embedding_lease(self, *, wait: float = 0.0) -> AbstractContextManager[None]:
        """Hold the right to compute vectors, separate from the right to index. Raises IndexBusy."""
        ...

    def rebuild(self, *, vectors: bool = True) -> AbstractContextManager[WritableStore]:
        """Yield an empty store that replaces this one at the end, unless something fails. It keeps the vectors.

        Args:
            vectors: False drops the vectors of the active model.
        """
        ...
