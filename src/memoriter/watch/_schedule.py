"""When changed files are indexed. Pure: the caller passes the time in monotonic seconds."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from memoriter.sync import IndexJob
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterable

EVERYTHING = ""
"""Stands for all files in a list of changed paths."""
LOOK_SECONDS = 60.0
"""The time between two scans of all files while events report changes. The scans find what events missed."""
LOOK_SHARE = 0.01
"""The largest share of the time that those scans may take."""
POLL_SECONDS = 2.0
POLL_SHARE = 0.05
"""The same while there are no events."""
LONGEST_WAIT = 5.0
"""Continuous events delay a run by no more than this, or by three debounce intervals if that is longer."""
FIRST_RETRY, LAST_RETRY = 1.0, 60.0
"""Seconds until a failed run is retried; doubled after each failure, up to the second value."""


@dataclass(slots=True)
class _Group:
    """Changed paths with the same debounce interval."""

    first: float
    last: float
    paths: dict[str, float] = field(default_factory=dict[str, float])
    """The time of the last change of each path."""


class Schedule:
    """Turns events into runs.

    After every event a run begins, only one run is active at a time, and neither continuous events nor failures delay a
    run for ever.
    """

    def __init__(self, now: float, *, quiet: float = 1.5, interval: float = 0.0) -> None:
        """Schedule a scan of all files at once.

        Args:
            now: the time.
            quiet: the debounce interval: seconds without an event before a change is indexed.
            interval: scan all files at least every so many seconds; 0 scans as often as is cheap.
        """
        self._quiet = quiet
        self._interval = interval or inf
        self._groups: dict[float, _Group] = {}
        self._running: tuple[IndexJob, dict[str, tuple[float, float]]] | None = None
        self._scan_at = now
        self._retry_at = inf
        self._not_before = now
        self._failures = 0
        self._scanned_once = False

    @property
    def idle(self) -> bool:
        """Whether all files were scanned once, and no change has been waiting since."""
        return self._scanned_once and self._running is None and not self._groups and not self._failures

    def changed(self, paths: Iterable[str], now: float, *, quiet: float | None = None) -> None:
        """Add changed paths.

        Args:
            paths: the paths; `EVERYTHING` among them means that any file may have changed.
            now: the time.
            quiet: their debounce interval; None uses the default.
        """
        interval = self._quiet if quiet is None else quiet
        for path in paths:
            self._put(path, now, interval)

    def _put(self, path: str, when: float, quiet: float) -> None:
        group = self._groups.setdefault(quiet, _Group(when, when))
        group.first, group.last = min(group.first, when), max(group.last, when)
        group.paths[path] = max(when, group.paths.get(path, when))

    def scan_soon(self, now: float) -> None:
        """Scan all files as soon as possible."""
        self._scan_at = min(self._scan_at, now)

    def due_in(self, now: float) -> float:
        """Return the seconds until the next run; infinite while a run is active."""
        if self._running is not None:
            return inf
        times = [self._scan_at, self._retry_at, *(_due(group, quiet) for quiet, group in self._groups.items())]
        return max(min(times), self._not_before, now) - now

    def next(self, now: float) -> IndexJob | None:
        """Return the job to run now, or None. The job is active until `done`, `unfinished` or `failed` is called."""
        if self.due_in(now) > 0:
            return None
        groups = {quiet: group for quiet, group in self._groups.items() if _due(group, quiet) <= now}
        whole = self._scan_at <= now or any(EVERYTHING in group.paths for group in groups.values())
        changes = {path: (when, quiet) for quiet, group in groups.items() for path, when in group.paths.items()}
        for quiet in groups:
            del self._groups[quiet]
        paths = frozenset(changes) - {EVERYTHING}
        settled = frozenset(path for path in paths if changes[path][0] + changes[path][1] <= now)
        job = IndexJob(paths, settled, whole)
        self._running = job, changes
        self._retry_at = inf
        if whole:
            self._scan_at = inf
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
        """Record that the run has ended.

        Args:
            now: the time.
            again: paths to check once more after the debounce interval.
            waiting: whether work is left that may succeed later, such as vectors.
            seconds: the duration of the scan.
            polled: whether only scans find changes, because there are no events.
        """
        job, _ = self._end_run()
        self._failures = self._failures + 1 if waiting else 0
        self._retry_at = now + self._retry_delay() if waiting else inf
        if job.whole:
            self._scanned_once = True
            shortest, share = (POLL_SECONDS, POLL_SHARE) if polled else (LOOK_SECONDS, LOOK_SHARE)
            self._scan_at = min(self._scan_at, now + min(max(shortest, seconds / share), self._interval))
        self.changed(again, now)

    def unfinished(self, now: float) -> None:
        """Record that the run stopped before everything was done. It continues at once."""
        self._reschedule(now)

    def failed(self, now: float) -> None:
        """Record that the run failed. It is retried, later after each failure."""
        self._reschedule(now)
        self._failures += 1
        self._not_before = now + self._retry_delay()

    def _reschedule(self, now: float) -> None:
        job, changes = self._end_run()
        for path, (when, quiet) in changes.items():
            self._put(path, when, quiet)
        if job.whole:
            self._scan_at = min(self._scan_at, now)
        if not job.paths and not job.whole:
            self._retry_at = now

    def _end_run(self) -> tuple[IndexJob, dict[str, tuple[float, float]]]:
        assert self._running is not None, "nothing runs"
        ended, self._running = self._running, None
        return ended

    def _retry_delay(self) -> float:
        return min(FIRST_RETRY * 2 ** min(self._failures - 1, 10), LAST_RETRY)


def _due(group: _Group, quiet: float) -> float:
    """Return when the changed paths of a group are to be indexed."""
    return min(group.last + quiet, group.first + max(LONGEST_WAIT, 3 * quiet))
