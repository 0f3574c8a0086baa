"""When files that changed are indexed: pure, told the time by whoever asks (monotonic seconds)."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

EVERYTHING = ""
"""Stands for all files among changed paths."""
LOOK_SECONDS = 60.0
"""Between two looks at all files while events tell what changes, so that a missed one never matters."""
LOOK_SHARE = 0.01
"""Of the time, that those looks may take."""
POLL_SECONDS = 2.0
POLL_SHARE = 0.05
"""The same where there are no events."""
LONGEST_WAIT = 5.0
"""A storm of events puts a run off no longer than this, or than three times the quiet that is waited for."""
FIRST_RETRY, LAST_RETRY = 1.0, 60.0
"""Seconds until a run that failed is tried again, doubling."""


@dataclass(frozen=True, slots=True)
class IndexJob:
    """What one run is to look at."""

    paths: frozenset[str] = frozenset()
    """Files that changed, or may have; none of them and not `whole`: only what waits for a vector."""
    settled: frozenset[str] = frozenset()
    """Those of them that were left alone long enough for a missing one to be gone."""
    whole: bool = False
    """All files."""


@dataclass(slots=True)
class _Group:
    """Changed paths that wait for the same quiet."""

    first: float
    last: float
    paths: dict[str, float] = field(default_factory=dict[str, float])
    """With the time of the last change."""


class Schedule:
    """Turns events into runs.

    Every event is followed by a run that begins after it, there is never a second run before the first has ended, and
    neither a storm of events nor failures put a run off for ever.
    """

    def __init__(self, now: float, *, quiet: float = 1.5, interval: float = 0.0) -> None:
        """Begin with a look at all files, at once.

        Args:
            now: the time.
            quiet: seconds without an event before what changed is indexed.
            interval: look at all files at least once in so many seconds; 0: as often as is cheap.
        """
        self._quiet = quiet
        self._interval = interval or inf
        self._groups: dict[float, _Group] = {}
        self._running: tuple[IndexJob, dict[str, tuple[float, float]]] | None = None
        self._look_at = now
        self._retry_at = inf
        self._not_before = now
        self._failures = 0
        self._begun = False

    @property
    def idle(self) -> bool:
        """Whether all files were looked at once, and no change waits since."""
        return self._begun and self._running is None and not self._groups and not self._failures

    def changed(self, paths: Iterable[str], now: float, *, quiet: float | None = None) -> None:
        """Hear of events; `EVERYTHING` among the paths means that any file may have changed."""
        wanted = self._quiet if quiet is None else quiet
        for path in paths:
            self._put(path, now, wanted)

    def _put(self, path: str, when: float, quiet: float) -> None:
        group = self._groups.setdefault(quiet, _Group(when, when))
        group.first, group.last = min(group.first, when), max(group.last, when)
        group.paths[path] = max(when, group.paths.get(path, when))

    def look(self, now: float) -> None:
        """Look at all files as soon as may be."""
        self._look_at = min(self._look_at, now)

    def due_in(self, now: float) -> float:
        """Seconds until something is to be run; infinite while something runs."""
        if self._running is not None:
            return inf
        times = [self._look_at, self._retry_at, *(_due(group, quiet) for quiet, group in self._groups.items())]
        return max(min(times), self._not_before, now) - now

    def next(self, now: float) -> IndexJob | None:
        """What is to be run now, which then counts as running until `done` or `failed`."""
        if self.due_in(now) > 0:
            return None
        taken = {quiet: group for quiet, group in self._groups.items() if _due(group, quiet) <= now}
        whole = self._look_at <= now or any(EVERYTHING in group.paths for group in taken.values())
        heard = {path: (when, quiet) for quiet, group in taken.items() for path, when in group.paths.items()}
        for quiet in taken:
            del self._groups[quiet]
        paths = frozenset(heard) - {EVERYTHING}
        settled = frozenset(path for path in paths if heard[path][0] + heard[path][1] <= now)
        job = IndexJob(paths, settled, whole)
        self._running = job, heard
        self._retry_at = inf
        if whole:
            self._look_at = inf
        return job

    def done(
        self,
        now: float,
        *,
        again: Iterable[str] = (),
        waiting: bool = False,
        seconds: float = 0.0,
        polled: bool = False,
    ) -> None:
        """Hear that the run has ended.

        Args:
            now: the time.
            again: paths that must be looked at once more, after some quiet.
            waiting: whether something is left that may succeed later, such as vectors.
            seconds: how long the look at the files took.
            polled: whether looks are all there is, for want of events.
        """
        job, _ = self._ended()
        self._failures = self._failures + 1 if waiting else 0
        self._retry_at = now + self._pause() if waiting else inf
        if job.whole:
            self._begun = True
            shortest, share = (POLL_SECONDS, POLL_SHARE) if polled else (LOOK_SECONDS, LOOK_SHARE)
            self._look_at = min(self._look_at, now + min(max(shortest, seconds / share), self._interval))
        self.changed(again, now)

    def unfinished(self, now: float) -> None:
        """Hear that the run has ended before all was done: it goes on at once."""
        self._return(now)

    def failed(self, now: float) -> None:
        """Hear that the run could not be made: it is tried again, later each time."""
        self._return(now)
        self._failures += 1
        self._not_before = now + self._pause()

    def _return(self, now: float) -> None:
        job, heard = self._ended()
        for path, (when, quiet) in heard.items():
            self._put(path, when, quiet)
        if job.whole:
            self._look_at = min(self._look_at, now)
        if not job.paths and not job.whole:
            self._retry_at = now

    def _ended(self) -> tuple[IndexJob, dict[str, tuple[float, float]]]:
        assert self._running is not None, "nothing runs"
        ended, self._running = self._running, None
        return ended

    def _pause(self) -> float:
        return min(FIRST_RETRY * 2 ** min(self._failures - 1, 10), LAST_RETRY)


def _due(group: _Group, quiet: float) -> float:
    """When the changed paths of a group are indexed."""
    return min(group.last + quiet, group.first + max(LONGEST_WAIT, 3 * quiet))
