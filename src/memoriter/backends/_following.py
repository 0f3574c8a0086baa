"""What a search takes up of changes to notes before it answers, and what a watcher does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from memoriter.search import Deadline
from memoriter.sync import Job, Round, look_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.backends._embedding import Embedding
    from memoriter.sync import Look, Seen, Sync
    from memoriter.types import SyncReport

TURN_SECONDS = 1.0
"""How long another process' turn at indexing is waited for when there is something of ours to index."""
SLICE_SECONDS, SLICE_LOOKS = 30.0, 10.0
"""A watcher's run ends, and goes on, after so many seconds, or so many times what its look at the files took: then new
changes go first."""
NEVER = (0.0, 0.0)


class Runs(Protocol):
    """Carries a look out."""

    def __call__(self, *, deadline: Deadline, look: Look, read_by: Deadline | None) -> SyncReport: ...


def look_before_search(sync: Sync, own: frozenset[str], *, whole: bool) -> Look:
    """Look at all files, or only at those that were written through us, which are read first in any case."""
    if not whole and not sync.outdated:
        return look_for(Job(own, own), sync.workspace, sync.index, young=NEVER).look
    found = (sync.workspace.find(path) for path in own)
    return replace(sync.look(), first=frozenset(each[0] for each in found if each))


@dataclass(frozen=True, slots=True)
class Following:
    """One run for a watcher."""

    sync: Sync
    embedding: Embedding
    run: Runs
    wall: Callable[[], float]
    """Seconds since 1970."""
    quiet: float
    """Seconds that a file must have been left alone for, to be believed at first sight."""

    def follow(self, job: Job, clock: Callable[[], float]) -> Round:
        """Look, and index what may be believed; infinity on the monotonic clock ends it. Raises IndexBusy."""
        started, index = self.sync.monotonic(), self.sync.index
        seen, report = self._seen(job), None
        seconds = self.sync.monotonic() - started
        deadline = Deadline(clock, clock() + max(SLICE_SECONDS, SLICE_LOOKS * seconds))
        outdated = self.sync.outdated
        if seen.look.needed or outdated or self.embedding.unknown or index.pending():
            with index.lease(wait=TURN_SECONDS):
                if index.version() != seen.look.version:
                    seen = self._seen(job)
                report = self.run(deadline=deadline, look=seen.look, read_by=None if outdated else deadline)
        unfinished = report is not None and bool(report.unread or (deadline.passed and report.embedded))
        waiting = bool(report is not None and report.pending and self.embedding.spec is not None)
        return Round(report, seen.again, seen.folders, unfinished, waiting, seconds)

    def _seen(self, job: Job) -> Seen:
        now = self.wall()
        return look_for(job, self.sync.workspace, self.sync.index, young=(now - self.quiet, now))
