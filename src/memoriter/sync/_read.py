"""Indexing the text of changed files. Each file is stored on its own, so a later failure loses no work."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Literal

from memoriter.errors import PathRefused
from memoriter.sync._analyze import analyze_note, note_of
from memoriter.sync._order import newest_first, unread_reason
from memoriter.sync._plan import UNSURE, make_plan, may_change_unseen, same_stat
from memoriter.sync._skipped import UNDECODED, left_out, undecoded
from memoriter.sync._task import Progress
from memoriter.types import Diagnostic, SyncReport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memoriter.index import Index, IndexedFile
    from memoriter.search import Stopwatch
    from memoriter.sync._analyze import ChunkingSettings
    from memoriter.sync._plan import Plan
    from memoriter.sync._task import Task
    from memoriter.types import Source
    from memoriter.workspace import Workspace


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes to index, and what the index holds of those files."""

    plan: Plan
    indexed: Mapping[str, IndexedFile]
    skipped: tuple[Diagnostic, ...] = ()
    """Diagnostics for files that cannot be read."""
    patient: bool = False
    """Whether a file that is missing when it is read stays in the index."""
    first: frozenset[str] = frozenset()
    """Cited paths that are read before all others, even after the deadline."""


def changes_of(task: Task, index: Index, workspace: Workspace, due: Callable[[Source, IndexedFile], bool]) -> Changes:
    """Return the changes of the task's scan; scan again if the index was written since."""
    scanned = task.changes
    first = scanned.first if scanned else frozenset[str]()
    if (
        scanned
        and scanned.plan is not None
        and scanned.indexed is not None
        and (scanned.held or scanned.version == index.version())
    ):
        return Changes(scanned.plan, scanned.indexed, scanned.skipped, scanned.held, first)
    indexed, scan = index.files(), workspace.scan()
    plan = make_plan(scan.sources, indexed) if task.everything else make_plan(scan.sources, indexed, due)
    return Changes(plan, indexed, left_out(scan.skipped), first=first)


def read(
    changes: Changes,
    index: Index,
    workspace: Workspace,
    cutting: ChunkingSettings,
    *,
    task: Task,
    progress: Callable[[Progress], None],
    watch: Stopwatch,
    wall: Callable[[], float] = lambda: inf,
) -> SyncReport:
    """Update keyword search to the current files.

    Args:
        changes: what to index.
        index: the index.
        workspace: the notes.
        cutting: the chunking settings.
        task: its `read_by` may leave some files for later.
        progress: receives the number of files that were read.
        watch: counts the time of the stages.
        wall: seconds since 1970.

    Returns:
        The report of this run.
    """
    plan, indexed, pending_before = changes.plan, changes.indexed, index.pending()
    for key in (key for key in index.metas(UNDECODED) if key.removeprefix(UNDECODED) in plan.removed):
        index.drop_meta(key)
    todo = plan.sources if task.read_by is None else newest_first(plan.sources, changes.first)
    done: list[_Change] = []
    # No progress is reported if files are read only to confirm that they are unchanged.
    has_changes = any(_looks_new(source, indexed.get(source.path)) for source in todo)
    for source in todo:
        if done and task.read_by and task.read_by.passed and source.path not in changes.first:
            break
        stored = indexed.get(source.path)
        change = _index_file(
            index, workspace, cutting, source, stored, watch=watch, patient=changes.patient, now=wall()
        )
        done.append(change)
        log.debug("%s of %d bytes: %s, %d chunks", source.kind, source.size, change.kind, change.chunks)
        if has_changes:
            progress(Progress("read", len(done), len(todo)))
    # Last, so that a moved note can be found at every moment.
    index.remove_files(plan.removed)
    unread = unread_reason(len(todo) - len(done))
    corpus, pending, new_chunks = index.corpus(), index.pending(), sum(change.chunks for change in done)
    return SyncReport(
        files=corpus.files,
        added=sum(change.kind == "added" for change in done),
        changed=sum(change.kind == "changed" for change in done),
        removed=len(plan.removed),
        chunks=corpus.chunks,
        cached=max(new_chunks - max(pending - pending_before, 0), 0) if index.spec else 0,
        pending=pending,
        unread=len(todo) - len(done),
        reasons=(*(change.reason for change in done if change.reason), *changes.skipped, *unread),
    )


def _looks_new(source: Source, indexed: IndexedFile | None) -> bool:
    return indexed is None or (source.size, source.mtime_ns) != (indexed.size, indexed.mtime_ns)


def _index_file(
    index: Index,
    workspace: Workspace,
    cutting: ChunkingSettings,
    source: Source,
    indexed: IndexedFile | None,
    *,
    watch: Stopwatch,
    patient: bool,
    now: float,
) -> _Change:
    try:
        if source.kind == "sessions":
            with watch.stage("transcripts"):
                return _index_transcript(index, workspace, cutting, source, indexed)
        with watch.stage("read"):
            loaded = workspace.load(source)
        if may_change_unseen(loaded.inode_changed_ns, now):
            loaded = replace(loaded, source=replace(loaded.source, stamp=UNSURE))
    except PathRefused as error:
        if patient and not os.path.lexists(source.file):
            return _Change("same", 0)
        if indexed:
            index.remove_files([source.path])
        return _Change("refused", 0, Diagnostic("unreadable", error.message, error.remedy))
    if indexed and indexed.hash == loaded.hash:
        if not same_stat(loaded.source, indexed):
            index.touch_file(loaded.source)
        return _Change("same", 0)
    if not loaded.decoded:
        index.set_meta(UNDECODED + source.path, loaded.hash)
    elif indexed and index.get_meta(UNDECODED + source.path):
        index.drop_meta(UNDECODED + source.path)
    with watch.stage("chunk"):
        note = note_of(loaded.source.path, loaded.text, cutting)
        entries = analyze_note(loaded.source, note, cutting)
    with watch.stage("store"):
        index.put_file(loaded.source, loaded.hash, entries, tags=note.tags)
    return _Change("changed" if indexed else "added", len(entries))


def _index_transcript(
    index: Index, workspace: Workspace, cutting: ChunkingSettings, source: Source, indexed: IndexedFile | None
) -> _Change:
    transcripts = workspace.transcripts
    if transcripts is None:
        return _Change("same", 0)
    from memoriter.sync._sessions import index_transcript

    written, diagnostic = index_transcript(index, transcripts, source, indexed, cutting)
    if written is None:
        return _Change("same", 0, diagnostic)
    return _Change("changed" if indexed else "added", written, diagnostic)


def undecoded_of(index: Index) -> tuple[Diagnostic, ...]:
    """Return a diagnostic for files that had bytes other than UTF-8 when they were indexed."""
    indexed = index.files() if (keys := index.metas(UNDECODED)) else {}
    return undecoded([path for key in keys if (path := key.removeprefix(UNDECODED)) in indexed])


@dataclass(frozen=True, slots=True)
class _Change:
    """The result of indexing one file."""

    kind: Literal["added", "changed", "same", "refused"]
    chunks: int
    reason: Diagnostic | None = None
