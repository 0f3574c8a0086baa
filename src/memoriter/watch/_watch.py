"""Watching: file-system events and timers start indexing runs until the watcher is stopped, in a thread if requested.

`Schedule` decides when changed files are indexed, and is pure: the caller passes the time in monotonic seconds.
`Events` has one watch of watchfiles for each folder that may hold notes. `Watch` runs what is due.
"""

from __future__ import annotations

import os
import sys
import threading
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from memoriter.errors import IndexBusy, MemoriterError, WorkspaceNotFound, sentence
from memoriter.extras import install_command
from memoriter.layout import is_note
from memoriter.sync import DEBOUNCE_SECONDS, IndexJob
from memoriter.types import Diagnostic
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
    from threading import Event
    from types import TracebackType
    from typing import Any

    from memoriter.backends import MemoryBackend, WatchRun
    from memoriter.types import SyncReport
    from memoriter.workspace import Workspace

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
FIRST_RETRY = 1.0
LAST_RETRY = 60.0
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

    def __init__(self, now: float, *, debounce: float = 1.5, interval: float = 0.0) -> None:
        """Schedule a scan of all files at once."""
        self._debounce = debounce
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

    def changed(self, paths: Iterable[str], now: float, *, debounce: float | None = None) -> None:
        """Add changed paths, which are indexed after `debounce` seconds without an event; None uses the default.

        `EVERYTHING` among them means that any file may have changed.
        """
        interval = self._debounce if debounce is None else debounce
        for path in paths:
            self._put(path, now, interval)

    def _put(self, path: str, when: float, debounce: float) -> None:
        group = self._groups.setdefault(debounce, _Group(when, when))
        group.first = min(group.first, when)
        group.last = max(group.last, when)
        group.paths[path] = max(when, group.paths.get(path, when))

    def scan_soon(self, now: float) -> None:
        """Scan all files as soon as possible."""
        self._scan_at = min(self._scan_at, now)

    def due_in(self, now: float) -> float:
        """Return the seconds until the next run; infinite while a run is active."""
        if self._running is not None:
            return inf
        times = [self._scan_at, self._retry_at, *(_due(group, debounce) for debounce, group in self._groups.items())]
        return max(min(times), self._not_before, now) - now

    def next(self, now: float) -> IndexJob | None:
        """Return the job to run now, or None. The job is active until `done`, `unfinished` or `failed` is called."""
        if self.due_in(now) > 0:
            return None
        groups = {debounce: group for debounce, group in self._groups.items() if _due(group, debounce) <= now}
        whole = self._scan_at <= now or any(EVERYTHING in group.paths for group in groups.values())
        changes = {path: (when, debounce) for debounce, group in groups.items() for path, when in group.paths.items()}
        for debounce in groups:
            del self._groups[debounce]
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
        for path, (when, debounce) in changes.items():
            self._put(path, when, debounce)
        if job.whole:
            self._scan_at = min(self._scan_at, now)
        if not job.paths and not job.whole:
            self._retry_at = now

    def _end_run(self) -> tuple[IndexJob, dict[str, tuple[float, float]]]:
        assert self._running is not None, "nothing runs"
        ended = self._running
        self._running = None
        return ended

    def _retry_delay(self) -> float:
        return min(FIRST_RETRY * 2 ** min(self._failures - 1, 10), LAST_RETRY)


def _due(group: _Group, debounce: float) -> float:
    """Return when the changed paths of a group are to be indexed."""
    return min(group.last + debounce, group.first + max(LONGEST_WAIT, 3 * debounce))


STEP_MS = 50
"""The longest delay until an event, or the end, is noticed."""
WAIT_MS = 200
"""How long one wait for events lasts."""
TRY_AGAIN_SECONDS = 300.0
"""The time until a new try after the operating system refused to watch."""


class Events:
    """The source of file-system events, or of the reason why there are none."""

    def __init__(self, stop: Event, *, monotonic: Callable[[], float], remote: Callable[[str], bool]) -> None:
        """Start without watched folders."""
        self._stop = stop
        self._monotonic = monotonic
        self._remote = remote
        self._folders: dict[str, int] = {}
        self._watch: Generator[set[tuple[Any, str]]] | None = None
        self._refused_at: float | None = None
        self.problem: Diagnostic | None = None
        """Why there are no events."""

    @property
    def polled(self) -> bool:
        """Whether only scans find changes, because there are no events."""
        return self._watch is None

    @property
    def folders(self) -> int:
        """The number of watched folders."""
        return len(self._folders)

    def follow(self, folders: Mapping[str, int]) -> bool:
        """Watch these folders. Return whether events may have been missed, so that all files must be scanned again."""
        now = self._monotonic()
        if self._refused_at is not None and now - self._refused_at < TRY_AGAIN_SECONDS:
            return False
        if self._watch is not None and self._folders == folders:
            return False
        self.close()
        self._folders = dict(folders)
        if any(self._remote(folder) for folder in _outermost(folders)):
            message = "The notes are on a network file system, which does not report changes."
            self._refuse(Diagnostic("polling", message, "Nothing: the notes are checked every few seconds."))
            return False
        try:
            self._open()
        except ImportError:
            self.close()
            message = "The package watchfiles is not installed, so the notes are checked every few seconds."
            self._refuse(Diagnostic("polling", message, f"To index changes at once, run `{install_command('watch')}`."))
            return False
        except (OSError, RuntimeError) as error:  # watchfiles raises RuntimeError for other errors
            self.close()
            if isinstance(error, FileNotFoundError):
                return True
            self._refuse(_refusal(error))
            return False
        self._refused_at = self.problem = None
        return True

    def _open(self) -> None:
        from watchfiles import watch

        # inotify has no recursive watch: one for each folder, and none for node_modules, is as cheap as it gets.
        # FSEvents and ReadDirectoryChangesW watch a tree for the price of one folder.
        each = sys.platform.startswith("linux")
        self._watch = watch(
            *(
                folder
                for folder in (self._folders if each else _outermost(self._folders))
                if os.access(folder, os.R_OK)
            ),
            watch_filter=None,
            debounce=WAIT_MS,
            step=STEP_MS,
            rust_timeout=WAIT_MS,
            yield_on_timeout=True,
            stop_event=self._stop,
            raise_interrupt=False,
            force_polling=False,
            recursive=not each,
            ignore_permission_denied=False,  # it would also ignore that the limit of watches is reached
        )
        next(self._watch, None)

    def wait(self, seconds: float) -> set[str]:
        """Wait about `seconds` for events and return the paths that changed."""
        if self._watch is None:
            self._stop.wait(seconds)
            return set()
        try:
            events = next(self._watch, None)
        except (OSError, RuntimeError) as error:
            self.close()
            self._refuse(_refusal(error))
            return set()
        paths = {path for _, path in events or ()}
        for folder in paths & self._folders.keys():
            # A new folder may have replaced it, even with the same inode, and it would not be watched.
            self._folders[folder] = -1
        return paths

    def is_folder(self, path: str) -> bool:
        """Return whether a path is a folder that is watched, or was."""
        return path in self._folders

    def forget(self) -> None:
        """Stop watching until `follow` is called."""
        self.close()
        self._folders = {}

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def _refuse(self, problem: Diagnostic) -> None:
        self._refused_at = self._monotonic()
        self.problem = problem


def _refusal(error: Exception) -> Diagnostic:
    message = f"The system does not report changes, so the notes are checked every few seconds: {sentence(error)}"
    remedy = (
        "Raise its limits, on Linux with `sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512`."
    )
    return Diagnostic("polling", message, remedy)


def _outermost(folders: Mapping[str, int]) -> list[str]:
    """Return the folders that lie in none of the others."""
    outermost: list[str] = []
    for folder in sorted(folders, key=lambda path: path.replace(os.sep, "\0")):
        if not outermost or not folder.startswith(outermost[-1].rstrip(os.sep) + os.sep):
            outermost.append(folder)
    return outermost


TURN_SECONDS = 0.5
"""The time between two attempts to take over from another watcher, or to find a missing workspace."""
LONGEST_SLEEP = 1.0
CLOSING_SECONDS = 2.0
"""How long `close` waits for the thread. After that the thread continues alone and ends with the process."""
IGNORE_FILE = ".memoryignore"
TRANSCRIPT = ".jsonl"

WatchKind = Literal["waiting", "watching", "polling", "indexed", "trouble", "recovered", "joined", "missing", "stopped"]


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """An action of a watcher, or what prevents one."""

    kind: WatchKind
    at: float
    """Seconds since 1970."""
    report: SyncReport | None = None
    """The report of an `indexed` event."""
    reason: Diagnostic | None = None
    """Why it is `waiting` or `polling`, its workspace is `missing`, there is `trouble`, or what was `joined`."""
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
        for receipt in result.joined:
            self._emit("joined", reason=receipt)
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
