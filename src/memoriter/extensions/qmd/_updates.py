"""Update QMD's index and its vectors: when they are due, one process at a time, and in a thread of their own."""

from __future__ import annotations

import logging
import os
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any, Protocol

from memoriter.errors import PathRefused, QmdBusy, QmdFailure, QmdTimeout, sentence
from memoriter.extensions.qmd._answers import parse_status, parse_update, readable
from memoriter.extensions.qmd._collections import fingerprint, missing_roots
from memoriter.extensions.qmd._home import merged_configuration, outdated_collections
from memoriter.permissions import PRIVATE_FILE, make_private_folder, replace_private
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from memoriter.extensions.qmd._collections import Folder
    from memoriter.extensions.qmd._home import QmdHome, StoredState
    from memoriter.extensions.qmd._plan import QmdPlan
    from memoriter.extensions.qmd._program import Output
    from memoriter.types import Diagnostic
    from memoriter.workspace import Transcripts

FIRST_PAUSE = 60.0
"""Seconds before the next try after a failure; it doubles with each failure."""
LONGEST_PAUSE = 3_600.0

LONGEST_SLEEP = 3_600.0
BLOCKED_SLEEP = 1.0
LOG = logging.getLogger(__name__)


class Run(Protocol):
    """Runs QMD with some arguments."""

    def __call__(self, arguments: Sequence[str], *, timeout: float) -> Output:
        """Return what QMD printed. Raises QmdFailure."""
        ...


def pause_after(failures: int) -> float:
    """Return the seconds to wait after so many failures in a row.

    >>> [pause_after(failures) for failures in (0, 1, 2, 9)]
    [0.0, 60.0, 120.0, 3600.0]
    """
    return min(FIRST_PAUSE * 2 ** min(failures - 1, 20), LONGEST_PAUSE) if failures else 0.0


def seconds_until_update(state: StoredState, plan: QmdPlan, now: float) -> float:
    """Return the seconds until the next regular update is due; infinite if there is none."""
    interval = plan.schedule.interval_ms / 1000
    if not interval:
        return float("inf")
    pause = min(interval, pause_after(state.update_failures))
    return max(_seconds_left(state.last_update, interval, now), _seconds_left(state.update_failed_at, pause, now))


def seconds_until_embed(state: StoredState, plan: QmdPlan, now: float) -> float:
    """Return the seconds until the next regular embedding run is due; infinite if there is none."""
    interval = plan.schedule.embed_interval_ms / 1000
    if not interval or plan.search_mode == "search":
        return float("inf")
    pause = pause_after(state.embed_failures)
    return max(_seconds_left(state.last_embed, interval, now), _seconds_left(state.embed_failed_at, pause, now))


def _seconds_left(since: float | None, seconds: float, now: float) -> float:
    """Return how many of the seconds since a time are left; none if it lies in the future: the clock was set back."""
    left = 0.0 if since is None else since + seconds - now
    return left if 0 < left <= seconds else 0.0


@dataclass(frozen=True, slots=True)
class QmdUpdated:
    """The result of an update."""

    ran: bool
    """False if the last update is too recent, or another process is updating."""
    added: int = 0
    changed: int = 0
    removed: int = 0
    notices: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Updates:
    """Updates and embeds for one agent."""

    plan: QmdPlan
    home: QmdHome
    run: Run
    folders: Callable[[], tuple[Folder, ...]]
    """The collections as the disk is now."""
    transcripts: Transcripts | None
    environ: Mapping[str, str]
    wall: Callable[[], float]
    embed_lock: Path
    """One file for all agents of the user: two models at once are too much for most machines."""
    shared_models: Path | None

    def stale(self, state: StoredState) -> bool | None:
        """Return whether files changed since the last update; None if there are too many to tell."""
        if state.last_update is None:
            return True
        current = fingerprint(self.folders())
        return None if current is None else current != state.fingerprint or self._new_sessions(state)

    def _new_sessions(self, state: StoredState) -> bool:
        if not self.plan.sessions_enabled or self.transcripts is None:
            return False
        newest = max((source.mtime_ns for source in self.transcripts.scan().sources), default=0)
        return newest > max(state.exported.values(), default=0)

    def update(self, *, force: bool, wait: float = 0.0) -> QmdUpdated:
        """Index what changed, with `force` even shortly after the last update.

        Another process that is updating is waited for up to `wait` seconds. Raises QmdFailure: the update failed.
        """
        from filelock import FileLock, Timeout

        begun = self.home.state().last_update
        self.home.make(self.shared_models)
        try:
            with FileLock(self.home.path / "update.lock", timeout=wait, mode=PRIVATE_FILE):
                state = self.home.state()
                if state.last_update != begun and not self.stale(state):
                    return QmdUpdated(ran=False)  # another process did it meanwhile
                debounce = self.plan.schedule.debounce_ms / 1000
                recent = state.last_update is not None and 0 <= self.wall() - state.last_update < debounce
                if recent and not force:
                    return QmdUpdated(ran=False)
                return self._update(state)
        except Timeout:
            if wait:
                raise QmdBusy("Another process is still updating QMD's index.") from None
            return QmdUpdated(ran=False)

    def _update(self, state: StoredState) -> QmdUpdated:
        try:
            exported = self._export(state)
            folders = self.folders()
            self._configure(folders)
            seen = fingerprint(folders)
            output = self.run(["update"], timeout=self.plan.schedule.update_timeout_ms / 1000)
            counts = parse_update(output.text)
            numbers = self._numbers(output, sum(count.files for count in counts.values()))
        except QmdFailure as error:
            now = self.wall()
            self.home.failed(error, now)
            self.home.change(
                lambda old: replace(old, update_failures=old.update_failures + 1, update_failed_at=now),
            )
            raise
        self.home.change(
            lambda old: replace(
                old,
                files={name: count.files for name, count in counts.items()},
                fingerprint=seen or "",
                last_update=self.wall(),
                update_failures=0,
                update_failed_at=None,
                exported=exported,
                error=None,
                error_at=None,
                **numbers,
            )
        )
        totals = [(count.added, count.changed, count.removed) for count in counts.values()]
        added, changed, removed = (sum(column) for column in zip(*totals, strict=True)) if totals else (0, 0, 0)
        return QmdUpdated(True, added, changed, removed, missing_roots(folders))

    def _numbers(self, output: Output, files: int) -> dict[str, Any]:
        """Return the numbers of documents, vectors and pending documents; counting vectors needs another run."""
        if self.plan.search_mode == "search":
            pending = re.search(r"\((\d+) unique hashes need vectors\)", readable(output.text))
            return {"documents": files, "pending": int(pending[1]) if pending else None}
        return self._status()

    def _status(self, timeout: float | None = None) -> dict[str, Any]:
        seconds = self.plan.schedule.command_timeout_ms / 1000
        return parse_status(self.run(["status"], timeout=seconds if timeout is None else min(seconds, timeout)).text)

    def count_vectors(self, timeout: float) -> int:
        """Ask QMD for its number of vectors, and remember it. Raises QmdFailure."""
        numbers = self._status(timeout)
        self.home.change(lambda old: replace(old, **numbers))
        return int(numbers.get("vectors", 0))

    def _export(self, state: StoredState) -> dict[str, int]:
        folder = next((each.path for each in self.folders() if each.kind == "sessions"), None)
        if folder is None:
            for name in state.exported:
                (self.home.path / "sessions" / name).unlink(missing_ok=True)
            return {}
        if self.transcripts is None:
            return dict(state.exported)
        days = self.plan.retention_days
        return export_sessions(self.transcripts, folder, state.exported, retention_days=days, now=self.wall())

    def _configure(self, folders: tuple[Folder, ...]) -> None:
        """Let QMD forget what is not configured any more, and write its configuration."""
        current = self.home.configuration()
        timeout = self.plan.schedule.command_timeout_ms / 1000
        outdated = outdated_collections(current, folders)
        if self.home.database.exists():
            for name in outdated:
                self.run(["collection", "remove", name], timeout=timeout)
            if outdated:
                self.run(["cleanup"], timeout=timeout)
        models = self.home.models(self.environ)
        existing = [folder for folder in folders if folder.exists]
        self.home.write_configuration(merged_configuration(current, existing, models))

    def embed(self, *, force: bool) -> bool:
        """Compute missing vectors, unless that is not due or another process does it. Raises QmdFailure."""
        from filelock import FileLock, Timeout

        if self.plan.search_mode == "search" and not force:
            return False
        state = self.home.state()
        if not force and (seconds_until_embed(state, self.plan, self.wall()) or state.pending == 0):
            return False
        make_private_folder(self.embed_lock.parent)
        try:
            with FileLock(self.embed_lock, timeout=0, mode=PRIVATE_FILE):
                self._embed()
                return True
        except Timeout:
            return False

    def _embed(self) -> None:
        timeout = self.plan.schedule.embed_timeout_ms / 1000
        try:
            self.home.check_models(self.environ)
            try:
                self.run(["embed"], timeout=timeout)
            except QmdTimeout as error:
                remedy = (
                    "Set memory.qmd.update.embedTimeoutMs higher; the first run downloads the model of "
                    "QMD, unless the variable QMD_EMBED_MODEL names a GGUF file."
                )
                raise QmdTimeout(error.message, remedy=remedy) from error
            numbers = self._status()
        except QmdFailure as error:
            now = self.wall()
            self.home.failed(error, now)
            self.home.change(lambda old: replace(old, embed_failures=old.embed_failures + 1, embed_failed_at=now))
            raise
        self.home.change(
            lambda old: replace(
                old,
                last_embed=self.wall(),
                embed_failures=0,
                embed_failed_at=None,
                error=None,
                error_at=None,
                **numbers,
            )
        )


class Background:
    """A thread that keeps QMD's index and vectors up to date until it is stopped."""

    def __init__(self, updates: Updates) -> None:
        self._plan = updates.plan
        self._updates = updates
        self._home = updates.home
        self._wall = updates.wall
        self._changed = Condition()
        self._requested = 0
        """The number of requests for an update; `_done` is the last one that an update covers."""
        self._done = 0
        self._urgent = False
        self._blocked = False
        """Whether the last update that was due did not run, such as during that of another process."""
        self._stopped = False
        self._thread: Thread | None = None

    def start(self, *, boot: bool) -> None:
        """Start the thread; with `boot` its first act is an update."""
        if boot:
            self._requested += 1
            self._urgent = True
        self._thread = Thread(target=self._run, name="qmd", daemon=True)
        self._thread.start()

    def request(self, *, urgent: bool) -> None:
        """Ask for an update: after the debounce interval, or at once if it is urgent."""
        with self._changed:
            self._requested += 1
            self._urgent = self._urgent or urgent
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Return whether every requested update is done, after waiting for that."""
        with self._changed:
            wanted = self._requested
            return self._changed.wait_for(lambda: self._done >= wanted or self._stopped, seconds)

    def stop(self) -> None:
        """End the thread after its current run, which the driver kills."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(5.0)

    def _run(self) -> None:
        while True:
            with self._changed:
                known = self._requested
                self._changed.wait_for(
                    lambda known=known: self._stopped or self._urgent or self._requested != known, self._sleep()
                )
                if self._stopped:
                    return
                if self._requested != known and not self._urgent:
                    continue  # its debounce interval begins
                requested = self._requested
                urgent = self._urgent
                self._urgent = False
            self._update(requested, force=urgent)
            if self._stopped:
                return
            self._guarded("embed", lambda: self._updates.embed(force=False))

    def _sleep(self) -> float:
        """Return the seconds until something is due."""
        state = self._home.state()
        now = self._wall()
        due = [seconds_until_update(state, self._plan, now), seconds_until_embed(state, self._plan, now), LONGEST_SLEEP]
        if self._requested > self._done:
            begun = state.last_update if state.last_update is not None else now
            asked = max(0.0, begun + self._plan.schedule.debounce_ms / 1000 - now)
            if state.update_failed_at is not None:
                asked = max(asked, state.update_failed_at + pause_after(state.update_failures) - now)
            due.append(asked)
        return max(BLOCKED_SLEEP if self._blocked else 0.05, min(due))

    def _update(self, requested: int, *, force: bool) -> None:
        is_due = seconds_until_update(self._home.state(), self._plan, self._wall()) == 0
        if force or is_due or self._requested > self._done:
            ran = self._guarded("update", lambda: self._updates.update(force=force).ran or force)
            self._blocked = not ran
            with self._changed:
                if ran:
                    self._done = max(self._done, requested)
                self._changed.notify_all()

    def _guarded(self, name: str, act: Callable[[], bool]) -> bool:
        """Return what `act` returned; a failure is logged, remembered in the state, and tried again later."""
        try:
            return act()
        except QmdFailure as error:
            if not self._stopped:
                LOG.warning("qmd %s failed: %s %s", name, error.message, error.remedy)
        except Exception:
            LOG.exception("qmd %s failed.", name)
        return False


DAY_NS = 24 * 60 * 60 * 1_000_000_000
MOST_CHARS = 4_000_000
"""Characters of one exported transcript; the earliest messages of a longer one are left out."""


def session_markdown(name: str, content: str) -> str:
    """Return the text of an exported transcript, whose messages are one per line."""
    return f"# Session {name}\n\n{content.strip() or '(empty)'}\n"


def export_sessions(
    transcripts: Transcripts, folder: Path, exported: Mapping[str, int], *, retention_days: int | None, now: float
) -> dict[str, int]:
    """Write each new or changed transcript into a folder, and remove what is gone or too old.

    Args:
        transcripts: the transcripts of the agent.
        folder: where the Markdown files go; files of others there are left alone.
        exported: what was exported before, with the time of the last change in nanoseconds.
        retention_days: days since the last change after which a transcript is no longer exported; None: for ever.
        now: seconds since 1970.

    Returns:
        What is exported now, in the form of `exported`.

    Raises:
        QmdFailure: the folder cannot be written.
    """
    oldest = 0 if retention_days is None else int(now * 1e9) - retention_days * DAY_NS
    wanted = {_file_name(source.path): source for source in transcripts.scan().sources if source.mtime_ns >= oldest}
    current: dict[str, int] = {}
    try:
        make_private_folder(folder)
        for name, source in wanted.items():
            file = folder / name
            if exported.get(name) == source.mtime_ns and file.is_file():
                current[name] = source.mtime_ns
                continue
            if name not in exported and os.path.lexists(file):
                continue  # a file of somebody else
            try:
                with transcripts.opened(source) as transcript:
                    lines = [row.parsed.rendered for row in transcript.lines() if row.parsed.rendered]
            except PathRefused:
                continue
            make_private_folder(file.parent)
            text = session_markdown(PurePosixPath(source.path).stem, "\n".join(lines)[-MOST_CHARS:])
            replace_private(file, text.encode("utf-8", "replace"))
            with suppress(OSError):
                os.utime(file, ns=(source.mtime_ns, source.mtime_ns))
            current[name] = source.mtime_ns
        for name in exported.keys() - current.keys():
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise QmdFailure(
            f"Transcripts cannot be exported to {str(folder)!r}: {sentence(error.strerror or error)}",
            remedy="Correct memory.qmd.sessions.exportDir.",
        ) from error
    return current


def _file_name(path: str) -> str:
    """Return the relative path of the exported file for the cited path of a transcript, `sessions/…`."""
    names = PurePosixPath(path.removeprefix("sessions/")).with_suffix(".md").parts
    return "/".join(name.lstrip(".") or "_" for name in names if name not in {"..", "/"})
