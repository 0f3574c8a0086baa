"""Watching: events and timers start indexing runs until the watcher is stopped, if requested in a thread."""

from __future__ import annotations

import os
import threading
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from memoriter.errors import IndexBusy, MemoriterError, WorkspaceNotFound
from memoriter.layout import is_note
from memoriter.sync import DEBOUNCE_SECONDS
from memoriter.types import Diagnostic
from memoriter.values import dataclass, field
from memoriter.watch._schedule import EVERYTHING, Events, Schedule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import Event
    from types import TracebackType

    from memoriter.backends import MemoryBackend, WatchRun
    from memoriter.types import SyncReport
    from memoriter.workspace import Workspace

TURN_SECONDS = 0.5
"""The time between two attempts to take over from another watcher, or to find a missing workspace."""
LONGEST_SLEEP = 1.0
CLOSING_SECONDS = 2.0
"""How long `close` waits for the thread. After that the thread continues alone and ends with the process."""
IGNORE_FILE = ".memoryignore"
TRANSCRIPT = ".jsonl"

WatchKind = Literal["waiting", "watching", "polling", "indexed", "trouble", "recovered", "missing", "stopped"]


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """An action of a watcher, or what prevents one."""

    kind: WatchKind
    at: float
    """Seconds since 1970."""
    report: SyncReport | None = None
    """The report of an `indexed` event."""
    reason: Diagnostic | None = None
    """Why the watcher is `waiting` or `polling`, its workspace is `missing`, or there is `trouble`."""
    folders: int = 0
    """The number of watched folders, when watching begins."""


@dataclass(frozen=True, slots=True)
class WatchRules:
    """The timing of a watcher, in seconds."""

    debounce: float = 1.5
    interval: float = 0.0
    """Scan all files at least this often; 0 scans as often as is cheap."""


@dataclass(slots=True)
class Watch:
    """Keeps one workspace indexed while it runs, in a thread of its own."""

    followed: MemoryBackend
    workspace: Workspace
    stop: Event
    wall: Callable[[], float]
    monotonic: Callable[[], float]
    rules: WatchRules = field(default_factory=WatchRules)
    remote: Callable[[Path], bool] = lambda _: False
    on_event: Callable[[WatchEvent], None] = lambda _: None
    busy: bool = False
    """Whether it indexes now; once it is False again, `indexed` was emitted if something changed."""
    _schedule: Schedule | None = None
    _events: Events | None = None
    _reported: frozenset[str] = frozenset()
    _emitted_mode: tuple[bool, str] | None = None

    @property
    def settled(self) -> bool:
        """Whether the index includes every reported change, and every change is reported."""
        schedule = self._schedule
        events = self._events
        return schedule is not None and events is not None and schedule.idle and not events.polled

    def run(self) -> None:
        """Watch until `stop` is set. Wait while another process watches. No failure ends the loop."""
        while not self.stop.is_set():
            try:
                with self.followed.watch_lease():
                    self._watch()
            except IndexBusy as error:
                self._emit_once("waiting", error)
                self.stop.wait(TURN_SECONDS)
            except (MemoriterError, OSError) as error:
                self._emit_once("trouble", error)
                self.stop.wait(10 * TURN_SECONDS)
        self._emit("stopped")

    def _watch(self) -> None:
        self._reported = frozenset()
        self._emitted_mode = None
        events = Events(self.stop, monotonic=self.monotonic, remote=lambda folder: self.remote(Path(folder)))
        schedule = Schedule(self.monotonic(), debounce=self.rules.debounce, interval=self.rules.interval)
        self._events = events
        self._schedule = schedule
        try:
            while not self.stop.is_set():
                self._step(events, schedule)
        finally:
            self._events = self._schedule = None
            events.close()

    def _step(self, events: Events, schedule: Schedule) -> None:
        seconds = min(schedule.due_in(self.monotonic()), LONGEST_SLEEP)
        if seconds > 0 and (paths := events.wait(seconds)):
            now = self.monotonic()
            transcripts = {path for path in paths if path.endswith(TRANSCRIPT)}
            schedule.changed(self._note_paths(paths - transcripts, events), now)
            schedule.changed(self._transcript_paths(transcripts), now, debounce=DEBOUNCE_SECONDS)
        job = schedule.next(self.monotonic())
        if job is None:
            return
        self.busy = True
        try:
            result = self.followed.follow(job, self._clock)
        except WorkspaceNotFound as error:
            self.busy = False
            schedule.failed(self.monotonic())
            self._await_workspace(error, events, schedule)
        except (MemoriterError, OSError) as error:
            schedule.failed(self.monotonic())
            self._emit_once("trouble", error)
        else:
            self._finish_run(result, events, schedule)
        finally:
            self.busy = False

    def _clock(self) -> float:
        """Return the monotonic time, or infinity once `stop` is set, so that every deadline has passed."""
        return inf if self.stop.is_set() else self.monotonic()

    def _finish_run(self, result: WatchRun, events: Events, schedule: Schedule) -> None:
        missed = result.folders is not None and events.follow(result.folders)
        now = self.monotonic()
        if result.unfinished:
            schedule.unfinished(now)
            # The next run is due at once, so events would not be read otherwise.
            schedule.changed(self._note_paths(events.wait(0.0), events), self.monotonic())
        else:
            schedule.done(
                now, again=result.recheck, waiting=result.waiting, seconds=result.seconds, polled=events.polled
            )
        if missed:
            schedule.scan_soon(now)
        self._emit_mode(events)
        report = result.report
        if report is not None and (report.added or report.changed or report.removed or report.embedded):
            self._emit("indexed", report=report)
        self._emit_problems((*(report.reasons if report is not None else ()), *result.problems))

    def _note_paths(self, paths: set[str], events: Events) -> Iterator[str]:
        """Yield the paths of changed notes; `EVERYTHING` for a folder or an ignore file."""
        for path in paths:
            if events.is_folder(path) or os.path.basename(path) == IGNORE_FILE:  # noqa: PTH119 (thousands at once)
                yield EVERYTHING
            elif is_note(path, self.workspace.suffixes):
                yield path
            elif os.path.isdir(path) and not os.path.islink(path) and self.workspace.may_hold(path):  # noqa: PTH112, PTH114
                yield EVERYTHING

    def _transcript_paths(self, paths: set[str]) -> Iterator[str]:
        """Yield the paths of changed transcripts; `EVERYTHING` for a deleted one."""
        transcripts = self.workspace.transcripts
        for path in paths:
            if transcripts is not None and transcripts.cites(path):
                yield path if os.path.exists(path) else EVERYTHING  # noqa: PTH110 (thousands at once)

    def _await_workspace(self, error: WorkspaceNotFound, events: Events, schedule: Schedule) -> None:
        """Wait for a workspace that is missing. Its index is kept meanwhile."""
        self._emit("missing", reason=Diagnostic.of(error))
        events.forget()
        while not self.stop.is_set() and not self.workspace.root.is_dir():
            self.stop.wait(TURN_SECONDS)
        self._emitted_mode = None
        schedule.scan_soon(self.monotonic())

    def _emit_mode(self, events: Events) -> None:
        """Emit an event when the way to detect changes is different from before."""
        state = events.polled, events.problem.message if events.problem else ""
        if state != self._emitted_mode and not (events.polled and events.problem is None):
            self._emitted_mode = state
            self._emit("polling" if events.polled else "watching", reason=events.problem, folders=events.folders)

    def _emit_problems(self, reasons: tuple[Diagnostic, ...]) -> None:
        """Emit each kind of problem once, and an event when there are none any more."""
        problems = {reason.code: reason for reason in reversed(reasons) if reason.code != "files_pending"}
        for code in problems.keys() - self._reported:
            self._emit("trouble", reason=problems[code])
        if self._reported and not problems:
            self._emit("recovered")
        self._reported = frozenset(problems)

    def _emit_once(self, kind: WatchKind, error: MemoriterError | OSError) -> None:
        reason = Diagnostic.of(error)
        if reason.code not in self._reported:
            self._reported |= {reason.code}
            self._emit(kind, reason=reason)

    def _emit(
        self, kind: WatchKind, *, report: SyncReport | None = None, reason: Diagnostic | None = None, folders: int = 0
    ) -> None:
        self.on_event(WatchEvent(kind, self.wall(), report, reason, folders))


class Watching:
    """A thread that keeps the index up to date with the files until it is closed; a context manager."""

    def __init__(
        self,
        opened: Callable[[threading.Event, Callable[[WatchEvent], None]], tuple[Watch, MemoryBackend]],
        on_event: Callable[[WatchEvent], None],
    ) -> None:
        """Start the thread."""
        self._stop = threading.Event()
        self._watch, self._backend = opened(self._stop, on_event)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="memoriter-watch", daemon=True)
        self._thread.start()

    @property
    def settled(self) -> bool:
        """Whether the index includes every reported change, so that a search need not scan the files."""
        return self._thread.is_alive() and self._watch.settled

    @property
    def busy(self) -> bool:
        """Whether it indexes now; once it is False again, `indexed` was emitted if something changed."""
        return self._watch.busy

    def ended(self, *, wait: float = 0.0) -> bool:
        """Wait up to `wait` seconds and return whether the thread has ended. Raises the error that ended it."""
        self._thread.join(wait)
        if self._error is not None:
            raise self._error
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Request the end of watching and return at once."""
        self._stop.set()
        self._backend.stop()

    def close(self) -> None:
        """Stop watching. Return after the current file or batch, and after `CLOSING_SECONDS` at the latest."""
        self.stop()
        self._thread.join(CLOSING_SECONDS)

    def _run(self) -> None:
        try:
            self._watch.run()
        except BaseException as error:  # for example, an error of the event callback
            self._error = error
            raise
        finally:
            self._backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
