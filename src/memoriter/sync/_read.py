"""Indexing the text of changed files, in order. Each file is stored on its own, so a later failure loses no work."""

from __future__ import annotations

import logging
import os
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from memoriter.errors import PathRefused
from memoriter.sync._analyze import analyze_note, note_of
from memoriter.sync._changes import UNSURE, ChangeSet, Progress, make_plan, may_change_unseen, same_stat
from memoriter.types import Diagnostic, SyncReport
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from memoriter.environment import Stopwatch
    from memoriter.records import IndexedFile
    from memoriter.store import Store
    from memoriter.sync._analyze import ChunkingSettings
    from memoriter.sync._changes import Task
    from memoriter.types import Skipped, Source
    from memoriter.workspace import Workspace

UNDECODED = "undecoded:"
"""The prefix of index keys that mark files with bytes other than UTF-8. The path follows it."""
FAULTY = "front_matter:"
"""The prefix of index keys that hold the lines of a note's front matter that are no YAML. The path follows it."""
MERGING = "merging:"
"""The prefix of index keys that hold the lines with two versions that Git could not merge. The path follows it."""
MARKS = (UNDECODED, FAULTY, MERGING)
_BETWEEN = "======="
LEFT_OUT = "notes_left_out"
_FAULTS = {"special", "unreadable", "too_large", "hard_link"}
"""Reasons that need attention. Other paths are skipped on purpose."""
_NAMED = 3


def unreadable_diagnostics(skipped: Iterable[Skipped]) -> tuple[Diagnostic, ...]:
    """Return a diagnostic that names the notes which cannot be read, if there are any."""
    faulty = [skip for skip in skipped if skip.reason in _FAULTS]
    if not faulty:
        return ()
    named = "; ".join(f"{skip.path} ({skip.message})" for skip in faulty[:_NAMED])
    more = f"; and {len(faulty) - _NAMED} more" if len(faulty) > _NAMED else ""
    count = "1 path is" if len(faulty) == 1 else f"{len(faulty)} paths are"
    remedy = "Repair it, move it away, or name it in .memoryignore; `memoriter status -v` lists all."
    return (Diagnostic("notes_left_out", f"{count} left out: {named}{more}.", remedy),)


QUICK_CHUNKS = 2_000
"""The most chunks that are split again within a search. A larger index stays in use as it is."""
OUTDATED = Diagnostic(
    "index_outdated", "The index was built with other settings and is used as it is.", "Run `memoriter index`."
)


def newest_first(sources: Iterable[Source], first: Collection[str]) -> tuple[Source, ...]:
    """Return the sources whose cited path is in `first`, then the others, both from the newest change to the oldest."""
    return tuple(sorted(sources, key=lambda source: (source.path not in first, -source.mtime_ns, source.path)))


def unread_reason(count: int) -> tuple[Diagnostic, ...]:
    """Return a diagnostic for `count` changed files that are left for later; nothing if there are none."""
    if not count:
        return ()
    files = "1 changed file is" if count == 1 else f"{count} changed files are"
    return (
        Diagnostic("files_pending", f"{files} not indexed yet; the next searches go on.", "Run `memoriter index`."),
    )


log = logging.getLogger(__name__)


def changes_of(task: Task, index: Store, workspace: Workspace, due: Callable[[Source, IndexedFile], bool]) -> ChangeSet:
    """Return the changes of the task's scan, with its plan; scan again if the index was written since."""
    scanned = task.changes
    version = index.version()
    if (
        scanned is not None
        and scanned.plan is not None
        and scanned.indexed is not None
        and (scanned.held or scanned.version == version)
    ):
        return scanned
    first = scanned.first if scanned else frozenset[str]()
    indexed = index.files()
    scan = workspace.scan()
    plan = make_plan(scan.sources, indexed) if task.everything else make_plan(scan.sources, indexed, due)
    return ChangeSet(version, not plan.empty, plan, indexed, first=first, skipped=unreadable_diagnostics(scan.skipped))


def read(
    changes: ChangeSet,
    index: Store,
    workspace: Workspace,
    cutting: ChunkingSettings,
    *,
    task: Task,
    progress: Callable[[Progress], None],
    watch: Stopwatch,
    wall: Callable[[], float],
) -> SyncReport:
    """Update keyword search to the current files, as far as `task.read_by` allows, and return the report."""
    assert changes.plan is not None, "`changes_of` scans where there is no plan"
    plan = changes.plan
    indexed = changes.indexed or {}
    pending_before = index.pending()
    for mark in MARKS:
        for key in (key for key in index.metas(mark) if key.removeprefix(mark) in plan.removed):
            index.drop_meta(key)
    todo = plan.sources if task.read_by is None else newest_first(plan.sources, changes.first)
    done: list[_Change] = []
    # No progress is reported if files are read only to confirm that they are unchanged.
    gone = _by_content(plan.removed, indexed)
    renamed = dict[str, str]()
    has_changes = any(_looks_new(source, indexed.get(source.path)) for source in todo)
    for source in todo:
        if done and task.read_by and task.read_by.passed and source.path not in changes.first:
            break
        stored = indexed.get(source.path)
        change = _index_file(
            index, workspace, cutting, source, stored, gone=gone, watch=watch, patient=changes.held, now=wall()
        )
        done.append(change)
        if change.before:
            renamed[change.before] = source.path
        log.debug("%s of %d bytes: %s, %d chunks", source.kind, source.size, change.kind, change.chunks)
        if has_changes:
            progress(Progress("read", len(done), len(todo)))
    # Last, so that a moved note can be found at every moment.
    if plan.removed:  # each call counts as a change of content
        index.remove_files(plan.removed)
        for path in plan.removed:
            workspace.saw_removed(path, renamed.get(path, ""))
    unread = unread_reason(len(todo) - len(done))
    corpus = index.corpus()
    pending = index.pending()
    new_chunks = sum(change.chunks for change in done)
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


def _by_content(removed: Iterable[str], indexed: Mapping[str, IndexedFile]) -> dict[str, str]:
    """Return the notes that are gone by their hashes, without empty ones and those that were the same as another."""
    counts = Counter(indexed[path].hash for path in removed if indexed[path].size)
    return {indexed[path].hash: path for path in removed if counts[indexed[path].hash] == 1}


def _looks_new(source: Source, indexed: IndexedFile | None) -> bool:
    return indexed is None or (source.size, source.mtime_ns) != (indexed.size, indexed.mtime_ns)


def _index_file(
    index: Store,
    workspace: Workspace,
    cutting: ChunkingSettings,
    source: Source,
    indexed: IndexedFile | None,
    *,
    gone: Mapping[str, str],
    watch: Stopwatch,
    patient: bool,
    now: float,
) -> _Change:
    try:
        if source.kind == "sessions":
            with watch.stage("transcripts"):
                return _index_transcript(index, workspace, cutting, source, indexed)
        with watch.stage("read"):
            loaded = workspace.load(source, None if indexed else gone)
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
    with watch.stage("chunk"):
        note = note_of(loaded.source.path, loaded.text, cutting)
        entries = analyze_note(loaded.source, note, cutting, again=indexed is not None)
    to_report = {
        UNDECODED: "" if loaded.decoded else loaded.hash,
        FAULTY: ", ".join(map(str, note.faulty)),
        MERGING: _unmerged(loaded.text),
    }
    for mark, value in to_report.items():
        if value:
            index.set_meta(mark + source.path, value)
        elif indexed and index.get_meta(mark + source.path):
            index.drop_meta(mark + source.path)
    with watch.stage("store"):
        index.put_file(loaded.source, loaded.hash, entries, tags=note.tags, names=note.titles)
    before = "" if indexed else gone.get(loaded.hash, "")
    return _Change("changed" if indexed else "added", len(entries), before=before)


def _unmerged(text: str) -> str:
    """Return the numbers of the lines at which Git has put two versions that it could not merge."""
    if "<<<<<<< " not in text or f"\n{_BETWEEN}" not in text or "\n>>>>>>> " not in text:
        return ""
    lines = text.split("\n")
    return ", ".join(str(number) for number, line in enumerate(lines, 1) if line.startswith("<<<<<<< "))


def _index_transcript(
    index: Store, workspace: Workspace, cutting: ChunkingSettings, source: Source, indexed: IndexedFile | None
) -> _Change:
    transcripts = workspace.transcripts
    if transcripts is None:
        return _Change("same", 0)
    from memoriter.sync._sessions import index_transcript

    written, diagnostic = index_transcript(index, transcripts, source, indexed, cutting)
    if written is None:
        return _Change("same", 0, diagnostic)
    return _Change("changed" if indexed else "added", written, diagnostic)


def undecoded_of(index: Store) -> tuple[Diagnostic, ...]:
    """Return a diagnostic for files that had bytes other than UTF-8 when they were indexed."""
    marks = index.metas(UNDECODED)
    paths = sorted(_marked(index, marks, UNDECODED)) if marks else []
    if not paths:
        return ()
    named = ", ".join(paths[:_NAMED]) + (", …" if len(paths) > _NAMED else "")
    message = f"Bytes that are not UTF-8 are read as U+FFFD in: {named}."
    return (Diagnostic("not_utf8", message, "Save it as UTF-8, in an editor or with iconv."),)


def faulty_front_matter(index: Store) -> tuple[Diagnostic, ...]:
    """Return a diagnostic that names the lines of front matter that are neither YAML nor TOML, if there are any."""
    named = _with_lines(index, FAULTY)
    if not named:
        return ()
    message = f"Front matter that is neither YAML nor TOML is read as plain text in {named}."
    remedy = "Put values with `: `, `#`, `@` or quotes into quotation marks."
    return (Diagnostic("front_matter", message, remedy),)


def conflict_markers(index: Store) -> tuple[Diagnostic, ...]:
    """Return a diagnostic that names the notes with two versions that Git could not merge, if there are any."""
    named = _with_lines(index, MERGING)
    if not named:
        return ()
    message = f"Git could not merge two versions in {named}; both are searched."
    return (Diagnostic("unmerged", message, "Keep what you need of both, and delete the lines with `<<<<<<<`."),)


def _with_lines(index: Store, mark: str) -> str:
    """Return the notes that have a mark with the lines that it names, the first ones and the number of the others."""
    marked = _marked(index, index.metas(mark), mark)
    named = [f"{path} ({'lines' if ',' in lines else 'line'} {lines})" for path, lines in sorted(marked.items())]
    more = f" and {len(named) - _NAMED} more notes" if len(named) > _NAMED else ""
    return ", ".join(named[:_NAMED]) + more


def _marked(index: Store, marks: Mapping[str, str], mark: str) -> dict[str, str]:
    """Return the values of a mark by the paths of files that are indexed."""
    if not marks:
        return {}
    files = index.files()
    return {path: value for key, value in marks.items() if (path := key.removeprefix(mark)) in files}


@dataclass(frozen=True, slots=True)
class _Change:
    """The result of indexing one file."""

    kind: Literal["added", "changed", "same", "refused"]
    chunks: int
    reason: Diagnostic | None = None
    before: str = ""
    """The name that another program has changed."""
