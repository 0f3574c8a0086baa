"""What any memory behind the surfaces can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from memoriter.backends._forget import ForgetPlan, ForgetRequest, Forgotten
    from memoriter.sync import IndexJob, Progress, WatchRun
    from memoriter.types import CompactReport, Diagnostic, Estimate, Query, SearchResult, Status, SyncReport


class MemoryBackend(Protocol):
    """Finds passages in one workspace."""

    def search(self, query: Query, *, progress: Callable[[Progress], None] | None = None) -> SearchResult:
        """Answer a question; indexes first where nothing was indexed yet. Raises InvalidQuery."""
        ...

    def sync(
        self, *, force: bool = False, vectors: bool = False, progress: Callable[[Progress], None] | None = None
    ) -> SyncReport:
        """Make the index say what the files say. Raises IndexBusy."""
        ...

    def warm(self) -> None:
        """Begin to load the model, in a thread of its own; words alone answer until it is there."""
        ...

    def refresh(self, *, progress: Callable[[Progress], None] | None = None) -> tuple[Diagnostic, ...]:
        """Take up what changed, as far as a search would; what is left undone."""
        ...

    def notes_changed(self, *paths: Path) -> tuple[Diagnostic, ...]:
        """Hear that notes were written, so that the next search finds them; why it may not, if so."""
        ...

    def watch_lease(self) -> AbstractContextManager[None]:
        """The right to watch. Raises IndexBusy."""
        ...

    def follow(self, job: IndexJob, clock: Callable[[], float]) -> WatchRun:
        """Take up changes for a watcher, whose clock is infinite when it is time to stop.

        Raises IndexUnavailable, and WorkspaceNotFound while there is none.
        """
        ...

    def estimate(self) -> Estimate:
        """What `sync` would do."""
        ...

    def compact(self, *, unused: bool = False, damaged: bool = False) -> CompactReport:
        """Make what is kept beside the notes as small as it can be. Raises IndexBusy."""
        ...

    def plan_forget(self, request: ForgetRequest) -> ForgetPlan:
        """What would go; nothing changes. Raises UsageError and PathRefused."""
        ...

    def forget(self, plan: ForgetPlan) -> Forgotten:
        """Let it go from notes, transcripts and all that was made from them. Raises WriteConflict, WriteError."""
        ...

    def egress_notice(self) -> str | None:
        """Where notes are about to be sent for the first time; None if nowhere, or if it was told before."""
        ...

    def status(self, *, deep: bool = False) -> Status:
        """What there is, and whether it works."""
        ...

    def stop(self) -> None:
        """Let nobody wait for a service any more, since the program is about to end."""
        ...

    def close(self) -> None:
        """Let go of files and models."""
        ...
