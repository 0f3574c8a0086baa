"""The interface of every memory backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path
    from threading import Event

    from memoriter.backends._forget import ForgetPlan, ForgetRequest, Forgotten
    from memoriter.backends._indexing import WatchRun
    from memoriter.sync import IndexJob, Progress
    from memoriter.types import (
        BackgroundRun,
        CompactReport,
        Diagnostic,
        Estimate,
        Excerpt,
        PassageMap,
        Query,
        SearchResult,
        Status,
        SyncReport,
        WhyNot,
    )
    from memoriter.workspace import Transcripts, Workspace


class MemoryBackend(Protocol):
    """A searchable memory of one workspace."""

    def search(self, query: Query, *, progress: Callable[[Progress], None] | None = None) -> SearchResult:
        """Return the hits of a query. Index the notes first if nothing is indexed yet. Raises InvalidQuery."""
        ...

    def why_not(self, query: Query, citation: str) -> WhyNot:
        """Return which stage of a search lost a passage, and the smallest setting that brings it back.

        Args:
            query: the query.
            citation: the passage: `path`, `path#L5`, `path#L5-L9` or `path:5`.

        Raises:
            InvalidQuery: the query is empty.
        """
        ...

    def draw_map(self, *, similarity: float) -> PassageMap:
        """Return the passages in two dimensions, in groups and with near duplicates. No model is loaded.

        Args:
            similarity: the cosine from which two passages count as nearly the same, above 0 and up to 1.
        """
        ...

    def varied(self, changes: Mapping[str, Any]) -> AbstractContextManager[MemoryBackend]:
        """Return a context manager whose value searches the same memory with other settings.

        Args:
            changes: values by the key of the setting, such as `query.minScore`: the keys of a `SettingChange`.
        """
        ...

    def sync(
        self, *, force: bool = False, vectors: bool = False, progress: Callable[[Progress], None] | None = None
    ) -> SyncReport:
        """Update the index to the current files.

        Args:
            force: index every file again.
            vectors: with `force`, also compute every vector again.
            progress: receives the progress of each stage.

        Raises:
            IndexBusy: another process is indexing.
        """
        ...

    def finish(self, stop: Event) -> SyncReport:
        """Index everything in turns with other processes, until it is done or `stop` is set.

        Raises:
            IndexBusy: another process does this, or is indexing.
        """
        ...

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """Why the provider of vectors cannot be used, as far as it is known without a request."""
        ...

    @property
    def background_run(self) -> BackgroundRun | None:
        """The last run of `finish` by any process, which may be at work; None: there was none."""
        ...

    def warm(self) -> None:
        """Start loading the model in a thread of its own; until it is loaded, only keyword search answers."""
        ...

    def refresh(self, *, progress: Callable[[Progress], None] | None = None) -> tuple[Diagnostic, ...]:
        """Index changes within a search's time budget and return diagnostics for what remains."""
        ...

    def notes_changed(self, *paths: Path) -> tuple[Diagnostic, ...]:
        """Mark notes as written, so that the next search finds them. Return a diagnostic if it may not."""
        ...

    def watch_lease(self) -> AbstractContextManager[None]:
        """Return the lease of the one watcher. Raises IndexBusy."""
        ...

    def follow(self, job: IndexJob, clock: Callable[[], float]) -> WatchRun:
        """Index changes for a watcher.

        Args:
            job: the paths to look at.
            clock: monotonic seconds; infinite when it is time to stop.

        Raises:
            IndexUnavailable: the index cannot be opened or written.
            WorkspaceNotFound: the workspace does not exist at the moment.
        """
        ...

    def content_version(self) -> str:
        """Return a name of the indexed content, the same in every process; after each change, another one.

        Raises:
            IndexUnavailable: the index cannot be opened or read.
        """
        ...

    def changes(self, stop: Event) -> Generator[str]:
        """Yield `content_version` now, and again soon after a change by any process. No failure ends it."""
        ...

    def estimate(self, *, measured: bool = False) -> Estimate:
        """Return what `sync` would do and cost; `measured` adds the time. The index is not created or changed."""
        ...

    def compact(self, *, unused: bool = False, damaged: bool = False) -> CompactReport:
        """Make derived data as small as possible.

        Raises:
            IndexBusy: another process is indexing.
        """
        ...

    def plan_forget(self, request: ForgetRequest) -> ForgetPlan:
        """Return what forgetting would remove; only finish interrupted writes. Raises UsageError, PathRefused."""
        ...

    def forget(self, plan: ForgetPlan) -> Forgotten:
        """Remove a plan's text from notes, transcripts and derived data. Raises WriteConflict, WriteError."""
        ...

    def egress_notice(self) -> str | None:
        """Return where notes are about to be sent for the first time; None if nowhere, or if reported before."""
        ...

    def status(self, *, deep: bool = False) -> Status:
        """Return the state of the memory, and create or change nothing.

        With `deep`, index what changed, load the model and search for known passages.
        """
        ...

    def read(self, path: str, *, start: int | None = None, lines: int | None = None) -> Excerpt:
        """Return lines of a file of the memory; see `Memory.read`. Nothing is started. Raises PathRefused."""
        ...

    def start(self) -> str:
        """Start what answers searches, so that it goes on in the background; return its name and version.

        Raises:
            MemoriterError: it cannot be started; the builtin engine answers instead.
        """
        ...

    def stop(self) -> None:
        """End all waiting for services, because the program is about to end."""
        ...

    def close(self) -> None:
        """Close files and models."""
        ...


class BackendSetup(Protocol):
    """A backend beside the builtin one, for the settings of an agent.

    An entry point of the group `memoriter.backends` has the name for `memory.backend`. What it loads is called with the
    configuration, the name of the agent, the environment and the folder of the notes.
    """

    def problems(self) -> tuple[Diagnostic, ...]:
        """Return what is missing for the backend. Nothing is started or written."""
        ...

    def open(
        self, builtin: MemoryBackend, workspace: Workspace, transcripts: Callable[[], Transcripts | None]
    ) -> MemoryBackend:
        """Return the backend. Nothing is started.

        Args:
            builtin: the builtin engine, which stays responsible for the notes and their index.
            workspace: the notes.
            transcripts: returns the transcripts of the agent; None: there are none to search.
        """
        ...
