"""Keeping the index true to the notes: before a search, when it is asked for, and for a watcher."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from memoriter.backends._calls import GivenUp
from memoriter.backends._settings import FIRST_EMBEDDING_MS
from memoriter.backends._staleness import quick_scan, staleness
from memoriter.errors import EmbeddingError, IndexBusy, IndexDamaged, IndexUnavailable, MemoriterError
from memoriter.search import Deadline
from memoriter.sync import LEFT_OUT, Progress, Sync, Task, learn_background
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from memoriter.backends._context import BackendContext
    from memoriter.backends._verified import Comparing
    from memoriter.embed import EmbeddingProvider
    from memoriter.index import StoredChunk
    from memoriter.sync import ChangeSet, IndexJob, ScanResult, WatchRun
    from memoriter.types import CompactReport, SyncReport

LATER_EMBEDDING_MS = 2_000
INDEXING_SHARE = 0.9
"""Of the time that a search has: the rest is for asking what was indexed."""
WAIT_SECONDS, OWN_WAIT_SECONDS = 0.25, 1.0
"""How long a search waits while another process indexes words; and how long when there is a note of ours to index."""
SLICE_SECONDS, SLICE_LOOKS = 3.0, 10.0
"""A watcher's run ends, and goes on, after so many seconds, or so many times what its look at the files took: then new
changes go first."""
NEVER = (0.0, 0.0)
FORGET_WAIT = 5.0
"""Seconds for another process to finish indexing before forgetting leaves the index to a later run."""


@dataclass(slots=True)
class Indexing:
    """When the files are looked at, and what is done then."""

    parts: BackendContext
    _looked_at: float | None = None
    """When the last look ended that would have asked for missing vectors, in monotonic seconds."""
    _renewals: int = 0
    _own: dict[str, int] = field(default_factory=dict[str, int])
    """Absolute paths of notes that were written through us and are not indexed yet, with the number of the write."""
    _writes: int = 0
    _gate: threading.Lock = field(default_factory=threading.Lock)
    """Held for moments, while `_own` changes."""
    _followed: bool = False
    """Whether a watcher has compared all files with this very index."""
    _left_out: tuple[Diagnostic, ...] = ()
    """What the last look at the files could not read."""

    def update_before_search(
        self, deadline: Deadline, progress: Callable[[Progress], None] | None, *, asked: bool = False
    ) -> list[Diagnostic]:
        """Index what is new before answering, as far as there is time: what was written through us in any case."""
        index = self.parts.index
        self._follow_index()
        if index.read_only:
            return [*self._probe_model(deadline), *self._stale_warnings()]
        with self._gate:
            written = dict(self._own)
        own, first = frozenset(written), not index.corpus().files
        due = asked or self.parts.settings.on_search
        if not (first or own or due):
            return [*self._probe_model(deadline), *self._left_out, *self._stale_warnings()]
        look = None if first or self.parts.embedding.unknown else self._look(own, whole=due, asked=asked)
        if look is not None and not look.needed:
            return self._looked(look.left_out, written, whole=due)
        milliseconds = FIRST_EMBEDDING_MS if first else LATER_EMBEDDING_MS
        left = Deadline.within(min(milliseconds, deadline.left * 1000 * INDEXING_SHARE), self.parts.clocks.monotonic)
        wait = min(OWN_WAIT_SECONDS if own else WAIT_SECONDS, left.left)
        task = Task(embed_by=left, read_by=None if first else left, look=look, everything=False, wait=wait)
        try:
            report = self.run(task, progress)
        except IndexDamaged:
            raise
        except IndexBusy as error:
            busy = Diagnostic(error.code, error.message, error.remedy)
            if first:
                return [busy]
            return [busy, *staleness(quick_scan(self.parts.workspace, index.files()), busy=True)]
        except IndexUnavailable as error:
            return [Diagnostic(error.code, f"{error.message}; what was indexed before is searched.", error.remedy)]
        faulty = tuple(reason for reason in report.reasons if reason.code == LEFT_OUT)
        self._looked(faulty, written, whole=not report.unread and (due or first))
        return list(report.reasons)

    def _look(self, own: frozenset[str], *, whole: bool, asked: bool = True) -> ChangeSet:
        """At all files, or only at those that were written through us."""
        sync = self.new_sync()
        if not whole and not sync.outdated:
            from memoriter.sync import IndexJob, look_for

            return look_for(IndexJob(own, own), self.parts.workspace, self.parts.index, young=NEVER, due=sync.due).look
        found = (self.parts.workspace.find(path) for path in own)
        return replace(
            sync.look(vectors=asked or self._vectors_due()), first=frozenset(each[0] for each in found if each)
        )

    def _vectors_due(self) -> bool:
        """Return whether vectors that could not be had may be asked for again: once within the debounce time."""
        now, last = self.parts.clocks.monotonic(), self._looked_at
        return last is None or (now - last) * 1000 >= self.parts.settings.debounce_ms

    def _looked(self, faulty: tuple[Diagnostic, ...], written: dict[str, int], *, whole: bool) -> list[Diagnostic]:
        with self._gate:  # what was written since then is for the next look
            self._own = {path: number for path, number in self._own.items() if written.get(path) != number}
        if whole:
            self._left_out = faulty
            if self._vectors_due():
                self._looked_at = self.parts.clocks.monotonic()
        return list(self._left_out)

    def _stale_warnings(self) -> list[Diagnostic]:
        """Return what this answer does not know, where searches do not index what changed."""
        return staleness(quick_scan(self.parts.workspace, self.parts.index.files()))

    def _probe_model(self, deadline: Deadline) -> list[Diagnostic]:
        """Ask for a model that nobody knows yet, where indexing does not do it; why it is still not known."""
        embedding = self.parts.embedding
        if not embedding.unknown or embedding.warming:
            return []
        if (paused := embedding.paused) is not None:
            return [paused]
        try:
            embedding.open(deadline)
        except EmbeddingError as error:
            if not embedding.fall_back(error):
                return [Diagnostic(error.code, error.message, error.remedy)]
        self.parts.follow_provider()
        return []

    def run(self, task: Task, progress: Callable[[Progress], None] | None = None) -> SyncReport:
        """Index words, whatever the provider does; then vectors, of the fallback where the provider fails.

        Raises:
            IndexBusy: another process is indexing, or a task that may wait found another one that computes vectors.
        """
        told = list[Diagnostic]()
        self.parts.follow_provider()
        if task.force:
            self.parts.embedding.renew()
        if task.vectors and not self._answers(told):
            task = replace(task, vectors=False)
        sync = self.new_sync(progress)
        return self._embedded(sync, sync.read(task), task, told)

    def _embedded(self, sync: Sync, report: SyncReport, task: Task, told: list[Diagnostic]) -> SyncReport:
        """Give vectors to what has none, holding nothing that a search or another indexing waits for."""
        embedding, hears = self.parts.embedding, sync.progress

        def opened() -> EmbeddingProvider:
            return embedding.open(task.embed_by, lambda here, whole: hears(Progress("download", here, whole or here)))

        self.parts.follow_provider()
        for _ in range(2):
            if (problem := embedding.problem) is not None:
                told.append(problem)
                break
            if embedding.warming or embedding.choice is None or embedding.choice.kind == "none":
                break
            if (paused := embedding.paused) is not None:
                told.append(paused)
                break
            try:
                if embedding.unknown:
                    opened()
                    self.parts.follow_provider()
                report = sync.embed(opened, report, task)
                break
            except IndexBusy:
                if task.embed_by is None:
                    raise
                break  # its vectors serve us as well, and words find what still has none
            except EmbeddingError as error:
                served = not embedding.unknown and self.parts.index.vectors()
                if isinstance(error, GivenUp) and embedding.paused is None and served:
                    break  # the time was over, which says nothing about the provider: `vectors_pending` is enough
                if not embedding.fall_back(error):
                    told.append(embedding.paused or Diagnostic(error.code, error.message, error.remedy))
                    break
                self.parts.follow_provider()
        failed = [embedding.failed] if embedding.failed else []
        reasons = tuple(dict.fromkeys((*report.reasons, *failed, *told)))
        return replace(sync.tally.totals(report), pending=self.parts.index.pending(), reasons=reasons)

    def _answers(self, told: list[Diagnostic]) -> bool:
        """Whether the provider gives a vector now: none is thrown away for one that nobody can make."""
        try:
            self.parts.embedding.open().embed(["ready"], role="query")
        except EmbeddingError as error:
            told.append(Diagnostic(error.code, error.message, error.remedy))
            return False
        return True

    def new_sync(self, progress: Callable[[Progress], None] | None = None) -> Sync:
        """The notes and the index, for one run."""
        told: Callable[[Progress], None] = progress or (lambda _: None)
        return Sync(
            self.parts.workspace,
            self.parts.index,
            self.parts.settings.sync,
            self.parts.clocks.monotonic,
            told,
            lambda provider: self.parts.embedding.batches(provider, self.parts.index),
            wall=self.parts.clocks.wall,
        )

    def mend(self, refused: Iterable[StoredChunk], comparing: Comparing, deadline: Deadline) -> list[Diagnostic]:
        """Read the notes again whose passages are not what the index holds; what a person should know of it.

        Raises:
            IndexDamaged: more is damaged than single passages.
        """
        from memoriter.backends._mending import left_over, mend, mended, there

        rows = list(refused)
        damaged = [row for row in rows if comparing.damaged(row, self.parts.index)]
        if damaged:
            self.parts.index.check()
        if not (sources := there(rows, self.parts.workspace)):
            return []
        left = Deadline.within(
            min(LATER_EMBEDDING_MS, deadline.left * 1000 * INDEXING_SHARE), self.parts.clocks.monotonic
        )
        try:
            with self.parts.index.lease(wait=min(WAIT_SECONDS, left.left)):
                task, sync = mend(sources, self.parts.index, left), self.new_sync()
                report = sync.read(task)
            report = self._embedded(sync, report, task, [])
        except IndexDamaged:
            raise
        except IndexUnavailable as error:
            return left_over(rows, damaged, error)
        return [*mended(damaged), *report.reasons]

    def refresh(self, *, progress: Callable[[Progress], None] | None = None) -> tuple[Diagnostic, ...]:
        """Take up what changed, as far as a search would; what is left undone."""

        def act() -> tuple[Diagnostic, ...]:
            deadline = Deadline.within(self.parts.settings.deadline_ms, self.parts.clocks.monotonic)
            self.parts.follow_provider()
            return tuple(self.update_before_search(deadline, progress, asked=True))

        return self.parts.with_recovery(act)

    def notes_changed(self, *paths: Path) -> tuple[Diagnostic, ...]:
        """Let the next search take up these first; where searches do not look at the files, index their words now."""
        self._looked_at = None
        with self._gate:
            self._writes += 1
            self._own.update({str(path): self._writes for path in paths})
            own = frozenset(self._own)
        try:
            if closed := self.parts.closed:
                return (closed,)
            if not self.parts.settings.on_search:
                self.parts.with_recovery(lambda: self.new_sync().run(None, Task(look=self._look(own, whole=False))))
        except MemoriterError as error:  # the note is written, whatever comes of the index
            return (Diagnostic(error.code, error.message, error.remedy),)
        return ()

    def follow(self, job: IndexJob, clock: Callable[[], float]) -> WatchRun:
        """Take up changes for a watcher, whose clock is infinite when it is time to stop.

        Raises IndexUnavailable, and WorkspaceNotFound while there is none.
        """
        return self.parts.with_recovery(lambda: self._follow(job, clock))

    def _follow(self, job: IndexJob, clock: Callable[[], float]) -> WatchRun:
        from memoriter.sync import WatchRun

        index, started = self.parts.index, self.parts.clocks.monotonic()
        self._follow_index()
        self.parts.follow_provider()
        if not self._followed:
            job = replace(job, whole=True)
        seen, report = self._seen(job), None
        seconds = self.parts.clocks.monotonic() - started
        deadline = Deadline(clock, clock() + max(SLICE_SECONDS, SLICE_LOOKS * seconds))
        outdated = self.new_sync().outdated
        if seen.look.needed or outdated or self.parts.embedding.unknown or index.pending():
            with index.lease(wait=OWN_WAIT_SECONDS):
                if index.version() != seen.look.version:
                    seen = self._seen(job)
                read_by = None if outdated else deadline
                task = Task(look=seen.look, read_by=read_by, embed_by=deadline, everything=False)
                sync = self.new_sync()
                report = sync.read(task)
            report = self._embedded(sync, report, task, [])
        self._followed = True
        embedding = self.parts.embedding
        pending = bool(report is not None and report.pending and embedding.spec is not None)
        late = deadline.passed and pending and embedding.paused is None
        unfinished = report is not None and bool(report.unread or late)
        waiting = pending or (report is not None and embedding.spec is None and embedding.unknown)
        troubles = tuple(each for each in (embedding.problem, embedding.failed, embedding.trouble) if each)
        return WatchRun(report, seen.again, seen.folders, unfinished, waiting, seconds, troubles)

    def _seen(self, job: IndexJob) -> ScanResult:
        from memoriter.sync import look_for

        now, quiet = self.parts.clocks.wall(), self.parts.settings.debounce_ms / 1000
        return look_for(job, self.parts.workspace, self.parts.index, young=(now - quiet, now), due=self.new_sync().due)

    def drop(self, paths: tuple[str, ...]) -> CompactReport:
        """Index what the notes say now, without these, and drop every trace of what they said before.

        Raises IndexBusy.
        """
        from memoriter.backends._jobs import trim_jobs

        index = self.parts.index
        with index.lease(wait=FORGET_WAIT):
            index.remove_files(paths)
            self.new_sync().run(None)
            trim_jobs(index)
            self._looked_at = None
            report = index.forget()
            if index.spec is not None and index.vectors():
                learn_background(index, index.spec)
        return report

    def _follow_index(self) -> None:
        """Look at the files again where another index serves than the one that they were indexed into."""
        if self._renewals != self.parts.renewals:
            self._renewals, self._looked_at, self._followed = self.parts.renewals, None, False
