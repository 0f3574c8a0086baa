"""Index updates: before a search, on request, for a watcher, and in the background, where nobody waits for them."""

from __future__ import annotations

import json
import os
import threading
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from math import inf
from typing import TYPE_CHECKING

from memoriter.backends._context import FIRST_EMBEDDING_MS
from memoriter.backends._embedding import LOADED
from memoriter.backends._endpoint import GivenUp
from memoriter.environment import Deadline, Stopwatch
from memoriter.errors import EmbeddingError, IndexBusy, IndexDamaged, IndexUnavailable, MemoriterError, PathRefused
from memoriter.permissions import replace_private
from memoriter.plain_file import read_plain
from memoriter.search import ids_with_words
from memoriter.sync import (
    LEFT_OUT,
    UNSURE,
    ChangeSet,
    IndexJob,
    Plan,
    Progress,
    Sync,
    Task,
    changes_for,
    learn_background,
    make_plan,
)
from memoriter.types import BackgroundRun, Diagnostic, SyncReport
from memoriter.values import dataclass, field
from memoriter.workspace import copied_note

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
    from pathlib import Path
    from threading import Event

    from memoriter.backends._context import BackendContext, BackendSettings
    from memoriter.backends._verified import Verifier
    from memoriter.embed import EmbeddingProvider
    from memoriter.records import IndexedFile, StoredChunk
    from memoriter.store import Store
    from memoriter.types import CompactReport, Source
    from memoriter.workspace import Workspace

LATER_EMBEDDING_MS = 2_000
INDEXING_SHARE = 0.9
"""The share of a search's time that indexing may take. The rest is for the search itself."""
WAIT_SECONDS = 0.25
OWN_WAIT_SECONDS = 1.0
"""Seconds that a search waits for another indexing process; the second applies if a note of ours must be indexed."""
FIRST_VECTORS_SECONDS = 3.0
"""The longest wait of a search without any vectors: for another process that is indexing, or for the model to load."""
SLICE_SECONDS = 3.0
SLICE_SCANS = 10.0
"""A watcher's run pauses after this many seconds, or this many times the duration of its scan, whichever is longer.

Then new changes are indexed first.
"""
FIRST_CANDIDATES = 64
"""Passages with words of a question whose vectors are computed before those of other passages."""
NEVER = (0.0, 0.0)
FORGET_WAIT = 5.0
"""Seconds that forgetting waits for another process to finish indexing. After that, a later run cleans the index."""
MOST_FILES = 2_000
MOST_BYTES = 128 * 1024
"""The most files among which a search without an update looks for changes, and the most bytes of them that it reads."""
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
NAMED = 3
"""Notes or passages that a message names."""


class WrittenNotes:
    """Absolute paths of notes that this process wrote and that are not indexed yet. Safe to share between threads."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._count = 0
        self._lock = threading.Lock()

    def add(self, paths: Iterable[Path]) -> frozenset[str]:
        """Add notes, and return all that are not indexed yet."""
        with self._lock:
            self._count += 1
            self._numbers.update({str(path): self._count for path in paths})
            return frozenset(self._numbers)

    def numbers(self) -> dict[str, int]:
        """Return the number of the last write of each note."""
        with self._lock:
            return dict(self._numbers)

    def indexed(self, numbers: Mapping[str, int]) -> None:
        """Remove notes that were indexed. A note that was written since, so that its number differs, stays."""
        with self._lock:
            self._numbers = {path: number for path, number in self._numbers.items() if numbers.get(path) != number}


@dataclass(frozen=True, slots=True)
class _Scanned:
    """What the last scans have established about the index file that is open."""

    swaps: int = 0
    """`BackendContext.index_swaps` of the file."""
    at: float | None = None
    """The end of the last scan that could retry missing vectors, in monotonic seconds."""
    fully: bool = False
    """Whether a watcher has compared all files with the index."""
    skipped: tuple[Diagnostic, ...] = ()
    """Diagnostics for files that the last full scan could not read."""


@dataclass(frozen=True, slots=True)
class WatchRun:
    """The result of one indexing run for a watcher."""

    report: SyncReport | None = None
    """None if there was nothing to do."""
    recheck: frozenset[str] = frozenset()
    """Paths to check once more before their change is accepted."""
    folders: Mapping[str, int] | None = None
    """The folders to watch for events; None if not all files were scanned."""
    unfinished: bool = False
    """Whether the time was over before everything was done."""
    waiting: bool = False
    """Whether chunks wait for vectors that could not be computed now."""
    seconds: float = 0.0
    """The duration of the scan."""
    problems: tuple[Diagnostic, ...] = ()
    """Problems of the provider, whether or not there was anything to do."""
    joined: tuple[Diagnostic, ...] = ()
    """Receipts for versions of days' notes that were joined; the next run indexes them."""


@dataclass(slots=True)
class Indexing:
    """Decides when the files are scanned, and indexes what changed."""

    context: BackendContext
    _scanned: _Scanned = _Scanned()
    _written: WrittenNotes = field(default_factory=WrittenNotes)

    def update_before_search(
        self,
        index: Store,
        deadline: Deadline,
        progress: Callable[[Progress], None] | None,
        watch: Stopwatch,
        *,
        question: str = "",
        requested: bool = False,
    ) -> list[Diagnostic]:
        """Index what changed, as far as the deadline allows, and return diagnostics for the search result.

        Notes that were passed to `notes_changed` are always indexed. Other changes are indexed if the settings say so
        (`on_search`), if `requested` is true, or if the index is empty. Vectors are computed in the order in which
        they matter to `question`: its own, those of the passages that have its words, the others.

        Raises:
            IndexDamaged: the index file is damaged.
        """
        if self._scanned.swaps != self.context.index_swaps:  # another index file: scan all files again
            self._scanned = _Scanned(self.context.index_swaps, skipped=self._scanned.skipped)
        if index.read_only:
            return [*self._probe_model(index, deadline), *self._stale(index)]
        written = self._written.numbers()
        paths = frozenset(written)
        first = not index.corpus().files
        due = requested or self.context.settings.on_search
        if not (first or paths or due):
            late = self._stale(index)
            return [*self._probe_model(index, deadline), *self._scanned.skipped, *late]
        changes = None
        if not (first or self.context.embedding.unknown):
            changes = self._find_changes(index, paths, whole=due, requested=requested)
            if requested and self._join(changes):
                changes = self._find_changes(index, paths, whole=True)
        if changes is not None and not changes.needed:
            return self._finish_scan(changes.skipped, written, whole=due)
        embed_by = self._embed_by(deadline, FIRST_EMBEDDING_MS if first else LATER_EMBEDDING_MS)
        wait = OWN_WAIT_SECONDS if paths else WAIT_SECONDS
        if self._lacks_vectors(index):
            wait = FIRST_VECTORS_SECONDS
        task = Task(
            embed_by=embed_by,
            read_by=None if first else embed_by,
            changes=changes,
            everything=False,
            first=lambda: ids_with_words(index, question, limit=FIRST_CANDIDATES),
            question=question,
            wait=min(wait, embed_by.left),
        )
        try:
            with watch.stage("index"):
                report = self.run(index, task, progress)
        except IndexDamaged:
            raise
        except IndexBusy as error:
            diagnostic = Diagnostic.of(error)
            if first:
                return [diagnostic]
            return [diagnostic, *self._stale(index, busy=True)]
        except IndexUnavailable as error:
            return [Diagnostic(error.code, f"{error.message} What was indexed before is searched.", error.remedy)]
        skipped = tuple(reason for reason in report.reasons if reason.code == LEFT_OUT)
        self._finish_scan(skipped, written, whole=not report.unread and (due or first))
        return list(report.reasons)

    def index_words(self, index: Store, deadline: Deadline) -> None:
        """Index the words of a few small changes. No vector is computed.

        A process that is indexing may be about to index the same changes, so it gets half of the time that is left.
        """
        if index.read_only or not self.context.settings.on_search or index.corpus().files > MOST_FILES:
            return
        sync = self.new_sync(index)
        if sync.outdated:
            return
        changes = sync.scan(vectors=False)
        if changes.plan is None or changes.plan.empty:
            return
        if sum(source.size for source in changes.plan.sources) > MOST_BYTES:
            return
        with suppress(IndexUnavailable):  # also if another process is indexing; a run in the background comes later
            sync.read(Task(changes=changes, everything=False, wait=deadline.left * WAITING_SHARE))

    def _embed_by(self, deadline: Deadline, most: float) -> Deadline:
        """Return until when a search may compute vectors: `most` milliseconds, or its share of the search's time."""
        return Deadline.within(min(most, deadline.left * 1000 * INDEXING_SHARE), self.context.clocks.monotonic)

    def _find_changes(self, index: Store, paths: frozenset[str], *, whole: bool, requested: bool = True) -> ChangeSet:
        """Scan all files if `whole` is true or the index is outdated; otherwise scan only `paths`."""
        sync = self.new_sync(index)
        if not whole and not sync.outdated:
            return changes_for(IndexJob(paths, paths), self.context.workspace, index, young=NEVER, due=sync.due)
        changes = sync.scan(vectors=requested or self._retry_due() or self._lacks_vectors(index))
        if not paths:
            return changes
        sources = map(self.context.workspace.find, paths)
        return replace(changes, first=frozenset(source[0] for source in sources if source))

    def _join(self, scan: ChangeSet) -> tuple[Diagnostic, ...]:
        """Join versions of days' notes that no sync program still writes, and return a receipt for each."""
        if not (scan.left_out and self.context.settings.recovers):
            return ()
        from memoriter.workspace import join_versions

        written = self.context.clocks.wall() - self.context.settings.debounce_ms / 1000
        return tuple(join_versions(self.context.workspace, scan.left_out, before=written))

    def _lacks_vectors(self, index: Store) -> bool:
        """Return whether a model in this process is to compute vectors and has computed none."""
        choice = self.context.embedding.slot().choice
        return choice is not None and choice.kind in LOADED and not index.vectors()

    def _retry_due(self) -> bool:
        """Return whether missing vectors may be requested again: at most once per debounce interval."""
        now = self.context.clocks.monotonic()
        last_scan = self._scanned.at
        return last_scan is None or (now - last_scan) * 1000 >= self.context.settings.debounce_ms

    def _finish_scan(
        self, skipped: tuple[Diagnostic, ...], written: dict[str, int], *, whole: bool
    ) -> list[Diagnostic]:
        """Record the result of a scan and return the diagnostics for files that could not be read."""
        if written:
            self._written.indexed(written)
        if whole:
            at = self.context.clocks.monotonic() if self._retry_due() else self._scanned.at
            self._scanned = replace(self._scanned, at=at, skipped=skipped)
        return list(self._scanned.skipped)

    def _stale(self, index: Store, *, busy: bool = False) -> list[Diagnostic]:
        """Return a warning if notes changed since they were indexed; `busy` as for `staleness`."""
        workspace = self.context.workspace
        indexed = index.files()
        return staleness(confirmed(make_plan(workspace.scan().sources, indexed), workspace, indexed), busy=busy)

    def _probe_model(self, index: Store, deadline: Deadline) -> list[Diagnostic]:
        """Open the provider if its model is not known yet, and return a diagnostic if that fails.

        This covers searches that do not index.
        """
        embedding = self.context.embedding
        if not embedding.unknown or embedding.warming:
            return []
        if (paused := embedding.paused) is not None:
            return [paused]
        try:
            embedding.open(deadline)
        except EmbeddingError as error:
            if not embedding.fall_back(error):
                return [Diagnostic.of(error)]
        self.context.follow_provider(index)
        return []

    def run(self, index: Store, task: Task, progress: Callable[[Progress], None] | None = None) -> SyncReport:
        """Index text, whether or not the provider works, and then vectors; use the fallback if the provider fails.

        Raises:
            IndexBusy: another process is indexing, or computes vectors while this task has no deadline for them.
        """
        diagnostics = list[Diagnostic]()
        self.context.follow_provider(index)
        if task.force:
            self.context.embedding.renew()
        if task.vectors and not self._provider_works(diagnostics):
            task = replace(task, vectors=False)
        sync = self.new_sync(index, progress)
        return self.embed(index, sync, sync.read(task), task, diagnostics)

    def embed(
        self, index: Store, sync: Sync, report: SyncReport, task: Task, diagnostics: list[Diagnostic]
    ) -> SyncReport:
        """Compute missing vectors. Meanwhile, searches and other indexing runs need not wait."""
        embedding = self.context.embedding

        def report_download(done: int, total: int | None) -> None:
            sync.progress(Progress("download", done, total or done))

        def open_provider() -> EmbeddingProvider:
            return embedding.open(task.embed_by, report_download)

        self.context.follow_provider(index)
        for _ in range(2):
            provider = embedding.slot()
            if provider.problem is not None:
                diagnostics.append(provider.problem)
                break
            if task.question and task.embed_by is not None and self._lacks_vectors(index):
                embedding.await_model(min(FIRST_VECTORS_SECONDS, task.embed_by.left))
            if embedding.warming or provider.choice is None or provider.choice.kind == "none":
                break
            if (paused := embedding.paused) is not None:
                diagnostics.append(paused)
                break
            try:
                if embedding.unknown:
                    open_provider()
                    self.context.follow_provider(index)
                choice = embedding.slot().choice  # opening may have changed it
                if task.question and choice and choice.kind != "remote" and index.pending():
                    embedding.query_vector(task.question)
                report = sync.embed(open_provider, report, task)
                break
            except IndexBusy:
                if task.embed_by is None:
                    raise
                break  # the other process stores its vectors in this index; keyword search covers the rest
            except EmbeddingError as error:
                has_vectors = not embedding.unknown and index.vectors()
                if isinstance(error, GivenUp) and embedding.paused is None and has_vectors:
                    break  # a timeout is no evidence against the provider; `vectors_pending` reports the rest
                if not embedding.fall_back(error):
                    diagnostics.append(embedding.paused or Diagnostic.of(error))
                    break
                self.context.follow_provider(index)
        failed = [embedding.failed] if embedding.failed else []
        reasons = tuple(dict.fromkeys((*report.reasons, *failed, *diagnostics)))
        return replace(sync.tally.totals(report), pending=index.pending(), reasons=reasons)

    def _provider_works(self, diagnostics: list[Diagnostic]) -> bool:
        """Return whether the provider returns a vector now; append a diagnostic if it does not.

        This prevents deleting vectors that nothing can compute again.
        """
        try:
            self.context.embedding.open().embed(["ready"], role="query")
        except EmbeddingError as error:
            diagnostics.append(Diagnostic.of(error))
            return False
        return True

    def new_sync(self, index: Store, progress: Callable[[Progress], None] | None = None) -> Sync:
        """Return a `Sync` of the workspace and the index, for one run."""
        on_progress: Callable[[Progress], None] = progress or (lambda _: None)
        return Sync(
            self.context.workspace,
            index,
            self.context.settings.sync,
            self.context.clocks.monotonic,
            on_progress,
            lambda provider: self.context.embedding.batches(provider, index),
            wall=self.context.clocks.wall,
        )

    def repair(
        self, index: Store, refused: Sequence[StoredChunk], verifier: Verifier, deadline: Deadline
    ) -> list[Diagnostic]:
        """Index again the notes of refused passages, and return diagnostics for the search result.

        Raises:
            IndexDamaged: the damage is not limited to single passages.
        """
        damaged = [row for row in refused if verifier.is_damaged(row, index)]
        if damaged:
            index.check()
        # Passages of missing files stay in the index until a full scan confirms that the file is gone.
        entries = map(self.context.workspace.find, sorted({row.path for row in refused}))
        sources = tuple(entry[1] for entry in entries if entry is not None and entry[1] is not None)
        if not sources:
            return []
        embed_by = self._embed_by(deadline, LATER_EMBEDDING_MS)
        try:
            with index.lease(wait=min(WAIT_SECONDS, embed_by.left)):
                index.remove_files([source.path for source in sources])
                changes = ChangeSet(index.version(), needed=True, plan=Plan(added=sources), indexed={}, held=True)
                task = Task(changes=changes, embed_by=embed_by, everything=False)
                sync = self.new_sync(index)
                report = sync.read(task)
            report = self.embed(index, sync, report, task, [])
        except IndexDamaged:
            raise
        except IndexUnavailable as error:
            return _unrepaired(refused, damaged, error)
        return [*_repaired(damaged), *report.reasons]

    def refresh(self, *, progress: Callable[[Progress], None] | None = None) -> tuple[Diagnostic, ...]:
        """Index changes within a search's time budget and return diagnostics for what remains."""

        def act(index: Store) -> tuple[Diagnostic, ...]:
            deadline = Deadline.within(self.context.settings.deadline_ms, self.context.clocks.monotonic)
            self.context.follow_provider(index)
            watch = Stopwatch(self.context.clocks.monotonic)
            return tuple(self.update_before_search(index, deadline, progress, watch, requested=True))

        return self.context.with_recovery(act)

    def notes_changed(self, *paths: Path) -> tuple[Diagnostic, ...]:
        """Mark these notes as written, so that the next search indexes them first.

        If searches do not scan the files (`on_search` is false), their text is indexed now.

        Returns:
            A diagnostic if the notes cannot be indexed.
        """
        self._scanned = replace(self._scanned, at=None)
        written = self._written.add(paths)
        try:
            if closed := self.context.closed:
                return (closed,)
            if not self.context.settings.on_search:
                self.context.with_recovery(
                    lambda index: self.new_sync(index).run(
                        None, Task(changes=self._find_changes(index, written, whole=False))
                    )
                )
        except MemoriterError as error:  # the note itself is saved, even if indexing fails
            return (Diagnostic.of(error),)
        return ()

    def follow(self, job: IndexJob, clock: Callable[[], float]) -> WatchRun:
        """Index changes for a watcher; see `MemoryBackend.follow`."""
        return self.context.with_recovery(lambda index: self._follow(index, job, clock))

    def _follow(self, index: Store, job: IndexJob, clock: Callable[[], float]) -> WatchRun:
        started = self.context.clocks.monotonic()
        if self._scanned.swaps != self.context.index_swaps:  # another index file: scan all files again
            self._scanned = _Scanned(self.context.index_swaps, skipped=self._scanned.skipped)
        self.context.follow_provider(index)
        if not self._scanned.fully or any(copied_note(os.path.basename(path)) for path in job.settled):  # noqa: PTH119 (thousands)
            job = replace(job, whole=True)
        scan = self._scan_job(index, job)
        joined = self._join(scan)
        report = None
        seconds = self.context.clocks.monotonic() - started
        deadline = self._slice_from(clock, seconds)
        outdated = self.new_sync(index).outdated
        if scan.needed or outdated or self.context.embedding.unknown or index.pending():
            with index.lease(wait=OWN_WAIT_SECONDS):
                if index.version() != scan.version:
                    scan = self._scan_job(index, job)
                read_by = None if outdated else deadline
                task = Task(changes=scan, read_by=read_by, embed_by=deadline, everything=False)
                sync = self.new_sync(index)
                report = sync.read(task)
            report = self.embed(index, sync, report, task, [])
        self._scanned = replace(self._scanned, fully=True)
        embedding = self.context.embedding
        provider = self.context.embedding.slot()
        pending = bool(report is not None and report.pending and provider.spec is not None)
        out_of_time = deadline.passed and pending and embedding.paused is None
        unfinished = report is not None and bool(report.unread or out_of_time)
        waiting = pending or (report is not None and embedding.unknown)
        diagnostics = tuple(each for each in (provider.problem, embedding.failed, embedding.trouble) if each)
        return WatchRun(report, scan.recheck, scan.folders, unfinished, waiting, seconds, diagnostics, joined)

    def finish(self, stop: Event) -> SyncReport:
        """Finish the index as the one run in the background, and record how far it is. Raises IndexBusy."""
        context = self.context

        def act(index: Store) -> SyncReport:
            with index.background_lease(), _recorded(context.settings.index_path, context.clocks.wall) as progress:
                return self._finish(index, stop, progress)

        return context.with_recovery(act)

    def _finish(self, index: Store, stop: Event, progress: Callable[[Progress], None]) -> SyncReport:
        """Index what changed and compute all missing vectors, in turns, so that other processes need not wait.

        Raises:
            IndexBusy: another process is indexing.
        """
        monotonic = self.context.clocks.monotonic

        def clock() -> float:
            return inf if stop.is_set() else monotonic()

        def pause() -> None:
            stop.wait(PAUSE_SECONDS)

        self.context.follow_provider(index)
        sync = self.new_sync(index, progress)
        task = Task(embed_by=Deadline(clock, inf), wait=LOOK_SECONDS, turns=pause)
        began = monotonic()
        report = SyncReport(unread=1)
        while report.unread and not stop.is_set():
            try:
                report = sync.read(replace(task, read_by=None if sync.outdated else self._slice_from(clock)))
                began = monotonic()
            except IndexBusy:
                if not stop.is_set() and monotonic() - began > LONGEST_WAIT:
                    raise
            pause()
        return report if stop.is_set() else self.embed(index, sync, report, task, [])

    def _slice_from(self, clock: Callable[[], float], scan_seconds: float = 0.0) -> Deadline:
        """Return until when a run may go on before new changes are looked for."""
        return Deadline(clock, clock() + max(SLICE_SECONDS, SLICE_SCANS * scan_seconds))

    def _scan_job(self, index: Store, job: IndexJob) -> ChangeSet:
        now = self.context.clocks.wall()
        debounce = self.context.settings.debounce_ms / 1000
        due = self.new_sync(index).due
        young = (now - debounce, now)
        return changes_for(job, self.context.workspace, index, young=young, due=due)

    def drop(self, index: Store, paths: tuple[str, ...]) -> CompactReport:
        """Index the current notes, remove `paths` from the index, and erase every trace of earlier text.

        Raises:
            IndexBusy: another process is indexing.
        """
        from memoriter.backends._service_records import trim_jobs

        with index.lease(wait=FORGET_WAIT):
            index.remove_files(paths)
            self.new_sync(index).run(None)
            trim_jobs(index)
            self._scanned = replace(self._scanned, at=None)
            report = index.forget()
            if index.spec is not None and index.vectors():
                learn_background(index, index.spec)
        return report


def confirmed(plan: Plan, workspace: Workspace, indexed: Mapping[str, IndexedFile]) -> Plan:
    """Return the plan without notes whose content is unchanged.

    Notes that changed very recently are read, because their stat alone is no proof.
    """
    return replace(
        plan,
        suspect=tuple(source for source in plan.suspect if not _unchanged(source, workspace, indexed[source.path])),
    )


def _unchanged(source: Source, workspace: Workspace, indexed: IndexedFile) -> bool:
    if source.kind != "memory" or indexed.stamp != UNSURE or source.size != indexed.size:
        return False
    with suppress(PathRefused):
        return workspace.peek(source).hash == indexed.hash
    return False


def staleness(plan: Plan, *, busy: bool = False) -> list[Diagnostic]:
    """Return a warning if the newest changes are not indexed yet; `busy`: another process is doing so."""
    if plan.empty:
        return []
    paths = sorted([*(source.path for source in (*plan.added, *plan.suspect)), *plan.removed])
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    changed = f"{plan.size} note{'' if plan.size == 1 else 's'} changed after the index was updated"
    message = f"{changed}; this answer does not include them: {', '.join(paths[:NAMED])}{more}."
    remedy = "Search again when the other process is done." if busy else "Run `memoriter index`."
    return [Diagnostic("stale", message, remedy)]


def _repaired(damaged: Sequence[StoredChunk]) -> list[Diagnostic]:
    """Return a diagnostic that damaged passages were indexed again, if there were any."""
    if not damaged:
        return []
    message = f"The index contained {_passages(damaged)} that were damaged; their notes were indexed again."
    return [
        Diagnostic(
            "index_repaired", message, "If this happens again, check the disk and run `memoriter index --force`."
        )
    ]


def _unrepaired(
    rows: Sequence[StoredChunk], damaged: Sequence[StoredChunk], error: IndexUnavailable
) -> list[Diagnostic]:
    """Return why passages are missing from a result: the index could not be written."""
    blocked = Diagnostic.of(error)
    if damaged:
        message = f"The index contains {_passages(damaged)} that are damaged; the answer omits them."
        return [Diagnostic("index_damaged", message, "Run `memoriter index --force`."), blocked]
    message = f"The notes of {_passages(rows)} changed after they were indexed; the answer omits these passages."
    return [Diagnostic("stale", message, "Run `memoriter index`."), blocked]


def _passages(rows: Sequence[StoredChunk]) -> str:
    places = [f"{row.path}#L{row.chunk.start_line}" for row in rows]
    more = f" and {len(places) - NAMED} more" if len(places) > NAMED else ""
    return f"{len(places)} passage{'' if len(places) == 1 else 's'} ({', '.join(places[:NAMED])}{more})"


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
