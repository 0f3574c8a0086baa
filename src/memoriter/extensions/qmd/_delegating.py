"""A backend that leaves everything to another one. Subclasses answer some calls themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path
    from threading import Event

    from memoriter.backends import ForgetPlan, ForgetRequest, Forgotten, MemoryBackend, WatchRun
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


class DelegatingBackend(ABC):
    """A `MemoryBackend` whose every method is that of `builtin`."""

    @property
    @abstractmethod
    def builtin(self) -> MemoryBackend:
        """The backend that does the work."""

    def search(self, query: Query, *, progress: Callable[[Progress], None] | None = None) -> SearchResult:
        """Return the hits of a query. Raises InvalidQuery."""
        return self.builtin.search(query, progress=progress)

    def why_not(self, query: Query, citation: str) -> WhyNot:
        """Return why a passage is not among the hits of the builtin engine. Raises InvalidQuery."""
        return self.builtin.why_not(query, citation)

    def draw_map(self, *, similarity: float) -> PassageMap:
        """Return the passages of the builtin engine in two dimensions."""
        return self.builtin.draw_map(similarity=similarity)

    def varied(self, changes: Mapping[str, Any]) -> AbstractContextManager[MemoryBackend]:
        """Return a context manager whose value is the builtin engine with other settings."""
        return self.builtin.varied(changes)

    def sync(
        self, *, force: bool = False, vectors: bool = False, progress: Callable[[Progress], None] | None = None
    ) -> SyncReport:
        """Update the index to the current files. Raises IndexBusy."""
        return self.builtin.sync(force=force, vectors=vectors, progress=progress)

    def finish(self, stop: Event) -> SyncReport:
        """Index everything in turns with other processes. Raises IndexBusy."""
        return self.builtin.finish(stop)

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """Why the provider of vectors cannot be used."""
        return self.builtin.problems

    @property
    def background_run(self) -> BackgroundRun | None:
        """The last run of `finish` by any process."""
        return self.builtin.background_run

    def warm(self) -> None:
        """Start loading the model."""
        self.builtin.warm()

    def refresh(self, *, progress: Callable[[Progress], None] | None = None) -> tuple[Diagnostic, ...]:
        """Index changes within a search's time budget."""
        return self.builtin.refresh(progress=progress)

    def notes_changed(self, *paths: Path) -> tuple[Diagnostic, ...]:
        """Mark notes as written."""
        return self.builtin.notes_changed(*paths)

    def watch_lease(self) -> AbstractContextManager[None]:
        """Return the lease of the one watcher. Raises IndexBusy."""
        return self.builtin.watch_lease()

    def follow(self, job: IndexJob, clock: Callable[[], float]) -> WatchRun:
        """Index changes for a watcher. Raises IndexUnavailable and WorkspaceNotFound."""
        return self.builtin.follow(job, clock)

    def content_version(self) -> str:
        """Return a name of the indexed content."""
        return self.builtin.content_version()

    def changes(self, stop: Event) -> Generator[str]:
        """Yield `content_version` now and after each change."""
        return self.builtin.changes(stop)

    def estimate(self, *, measured: bool = False) -> Estimate:
        """Return what `sync` would do and cost."""
        return self.builtin.estimate(measured=measured)

    def compact(self, *, unused: bool = False, damaged: bool = False) -> CompactReport:
        """Make derived data as small as possible. Raises IndexBusy."""
        return self.builtin.compact(unused=unused, damaged=damaged)

    def plan_forget(self, request: ForgetRequest) -> ForgetPlan:
        """Return what forgetting would remove. Raises UsageError and PathRefused."""
        return self.builtin.plan_forget(request)

    def forget(self, plan: ForgetPlan) -> Forgotten:
        """Remove a plan's text. Raises WriteConflict, WriteError."""
        return self.builtin.forget(plan)

    def egress_notice(self) -> str | None:
        """Return where notes are about to be sent for the first time."""
        return self.builtin.egress_notice()

    def status(self, *, deep: bool = False) -> Status:
        """Return the state of the memory."""
        return self.builtin.status(deep=deep)

    def read(self, path: str, *, start: int | None = None, lines: int | None = None) -> Excerpt:
        """Return lines of a note. Raises PathRefused."""
        return self.builtin.read(path, start=start, lines=lines)

    def start(self) -> str:
        """Start what answers searches."""
        return self.builtin.start()

    def stop(self) -> None:
        """End all waiting for services."""
        self.builtin.stop()

    def close(self) -> None:
        """Close files and models."""
        self.builtin.close()
