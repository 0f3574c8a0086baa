"""Execution of a plan: read, chunk, index, embed. Each finished step survives a kill; nothing is embedded twice."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from memoriter.errors import IndexBusy
from memoriter.search import Listed, Stopwatch
from memoriter.sync._changes import ChangeSet, make_plan
from memoriter.sync._read import OUTDATED, QUICK_CHUNKS, changes_of, left_out, read
from memoriter.sync._task import Progress, Tally, Task
from memoriter.sync._vectors import background_key, fill, learn_background
from memoriter.types import SyncReport
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.embed import EmbeddingProvider
    from memoriter.records import IndexedFile
    from memoriter.sync._ports import WritableStore
    from memoriter.sync._task import BatchQueue, SyncSettings
    from memoriter.types import Source
    from memoriter.workspace import Workspace

log = logging.getLogger(__name__)
CUTTING = "cutting"
FINISHING_SECONDS = 1.0
"""How long the end of embedding waits for a process that is indexing. The next run makes up for a timeout."""


@dataclass(frozen=True, slots=True)
class Sync:
    """Updates one index to the files of one workspace."""

    workspace: Workspace
    index: WritableStore
    settings: SyncSettings
    monotonic: Callable[[], float]
    progress: Callable[[Progress], None] = lambda _: None
    batches: Callable[[EmbeddingProvider], BatchQueue | None] = lambda _: None
    """Returns the batch interface of an open provider, or None if none is to be used."""
    tally: Tally = field(default_factory=Tally)
    wall: Callable[[], float] = lambda: inf
    """Seconds since 1970, to tell how long a transcript has been unchanged."""

    def run(self, provider: Callable[[], EmbeddingProvider] | None, task: Task | None = None) -> SyncReport:
        """Index what changed, then compute missing vectors, until the deadlines.

        Args:
            provider: opens the provider, if something must be embedded; None indexes text only.
            task: what to do; None indexes everything that is new.

        Raises:
            IndexBusy: another process is indexing, or computes vectors.
        """
        task = task or Task()
        report = self.read(task)
        return report if provider is None else self.embed(provider, report, task)

    def read(self, task: Task) -> SyncReport:
        """Index the text of what changed. No provider is used, so its failure cannot keep a note from being found.

        Raises:
            IndexBusy: another process is indexing.
        """
        watch = Stopwatch(self.monotonic)
        with self.index.lease(wait=task.wait):
            report = self._read(task, watch)
            self.tally.take(report)
            self._evict()
        log.debug("read stages: %s", Listed(watch.timings()))
        log.info(
            "read: %d added, %d changed, %d removed, %d left for later, %.1f ms",
            report.added,
            report.changed,
            report.removed,
            report.unread,
            watch.milliseconds,
        )
        return replace(self.tally.totals(report), seconds=watch.milliseconds / 1000)

    def embed(self, provider: Callable[[], EmbeddingProvider], report: SyncReport, task: Task) -> SyncReport:
        """Compute missing vectors until `task.embed_by`, while other processes may search and index text.

        Args:
            provider: opens the provider, if something must be embedded.
            report: the report of `read`.
            task: what to do.

        Raises:
            IndexBusy: another process computes vectors.
            EmbeddingError: the provider failed; the batches before that are kept.
        """
        started, embedded_before, failed_before = self.monotonic(), self.tally.embedded, self.tally.failed
        if self.index.pending():
            with self.index.embedding_lease(wait=task.wait):
                self._embed(provider(), task)
        changed = self.tally.embedded > embedded_before or report.added or report.changed or report.removed
        if (spec := self.index.spec) and (changed or self.index.get_meta(background_key(spec)) is None):
            with suppress(IndexBusy), self.index.lease(wait=FINISHING_SECONDS):
                learn_background(self.index, spec)
                self._evict()
        seconds, pending = self.monotonic() - started, self.index.pending()
        log.info(
            "embed: %d vectors, %d failed, %d pending, %.1f ms",
            self.tally.embedded - embedded_before,
            self.tally.failed - failed_before,
            pending,
            seconds * 1000,
        )
        return replace(self.tally.totals(report), pending=pending, seconds=report.seconds + seconds)

    def _evict(self) -> None:
        self.index.evict(max_entries=self.settings.max_entries, max_bytes=self.settings.max_bytes)

    @property
    def outdated(self) -> bool:
        """Whether the index holds text that was split with other settings, so that all of it must be indexed again."""
        stored = self.index.get_meta(CUTTING)
        return stored != self.settings.chunking.fingerprint and (stored is not None or bool(self.index.files()))

    def scan(self, *, vectors: bool = True) -> ChangeSet:
        """Return what is to be indexed or embedded. This is cheap and needs no lease.

        Args:
            vectors: whether missing vectors count as work.
        """
        version = self.index.version()
        if self.outdated:
            return ChangeSet(version, needed=True)
        waiting = vectors and self.index.pending() > 0
        scan, indexed = self.workspace.scan(), self.index.files()
        plan = make_plan(scan.sources, indexed, self.due)
        needed = waiting or not plan.empty
        return ChangeSet(version, needed=needed, plan=plan, indexed=indexed, skipped=left_out(scan.skipped))

    def due(self, source: Source, indexed: IndexedFile) -> bool:
        """Return whether a changed file is to be indexed now, before a complete run is requested."""
        if source.kind != "sessions":
            return True
        from memoriter.sync._sessions import due, grown_lines

        new_bytes, age = source.size - indexed.size, self.wall() - source.mtime_ns / 1e9
        return due(new_bytes, age, self.settings.sessions, lambda: grown_lines(self.workspace, source, indexed.size))

    def _read(self, task: Task, watch: Stopwatch) -> SyncReport:
        """Update keyword search; in a new generation of the index if everything must be split again."""
        if not task.force and not self.outdated:
            if self.index.get_meta(CUTTING) is None:
                self.index.set_meta(CUTTING, self.settings.chunking.fingerprint)
            return self._read_into(self.index, task, watch)
        if task.read_by is not None and self.index.corpus().chunks > QUICK_CHUNKS:
            corpus = self.index.corpus()
            return SyncReport(files=corpus.files, chunks=corpus.chunks, unread=corpus.files, reasons=(OUTDATED,))
        before = self.index.files().keys()
        with self.index.rebuild(vectors=not task.vectors) as rebuilt:
            rebuilt.set_meta(CUTTING, self.settings.chunking.fingerprint)
            if rebuilt.spec is not None:
                rebuilt.clear_failures()
            report = self._read_into(rebuilt, Task(), watch)
            after = rebuilt.files().keys()
        return replace(report, added=len(after - before), changed=len(after & before), removed=len(before - after))

    def _read_into(self, index: WritableStore, task: Task, watch: Stopwatch) -> SyncReport:
        with watch.stage("scan"):
            changes = changes_of(task, index, self.workspace, self.due)
        return read(
            changes,
            index,
            self.workspace,
            self.settings.chunking,
            task=task,
            progress=self.progress,
            watch=watch,
            wall=self.wall,
        )

    def _embed(self, opened: EmbeddingProvider, task: Task) -> None:
        """Compute missing vectors, and store each batch as it arrives."""
        deadline, first = task.embed_by, task.first() if task.first else ()
        if (spec := opened.spec) != self.index.spec:
            self.index.use_vectors(spec)
        total = self.index.pending()
        opened.hint_batch_size(total)
        for vectors, failures in fill(self.index, opened, self.batches(opened), deadline=deadline, first=first):
            self.tally.embedded += vectors
            self.tally.failed += failures
            self.progress(Progress("embed", total - self.index.pending(), total))
            if deadline and deadline.passed:
                break
        opened.hint_batch_size(0)
