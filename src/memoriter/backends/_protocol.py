"""What any memory behind the surfaces can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.sync import Progress
    from memoriter.types import CompactReport, Estimate, Query, SearchResult, Status, SyncReport


class MemoryBackend(Protocol):
    """Finds passages in one workspace."""

    def search(self, query: Query, *, progress: Callable[[Progress], None] | None = None) -> SearchResult:
        """Answer a question; indexes first where nothing was indexed yet. Raises InvalidQuery."""
        ...

    def sync(self, *, force: bool = False, progress: Callable[[Progress], None] | None = None) -> SyncReport:
        """Make the index say what the files say. Raises IndexBusy."""
        ...

    def warm(self) -> None:
        """Begin to load the model, in a thread of its own; words alone answer until it is there."""
        ...

    def notes_changed(self) -> None:
        """Hear that a note was written, so that the next search looks at the files."""
        ...

    def estimate(self) -> Estimate:
        """What `sync` would do."""
        ...

    def compact(self, *, unused: bool = False, damaged: bool = False) -> CompactReport:
        """Make what is kept beside the notes as small as it can be. Raises IndexBusy."""
        ...

    def leaving(self) -> str | None:
        """Where notes are about to be sent for the first time; None if nowhere, or if it was told before."""
        ...

    def status(self, *, deep: bool = False) -> Status:
        """What there is, and whether it works."""
        ...

    def close(self) -> None:
        """Let go of files and models."""
        ...
