"""Watching: events and timers in, runs of indexing out, until it is told to stop."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from memoriter.errors import IndexBusy, MemoriterError, WorkspaceNotFound
from memoriter.sync._events import Events
from memoriter.sync._schedule import EVERYTHING, Schedule
from memoriter.sync._sessions import DEBOUNCE_SECONDS
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from threading import Event

    from memoriter.sync._changes import WatchRun
    from memoriter.sync._schedule import IndexJob
    from memoriter.types import SyncReport
    from memoriter.workspace import Workspace

TURN_SECONDS = 0.5
"""Between two tries to take over from another watcher, or to find a workspace that is not there."""
LONGEST_SLEEP = 1.0
IGNORE_FILE = ".memoryignore"
TRANSCRIPT = ".jsonl"

WatchKind = Literal["waiting", "watching", "polling", "indexed", "trouble", "recovered", "missing", "stopped"]


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One thing that a watcher did, or what keeps it from doing so."""

    kind: WatchKind
    at: float
    """Seconds since 1970."""
    report: SyncReport | None = None
    """What was `indexed`."""
    reason: Diagnostic | None = None
    """Why it is `waiting`, `polling`, `missing` its workspace or in `trouble`."""
    folders: int = 0
    """How many are looked at, when it begins."""


class WatchTarget(Protocol):
    """What is kept true to the files."""

    def watch_lease(self) -> AbstractContextManager[None]: ...
    def follow(self, job: IndexJob, clock: Callable[[], float]) -> WatchRun: ...


@dataclass(frozen=True, slots=True)
class WatchRules:
    """When to act, in seconds."""

    debounce: float = 1.5
    interval: float = 0.0
    """Look at all files at least so often; 0: as often as is cheap."""


@dataclass(slots=True)
class Watch:
    """Keeps one workspace indexed while it runs; in one thread, which is all its own."""

    followed: WatchTarget
    workspace: Workspace
    stop: Event
    wall: Callable[[], float]
    monotonic: Callable[[], float]
    rules: WatchRules = field(default_factory=WatchRules)
    remote: Callable[[Path], bool] = lambda _: False
    told: Callable[[WatchEvent], None] = lambda _: None
    _schedule: Schedule | None = None
    _events: Events | None = None
    _troubled: frozenset[str] = frozenset()
    _announced: tuple[bool, str] | None = None

    @property
    def settled(self) -> bool:
        """Whether the index is true to all that was heard of so far, and everything is heard of."""
        schedule, events = self._schedule, self._events
        return schedule is not None and events is not None and schedule.idle and not events.polled

    def run(self) -> None:
        """Watch until `stop` is set; waits while another process watches. No failure ends it."""
        while not self.stop.is_set():
            try:
                with self.followed.watch_lease():
                    self._active()
            except IndexBusy as error:
                self._once("waiting", error)
                self.stop.wait(TURN_SECONDS)
            except (MemoriterError, OSError) as error:
                self._once("trouble", error)
                self.stop.wait(10 * TURN_SECONDS)
        self._tell("stopped")

    def _active(self) -> None:
        self._troubled, self._announced = frozenset(), None
        events = Events(self.stop, monotonic=self.monotonic, remote=lambda folder: self.remote(Path(folder)))
        schedule = Schedule(self.monotonic(), quiet=self.rules.debounce, interval=self.rules.interval)
        self._events, self._schedule = events, schedule
        try:
            while not self.stop.is_set():
                self._turn(events, schedule)
        finally:
            self._events = self._schedule = None
            events.close()

    def _turn(self, events: Events, schedule: Schedule) -> None:
        seconds = min(schedule.due_in(self.monotonic()), LONGEST_SLEEP)
        if seconds > 0 and (heard := events.wait(seconds)):
            now, said = self.monotonic(), {path for path in heard if path.endswith(TRANSCRIPT)}
            schedule.changed(self._meant(heard - said, events), now)
            schedule.changed(self._said(said), now, quiet=DEBOUNCE_SECONDS)
        job = schedule.next(self.monotonic())
        if job is None:
            return
        try:
            result = self.followed.follow(job, self._clock)
        except WorkspaceNotFound as error:
            schedule.failed(self.monotonic())
            self._await_workspace(error, events, schedule)
        except (MemoriterError, OSError) as error:
            schedule.failed(self.monotonic())
            self._once("trouble", error)
        else:
            self._ended(result, events, schedule)

    def _clock(self) -> float:
        """Leaps ahead when it is time to stop, so that every deadline has passed."""
        return inf if self.stop.is_set() else self.monotonic()

    def _ended(self, result: WatchRun, events: Events, schedule: Schedule) -> None:
        missed = result.folders is not None and events.follow(result.folders)
        now = self.monotonic()
        if result.unfinished:
            schedule.unfinished(now)
            # It is due again at once, so nobody would wait for events.
            schedule.changed(self._meant(events.wait(0.0), events), self.monotonic())
        else:
            schedule.done(now, again=result.again, waiting=result.waiting, seconds=result.seconds, polled=events.polled)
        if missed:
            schedule.look(now)
        self._announce(events)
        report = result.report
        if report is not None and (report.added or report.changed or report.removed or report.embedded):
            self._tell("indexed", report=report)
        self._trouble((*(report.reasons if report is not None else ()), *result.troubles))

    def _meant(self, heard: set[str], events: Events) -> Iterator[str]:
        """The paths that matter, of those that something happened to."""
        for path in heard:
            if events.is_folder(path) or os.path.basename(path) == IGNORE_FILE:  # noqa: PTH119 (thousands at once)
                yield EVERYTHING
            elif path.endswith(".md"):
                yield path
            elif os.path.isdir(path) and not os.path.islink(path) and self.workspace.may_hold(path):  # noqa: PTH112, PTH114
                yield EVERYTHING

    def _said(self, heard: set[str]) -> Iterator[str]:
        """The transcripts that count, of those that something happened to."""
        transcripts = self.workspace.transcripts
        for path in heard:
            if transcripts is not None and transcripts.cites(path):
                yield path if os.path.exists(path) else EVERYTHING  # noqa: PTH110 (thousands at once)

    def _await_workspace(self, error: WorkspaceNotFound, events: Events, schedule: Schedule) -> None:
        """Wait for a workspace that went away; what is indexed stays meanwhile."""
        self._tell("missing", reason=_reason(error))
        events.forget()
        while not self.stop.is_set() and not self.workspace.root.is_dir():
            self.stop.wait(TURN_SECONDS)
        self._announced = None
        schedule.look(self.monotonic())

    def _announce(self, events: Events) -> None:
        """Say how changes are noticed, whenever that has become another way."""
        state = events.polled, events.problem.message if events.problem else ""
        if state != self._announced and not (events.polled and events.problem is None):
            self._announced = state
            self._tell("polling" if events.polled else "watching", reason=events.problem, folders=events.folders)

    def _trouble(self, reasons: tuple[Diagnostic, ...]) -> None:
        """Say each kind of trouble once, and when there is none any more."""
        troubles = {reason.code: reason for reason in reversed(reasons) if reason.code != "files_pending"}
        for code in troubles.keys() - self._troubled:
            self._tell("trouble", reason=troubles[code])
        if self._troubled and not troubles:
            self._tell("recovered")
        self._troubled = frozenset(troubles)

    def _once(self, kind: WatchKind, error: MemoriterError | OSError) -> None:
        reason = _reason(error)
        if reason.code not in self._troubled:
            self._troubled |= {reason.code}
            self._tell(kind, reason=reason)

    def _tell(
        self, kind: WatchKind, *, report: SyncReport | None = None, reason: Diagnostic | None = None, folders: int = 0
    ) -> None:
        self.told(WatchEvent(kind, self.wall(), report, reason, folders))


def _reason(error: MemoriterError | OSError) -> Diagnostic:
    if isinstance(error, MemoriterError):
        return Diagnostic(error.code, error.message, error.remedy)
    return Diagnostic("system", str(error), "Look at the path, its permissions and the free space.")
