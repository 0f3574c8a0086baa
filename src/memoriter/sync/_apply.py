"""Execution of a plan: read, chunk, index, embed. Each finished step survives a kill; nothing is embedded twice.

Missing vectors are copied from other memories of a server, or computed. Also measures how similar unrelated chunks are.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from memoriter.embed import question_centres
from memoriter.environment import Deadline, Listed, Stopwatch
from memoriter.errors import IndexBusy, IndexDamaged, IndexUnavailable, ProviderUnavailable, sentence
from memoriter.ids import fingerprint
from memoriter.search import CosineBaseline, measure
from memoriter.sync._changes import ChangeSet, Progress, Tally, Task, make_plan
from memoriter.sync._read import OUTDATED, QUICK_CHUNKS, changes_of, read, unreadable_diagnostics
from memoriter.types import SyncReport
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed import EmbeddingProvider
    from memoriter.records import IndexedFile
    from memoriter.store import Snapshot, Store
    from memoriter.sync._changes import BatchQueue, SyncSettings
    from memoriter.types import ModelSpec, Source
    from memoriter.workspace import Workspace

log = logging.getLogger(__name__)
CUTTING = "cutting"
TURN_MS = 500
"""How long a run in the background computes vectors before other processes have a chance to."""
BULK_SECONDS = 5.0
"""A model gets ready for many chunks only if there is as much time, because that alone may take seconds."""
FINISHING_SECONDS = 1.0
"""How long the end of embedding waits for a process that is indexing. The next run makes up for a timeout."""


@dataclass(frozen=True, slots=True)
class Sync:
    """Updates one index to the files of one workspace."""

    workspace: Workspace
    index: Store
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

        `provider` opens the provider, if something must be embedded; None indexes text only. Raises IndexBusy if
        another process is indexing, or computes vectors.
        """
        task = task or Task()
        report = self.read(task)
        return report if provider is None else self.embed(provider, report, task)

    def read(self, task: Task) -> SyncReport:
        """Index the text of what changed. Raises IndexBusy.

        No provider is used, so its failure cannot keep a note from being found.
        """
        watch = Stopwatch(self.monotonic)
        with self.index.lease(wait=task.wait):
            report = self._read(task, watch)
            self.tally.add(report)
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

        Raises:
            IndexBusy: another process computes vectors.
            EmbeddingError: the provider failed; the batches before that are kept.
        """
        started = self.monotonic()
        before = replace(self.tally)
        if self.index.pending():
            self._embed(provider, task)
        changed = self.tally.stored > before.stored or report.added or report.changed or report.removed
        if (spec := self.index.spec) and (changed or not is_background_current(self.index)):
            with suppress(IndexBusy), self.index.lease(wait=FINISHING_SECONDS if changed else 0):
                self._evict()
                learn_background(self.index, spec)  # last, because it names the content that it measured
        seconds = self.monotonic() - started
        pending = self.index.pending()
        log.info(
            "embed: %d vectors, %d failed, %d pending, %d taken, %.1f ms",
            self.tally.embedded - before.embedded,
            self.tally.failed - before.failed,
            pending,
            self.tally.cached - before.cached,
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

        Unless `vectors`, neither missing vectors count as work, nor a baseline of other content.
        """
        version = self.index.version()
        if self.outdated:
            return ChangeSet(version, needed=True)
        waiting = vectors and (self.index.pending() > 0 or not is_background_current(self.index))
        scan = self.workspace.scan()
        indexed = self.index.files()
        plan = make_plan(scan.sources, indexed, self.due)
        needed = waiting or not plan.empty
        unreadable = unreadable_diagnostics(scan.skipped)
        return ChangeSet(version, needed=needed, plan=plan, indexed=indexed, skipped=unreadable, left_out=scan.skipped)

    def due(self, source: Source, indexed: IndexedFile) -> bool:
        """Return whether a changed file is to be indexed now, before a complete run is requested."""
        if source.kind != "sessions":
            return True
        from memoriter.sync._sessions import due, grown_lines

        new_bytes = source.size - indexed.size
        age = self.wall() - source.mtime_ns / 1e9
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

    def _read_into(self, index: Store, task: Task, watch: Stopwatch) -> SyncReport:
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

    def _embed(self, provider: Callable[[], EmbeddingProvider], task: Task) -> None:
        """Compute missing vectors in one turn or in several, and store each batch as it arrives."""
        opened: EmbeddingProvider | None = None
        total = finished = 0
        while True:
            with self.index.embedding_lease(wait=task.wait):
                if opened is None:
                    opened, total = self._get_ready(provider, task)
                limit = task.embed_by
                if task.turns is not None and limit is not None:
                    limit = Deadline.within(min(TURN_MS, limit.left * 1000), limit.clock)
                done = self._embed_turn(opened, task, limit, Progress("embed", finished, total))
                finished += done
            if task.turns is None or not done or (task.embed_by and task.embed_by.passed) or not self.index.missing(1):
                break
            task.turns()
        if finished:  # equal texts are embedded once
            self.progress(Progress("embed", total - min(self.index.waiting(), total), total))
        opened.hint_batch_size(0)

    def _get_ready(self, provider: Callable[[], EmbeddingProvider], task: Task) -> tuple[EmbeddingProvider, int]:
        """Open the provider; return it and the number of vectors that chunks and items wait for."""
        opened = provider()
        if (spec := opened.spec) != self.index.spec:
            self.index.use_vectors(spec)
        total = self.index.waiting()
        hurried = task.embed_by is not None and task.embed_by.left < BULK_SECONDS
        opened.hint_batch_size(min(total, 1) if hurried else total)
        self.progress(Progress("embed", 0, total))
        return opened, total

    def _embed_turn(self, opened: EmbeddingProvider, task: Task, deadline: Deadline | None, before: Progress) -> int:
        """Compute missing vectors until the deadline; return the number of new vectors and failures."""
        first = task.first() if task.first else ()
        done = 0
        batches = self.batches(opened)
        shared = not task.vectors
        for step in fill(self.index, opened, batches, deadline=deadline, first=first, shared=shared):
            self.tally.embedded += step.embedded
            self.tally.failed += step.failed
            self.tally.cached += step.taken
            done += sum(step)
            self.progress(replace(before, done=min(before.done + done, before.total)))
            if deadline and deadline.passed:
                break
        return done


BACKGROUND_SAMPLE = 2_000
"""The number of chunks in the sample."""


def learn_background(index: Store, spec: ModelSpec) -> CosineBaseline:
    """Measure the cosine baseline of unrelated chunks and store it. The same notes give the same figures."""
    content = index.content_version()
    texts, vectors = index.sample(BACKGROUND_SAMPLE)
    background = replace(measure(texts, vectors, spec.background), content=content)
    index.set_meta(background_key(spec), background.dumps())
    return replace(background, questions=question_centres(spec))


def is_background_current(index: Store) -> bool:
    """Return whether no vectors are active or their baseline is of the present content. Raises IndexDamaged.

    It is not if a run stored vectors and ended before it measured.
    """
    return index.spec is None or background_of(index, index.spec).content == index.content_version()


def background_key(spec: ModelSpec) -> str:
    """Return the key under which the baseline of a set of vectors is stored."""
    return f"background:{fingerprint(spec)}"


def background_of(index: Snapshot, spec: ModelSpec) -> CosineBaseline:
    """Return the measured baseline of the active vectors, or the model's default. Raises IndexDamaged."""
    stored = index.get_meta(background_key(spec))
    if stored is None:
        return CosineBaseline.of_model(spec.background)
    try:
        return replace(CosineBaseline.loads(stored), questions=question_centres(spec))
    except (ValueError, KeyError, TypeError) as error:
        raise IndexDamaged(
            f"The index holds a background that cannot be read: {sentence(error)}",
            remedy="Run `memoriter index --force`.",
        ) from error


BATCH_TOKENS = 8_000
FETCH = 512
"""The number of chunks read from the index at a time to be embedded."""
FIRST_STEP = 12
STEP_SECONDS = 0.5
"""With a deadline: the number of chunks of the first step, and about how long each later step may take.

No step can be interrupted, so short steps are what keeps a deadline, on a slow or busy machine too.
"""
STORING_SECONDS = 60.0
"""How long finished vectors wait for a process that is indexing text, such as one that rebuilds the index."""
MOST_REPEATS = 3
"""How often the same texts are embedded. Another process may drop their vectors; a store that keeps none would let a
service be asked, and paid, without an end."""
WORTH_A_BATCH = 64
"""The fewest chunks for which a batch interface is used: it costs half as much and may take hours."""


class Step(NamedTuple):
    """What one step did."""

    embedded: int = 0
    """Vectors that were computed."""
    failed: int = 0
    """Texts that the model refused."""
    taken: int = 0
    """Vectors that were copied from other memories."""


def fill(
    index: Store,
    provider: EmbeddingProvider,
    batches: BatchQueue | None,
    *,
    deadline: Deadline | None,
    first: Collection[int],
    shared: bool,
) -> Iterator[Step]:
    """Store missing vectors: those that other memories have, and computed ones. Yield what each step did.

    No step begins after the deadline. The chunks with the ids `first` come first, the most important one first. Unless
    `shared`, all vectors are computed.
    """
    if batches is None:
        yield from _fill_now(index, provider, deadline, first, shared=shared)
        return
    under_way = batches.under_way
    pending = list[tuple[bytes, str]]()
    waiting = index.missing(index.waiting())
    for part in (waiting[start : start + FETCH] for start in range(0, len(waiting), FETCH)):
        taken = _copy_shared(index, [key for key, _ in part if key.hex() not in under_way]) if shared else ()
        if taken:
            yield Step(taken=len(taken))
        pending += [(key, text) for key, text in part if key not in taken]
    single = {key.hex() for key, _ in pending} - under_way
    in_batches = under_way if len(single) < WORTH_A_BATCH else under_way | single
    texts = {key.hex(): text for key, text in pending if key.hex() in in_batches}
    single -= texts.keys()
    try:
        for result in batches.run(texts, wait=deadline is None):
            failures = {bytes.fromhex(key): error.message for key, error in result.failures.items()}
            _store(index, [bytes.fromhex(key) for key in result.keys], result.vectors, failures)
            single.update(result.again)
            yield Step(len(result.keys), len(result.failures))
    except ProviderUnavailable:  # no batch interface, or no service: single requests raise the right error
        single |= texts.keys() - batches.under_way
    remaining = [(key, text) for key, text in pending if key.hex() in single]
    for start in range(0, len(remaining), FETCH):
        if deadline and deadline.passed:
            return
        yield from _embed_now(index, provider, remaining[start : start + FETCH])


def _fill_now(
    index: Store,
    provider: EmbeddingProvider,
    deadline: Deadline | None,
    first: Collection[int],
    *,
    shared: bool,
) -> Iterator[Step]:
    step = FETCH if deadline is None else FIRST_STEP
    repeated = 0
    before = list[bytes]()
    while not (deadline and deadline.passed):
        generation = _generation(index)
        missing = index.missing(step, of=first) if first else ()
        missing = missing or index.missing(step)
        if not missing:
            if generation == _generation(index):
                return
            continue
        keys = [key for key, _ in missing]
        repeated = repeated + 1 if before == keys else 0
        before = keys
        if repeated == MOST_REPEATS:
            raise IndexUnavailable(
                f"The index {str(index.path)!r} does not keep vectors: they were stored"
                f" {repeated} times and are missing again.",
                remedy="Run `memoriter index --force`; if that does not help, choose another memorySearch.store.",
            )
        started = deadline.clock() if deadline else 0.0
        if shared and (taken := _copy_shared(index, keys)):
            yield Step(taken=len(taken))
            yield from _embed_now(index, provider, [(key, text) for key, text in missing if key not in taken])
        else:
            yield from _embed_now(index, provider, missing)
        if deadline is None:
            continue
        rate = len(missing) / max(deadline.clock() - started, 1e-3)
        most_seconds = deadline.left / 2
        if rate * most_seconds < 1:  # a service's response after the deadline is lost if the process ends
            return
        step = min(FETCH, 2 * step, max(1, int(rate * min(STEP_SECONDS, most_seconds))))


def _generation(index: Store) -> int:
    """Return the content that serves now: nothing is missing in one that a rebuild has just replaced and deleted."""
    index.version()
    return index.generation


def _embed_now(index: Store, provider: EmbeddingProvider, missing: Sequence[tuple[bytes, str]]) -> Iterator[Step]:
    """Embed and store batch after batch. Yield what each did."""
    from memoriter.embed import embed_in_batches

    keys = [key for key, _ in missing]
    for batch in embed_in_batches(provider, [text for _, text in missing], role="document", budget=BATCH_TOKENS):
        failures = {keys[failure.position]: failure.error.message for failure in batch.failures}
        _store(index, [keys[position] for position in batch.positions], batch.vectors, failures)
        yield Step(len(batch.positions), len(batch.failures))


def _copy_shared(index: Store, keys: Sequence[bytes]) -> Collection[bytes]:
    """Copy the vectors that other memories have, and return their keys. It may need the right to index."""
    if not (held := index.shared_vectors(keys)):
        return ()
    with index.storing(wait=STORING_SECONDS):
        return index.take_vectors(held)


def _store(index: Store, keys: Sequence[bytes], vectors: NDArray[np.float32], failures: Mapping[bytes, str]) -> None:
    """Store vectors and failures, except those of texts that left the notes meanwhile."""
    with index.storing(wait=STORING_SECONDS):
        wanted = index.referenced((*keys, *failures))
        positions = [position for position, key in enumerate(keys) if key in wanted]
        if positions:
            index.put_vectors(
                [keys[position] for position in positions],
                vectors[positions] if len(positions) < len(keys) else vectors,
            )
        for key, message in failures.items():
            if key in wanted:
                index.put_failure(key, message)
