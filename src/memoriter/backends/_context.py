"""The settings of the builtin backend, the sources of a search, and the state and health that its operations share."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from memoriter.errors import IndexBusy, IndexDamaged, IndexUnavailable
from memoriter.permissions import unwritable_part
from memoriter.sync import undecoded_of
from memoriter.types import Diagnostic, Health
from memoriter.values import dataclass, field
from memoriter.workspace import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.backends._embedding import Embedding
    from memoriter.backends._reranking import Rescoring
    from memoriter.environment import Deadline, Stopwatch
    from memoriter.records import StoredChunk
    from memoriter.search import SearchSettings, TypedQuery
    from memoriter.store import OpenStore, Store
    from memoriter.sync import SyncSettings
    from memoriter.types import Certainty, Filters, Hit, Query, SourceKind
    from memoriter.workspace import Workspace

FIRST_EMBEDDING_MS = 20_000
"""How long the first search of a workspace may compute vectors before it returns."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """The two clocks that a backend uses."""

    wall: Callable[[], float]
    """Seconds since 1970."""
    monotonic: Callable[[], float]


@dataclass(frozen=True, slots=True)
class BackendSettings:
    """The settings of the builtin backend for one workspace."""

    agent: str
    workspace_reason: str
    index_path: Path
    open_store: OpenStore
    search: SearchSettings
    sync: SyncSettings
    sessions_dir: Path | None = None
    """The folder of the agent's transcripts."""
    on_search: bool = True
    debounce_ms: int = 1_500
    sources: tuple[SourceKind, ...] = ("memory",)
    """The kinds of sources that are searched."""
    deadline_ms: int = FIRST_EMBEDDING_MS
    index_reason: str = ""
    """Why the index is at this path; empty if there is nothing to explain."""
    recovers: bool = True
    """Whether to finish what killed processes left next to notes. False in a folder that is not trusted: anybody may
    have put the files there, and memoriter writes nothing in it."""
    inspect: bool = False
    """True: nothing is created or changed; the index is read as it is, and is empty if there is none."""


TRANSCRIPTS_ARE_OFF = Diagnostic(
    "sessions_off",
    "Transcripts are not searched: `sessions` is not in memorySearch.sources, or experimental.sessionMemory is off.",
    'Set memorySearch.experimental.sessionMemory to true and memorySearch.sources to ["memory", "sessions"].',
)
NOTES_ARE_OFF = Diagnostic(
    "memory_off",
    "Notes are not searched: memorySearch.sources does not hold `memory`.",
    "Add `memory` to memorySearch.sources.",
)


@dataclass(frozen=True, slots=True)
class Scope:
    """The sources that one search covers."""

    filters: Filters
    kinds: tuple[SourceKind, ...]
    """The kinds that share the hits: those that exist, are requested and are allowed."""
    reasons: tuple[Diagnostic, ...] = ()


def scope_of(filters: Filters, allowed: Collection[SourceKind], there: Collection[SourceKind]) -> Scope:
    """Return the sources that a search covers."""
    requested = filters.sources if filters.sources is not None else frozenset(allowed)
    kinds = tuple(sorted(requested.intersection(allowed, there)))
    refused = filters.sources is not None and not filters.sources.intersection(allowed)
    reasons = (TRANSCRIPTS_ARE_OFF if "sessions" in requested else NOTES_ARE_OFF,) if refused else ()
    if filters.sources is None and set(there) <= set(allowed):
        return Scope(filters, kinds)
    return Scope(replace(filters, sources=requested.intersection(allowed)), kinds, reasons)


@dataclass(frozen=True, slots=True)
class Question:
    """A query with what its ranking needs."""

    text: str
    """The cleaned query."""
    query: Query
    vector: NDArray[np.float32] | None
    """(dims,), or None to search by keywords only. Of a typed query: the first vector."""
    deadline: Deadline
    watch: Stopwatch
    rescoring: Rescoring | None
    """The reranker's part; None without a reranker."""
    typed: TypedQuery | None = None
    """The lines of a typed query; None for a question."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The hits of a question in one state of the index, and how they were ranked."""

    hits: tuple[Hit, ...]
    settings: SearchSettings
    filters: Filters
    now: float
    reasons: tuple[Diagnostic, ...]
    """Why sources that were requested were not searched."""
    refused: tuple[StoredChunk, ...]
    """Passages that differ from their notes."""
    certainty: Certainty | None
    """None if scores alone decide what is a match."""


_T = TypeVar("_T")


@dataclass(slots=True)
class BackendContext:
    """The workspace, its index (opened on first use) and the embedding provider."""

    workspace: Workspace
    settings: BackendSettings
    embedding: Embedding
    clocks: Clocks
    index_swaps: int = 0
    """The number of times that another index file replaced the open one."""
    _index: Store | None = None
    _lock: threading.RLock = field(default_factory=threading.RLock)
    """Held while the index is opened or its file is replaced."""

    def current_index(self) -> Store:
        """Return the index in its current generation, for one operation. It is opened on first use."""
        with self._lock:
            if self._index is None:
                self._index = self._open()
                self._prepare(self._index)
            elif self._index.refresh():
                self._prepare(self._index)
                self.index_swaps += 1
            return self._index

    def _open(self) -> Store:
        if not self.settings.inspect:
            self.workspace.make_root()
        return self.settings.open_store(inspect=self.settings.inspect)

    @property
    def is_open(self) -> bool:
        """Whether the index is open."""
        return self._index is not None

    @property
    def closed(self) -> Diagnostic | None:
        """The reason why notes that are written now cannot be indexed, or None. Does not open the index."""
        if "memory" not in self.settings.sources:
            return NOTES_ARE_OFF
        if self._index is not None:
            read_only = (notice for notice in self.current_index().notices if notice.code == "index_read_only")
            return next(read_only, None)
        return self.unwritable

    @property
    def unwritable(self) -> Diagnostic | None:
        """The reason why the permissions of the index, or of its folder, forbid writing, or None."""
        existing = unwritable_part(self.settings.index_path)
        if existing is None:
            return None
        message = f"{str(existing)!r} cannot be written, so the index does not include new changes."
        return Diagnostic("index_read_only", message, "Make it writable, or set memorySearch.store.path.")

    def _prepare(self, index: Store) -> None:
        if (spec := self.embedding.slot().spec) is not None:
            index.use_vectors(spec)

    def follow_provider(self, index: Store) -> None:
        """Switch the index to the vectors of the provider that serves now."""
        self.embedding.select_provider()
        spec = self.embedding.slot().spec
        if spec is not None and spec != index.spec:
            index.use_vectors(spec)

    def serving(self, index: Store) -> bool:
        """Return whether vector search would work. This is determined without loading a model."""
        provider = self.embedding.slot()
        usable = not provider.problem and not self.embedding.trouble and not self.embedding.refusal(0)
        return provider.spec is not None and usable and index.vectors() > 0

    def with_recovery(self, act: Callable[[Store], _T], tries: int = 2) -> _T:
        """Return the result of `act`; run it again if the index was damaged or replaced meanwhile.

        A damaged index is set aside first, and a new one takes its place.

        Args:
            act: the operation. It receives the index, and may run several times.
            tries: how often it may run again because another thread replaced the damaged index.

        Raises:
            IndexBusy: another process is indexing.
            IndexUnavailable: the index cannot be opened or written.
        """
        swaps = self.index_swaps
        try:
            return act(self.current_index())
        except IndexDamaged as error:
            if not self._recover(error, swaps) and tries:
                return self.with_recovery(act, tries - 1)
        except IndexBusy:
            raise
        except IndexUnavailable:
            with self._lock:
                if self.index_swaps == swaps:
                    if self._index is None or not self._index.refresh():
                        raise
                    self._prepare(self._index)
                    self.index_swaps += 1
        return act(self.current_index())

    def _recover(self, error: IndexDamaged, swaps: int) -> bool:
        """Set a damaged index aside and start a new one. The files hold everything that it needs.

        Returns:
            False if another thread has already replaced the damaged index; the new one may be whole.
        """
        with self._lock:
            index = self._index
            if index is None:
                raise error
            if self.index_swaps != swaps:
                return False
            index.quarantine()
            self._prepare(index)
            self.index_swaps += 1
            return True

    def close(self) -> None:
        """Close the index and the provider."""
        self.close_index()
        self.embedding.close()

    def close_index(self) -> None:
        """Close the index. It is opened again when it is needed."""
        if self._index is not None:
            self._index.close()
            self._index = None


WARMING = Diagnostic("warming", "The model is loading; keyword search works meanwhile.", "Search again in a moment.")
UNUSED = frozenset({"index_outdated", "index_damaged"})
"""Notices of an index that exists and cannot serve as it is."""
REQUEST_TEXTS = 64
REQUEST_TOKENS = 8_000
"""About the size of one indexing request."""


def health_of(context: BackendContext, index: Store, reasons: list[Diagnostic], *, serving: bool) -> Health:
    """Return the health of both retrievers. `reasons` has the diagnostics so far, and gets more."""
    embedding = context.embedding
    provider = embedding.slot()
    index_unread = {IndexBusy.code, IndexUnavailable.code, *UNUSED, "index_read_only", "not_indexed", "unreadable"}
    chunks = index.corpus().chunks
    if not chunks and index_unread.isdisjoint(reason.code for reason in reasons):
        reasons.append(_no_notes(context, index))
    pending = 0
    if provider.spec:
        pending = index.pending()
    elif embedding.configured:  # while the model is not known, every chunk waits
        pending = chunks
    if pending and provider.problem is None:
        message = f"{pending} of {chunks} chunks wait for vectors; until then, search may miss their meaning."
        jobs = len(index.metas("batch:")) if embedding.rules else 0
        batches = f" {jobs} batches are waiting at the service." if jobs else ""
        reasons.append(Diagnostic("vectors_pending", message + batches, "Run `memoriter index`."))
    refusal = None
    if pending or not serving:
        refusal = embedding.refusal(_next_request_tokens(context, index, pending))
    for diagnostic in (refusal, provider.problem, embedding.trouble):
        reasons += [diagnostic] if diagnostic and diagnostic.code not in {reason.code for reason in reasons} else []
    if failures := (index.failures() if provider.spec else 0):
        message = f"{failures} chunks could not be embedded; only keyword search finds them."
        reasons.append(Diagnostic("vectors_failed", message, "Run `memoriter index --force`."))
    if index.forgetting:
        message = "A `memoriter forget` was interrupted: the index may still contain the deleted text."
        reasons.append(Diagnostic("forgetting_unfinished", message, "Run `memoriter index`."))
    reasons += undecoded_of(index)
    legs = {"keyword": True, "vector": serving}
    return Health(legs, pending, index.generation, tuple(dict.fromkeys(reasons)))


def _no_notes(context: BackendContext, index: Store) -> Diagnostic:
    files = len(index.files())
    folder = str(context.workspace.root)
    if files:
        notes = "The one note" if files == 1 else f"Each of the {files} notes"
        return Diagnostic("no_text", f"{notes} in {folder!r} is empty.", "Run `memoriter remember TEXT`.")
    message = f"There are no notes in {folder!r}."
    return Diagnostic("no_notes", message, "Write Markdown files into it, or run `memoriter remember TEXT`.")


def _next_request_tokens(context: BackendContext, index: Store, pending: int) -> int:
    """Return the approximate number of tokens of the next indexing request."""
    texts = index.missing(min(pending, REQUEST_TEXTS)) if pending and context.embedding.slot().spec else ()
    return min(sum(estimate_tokens(text) for _, text in texts), REQUEST_TOKENS)


CONTEXTS = "contexts"
COPIES = "flushes"
"""The folders beside an agent's sessions with the context given to each, and with logs from before a flush."""


def state_folders(sessions: Path | None) -> list[str]:
    """Return the folders of memoriter's home whose files are replaced, among them those with versions of notes."""
    if sessions is None:
        return []
    own = [sessions.parents[2], sessions, sessions.with_name(CONTEXTS), sessions.with_name(COPIES)]
    return [str(folder) for folder in (*own, *sorted(records_of_imports(sessions).glob("*-*")))]


def records_of_imports(sessions: Path) -> Path:
    """Return the folder of the records in memoriter's home, which is three folders above an agent's transcripts."""
    from memoriter.import_history import RECORDS

    return sessions.parents[2] / RECORDS
