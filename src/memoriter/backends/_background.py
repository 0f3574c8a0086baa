"""Indexing that nobody waits for: small changes before a search without an update, and the run in the background."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from math import inf
from typing import TYPE_CHECKING

from memoriter.environment import Deadline
from memoriter.errors import IndexBusy, IndexUnavailable
from memoriter.permissions import replace_private
from memoriter.plain_file import read_plain
from memoriter.sync import Task
from memoriter.types import BackgroundRun, SyncReport

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path
    from threading import Event

    from memoriter.backends._context import BackendSettings
    from memoriter.backends._indexing import Indexing
    from memoriter.store import Store
    from memoriter.sync import Progress

MOST_FILES = 2_000
MOST_BYTES = 128 * 1024
"""The most files among which it looks for changes, and the most bytes of changed notes that it reads."""
WAITING_SHARE = 0.5
"""Share of the time left that a search without an update waits for a process that is indexing."""
LONGEST_WAIT = 60.0
LOOK_SECONDS = 1.0
"""Seconds that a run in the background waits for another process that is indexing, because then that one does the work;
and how often it looks whether it is to stop."""
PAUSE_SECONDS = 0.05
"""The time in which another process can take its turn. It tries several times in this time."""
RECORD_SECONDS = 0.5
"""Time between two records of how far a run is."""
LONGEST_RECORD = 4_096


def index_words(indexing: Indexing, index: Store, deadline: Deadline) -> None:
    """Index the words of a few small changes. No vector is computed.

    A process that is indexing may be about to index the same changes, so it gets half of the time that is left.
    """
    if index.read_only or not indexing.context.settings.on_search or index.corpus().files > MOST_FILES:
        return
    sync = indexing.new_sync(index)
    if sync.outdated:
        return
    changes = sync.scan(vectors=False)
    if changes.plan is None or changes.plan.empty:
        return
    if sum(source.size for source in changes.plan.sources) > MOST_BYTES:
        return
    with suppress(IndexUnavailable):  # also if another process is indexing; a run in the background comes later
        sync.read(Task(changes=changes, everything=False, wait=deadline.left * WAITING_SHARE))


def _finish(indexing: Indexing, index: Store, stop: Event, progress: Callable[[Progress], None]) -> SyncReport:
    """Index what changed and compute all missing vectors, in turns, so that other processes need not wait.

    Raises:
        IndexBusy: another process is indexing.
    """
    monotonic = indexing.context.clocks.monotonic

    def clock() -> float:
        return inf if stop.is_set() else monotonic()

    def pause() -> None:
        stop.wait(PAUSE_SECONDS)

    indexing.context.follow_provider(index)
    sync = indexing.new_sync(index, progress)
    task = Task(embed_by=Deadline(clock, inf), wait=LOOK_SECONDS, turns=pause)
    began = monotonic()
    report = SyncReport(unread=1)
    while report.unread and not stop.is_set():
        try:
            report = sync.read(replace(task, read_by=None if sync.outdated else indexing.slice_from(clock)))
            began = monotonic()
        except IndexBusy:
            if not stop.is_set() and monotonic() - began > LONGEST_WAIT:
                raise
        pause()
    return report if stop.is_set() else indexing.embed(index, sync, report, task, [])


def run_in_background(indexing: Indexing, stop: Event) -> SyncReport:
    """Finish the index as the one run in the background, and record how far it is. Raises IndexBusy."""
    context = indexing.context

    def act(index: Store) -> SyncReport:
        with index.background_lease(), _recorded(context.settings.index_path, context.clocks.wall) as progress:
            return _finish(indexing, index, stop, progress)

    return context.with_recovery(act)


@contextmanager
def _recorded(index_path: Path, wall: Callable[[], float]) -> Generator[Callable[[Progress], None]]:
    """Record how far this process is in a private file beside the index. The caller holds the right to do so."""
    file = _record_of(index_path)
    state = BackgroundRun(os.getpid(), wall())
    written = state.since

    def write() -> None:
        with suppress(OSError):
            replace_private(file, json.dumps(asdict(state)).encode("utf-8"))

    def step(progress: Progress) -> None:
        nonlocal state, written
        state = replace(state, stage=progress.stage, done=progress.done, total=progress.total)
        if abs(wall() - written) >= RECORD_SECONDS:  # the clock may be set back
            write()
            written = wall()

    write()
    try:
        yield step
    finally:
        state = replace(state, ended=wall())
        write()


def _record_of(index_path: Path) -> Path:
    """Return the path of the record of a run in the background."""
    return index_path.with_name(f"{index_path.name}.run")


def last_run(settings: BackendSettings) -> BackgroundRun | None:
    """Return the last run in the background of an index, which may be at work, or None. Nothing is changed."""
    file = _record_of(settings.index_path)
    try:
        run = BackgroundRun(**json.loads(read_plain(file, LONGEST_RECORD)))
        if run.ended is None and not settings.open_store.runs_in_background():
            return replace(run, ended=file.stat().st_mtime)  # it was killed
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    return run
