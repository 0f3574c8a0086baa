"""The scan for a watcher, which confirms a deletion or a half-written file by a second scan."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.errors import WorkspaceNotFound
from memoriter.sync._plan import Plan, make_plan, same_stat
from memoriter.sync._task import ChangeSet
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from memoriter.index import Index, IndexedFile
    from memoriter.sync._schedule import IndexJob
    from memoriter.types import Diagnostic, Source, SyncReport
    from memoriter.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ScanResult:
    """The changes to index now, and the paths to check again first."""

    changes: ChangeSet
    recheck: frozenset[str] = frozenset()
    """Cited paths of files that are missing or were changed a moment ago."""
    folders: Mapping[str, int] | None = field(default=None)
    """The folders to watch for events; None if not all files were scanned."""


@dataclass(frozen=True, slots=True)
class WatchRun:
    """The result of one run for a watcher."""

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


def look_for(
    job: IndexJob,
    workspace: Workspace,
    index: Index,
    *,
    young: tuple[float, float],
    due: Callable[[Source, IndexedFile], bool],
) -> ScanResult:
    """Compare the files of a job with the index.

    Args:
        job: the paths, cited or absolute, or all files.
        workspace: the notes.
        index: the index of them.
        young: a note of unknown history that was changed between these times (seconds since 1970) is left for later.
        due: returns whether a changed file is to be indexed now.

    Raises:
        WorkspaceNotFound: the workspace does not exist at the moment.
    """
    version = index.version()
    sources_by_path = dict(match for path in job.paths if (match := workspace.find(path)) is not None)
    settled = {match[0] for path in job.settled if (match := workspace.find(path)) is not None}
    recheck: set[str] = set()
    folders = None
    if job.whole:
        scan, indexed = workspace.scan(), index.files()
        folders = scan.folders
        sources: list[Source] = []
        for source in scan.sources:
            recent = (
                source.kind == "memory"
                and young[0] < source.mtime_ns / 1e9 <= young[1]
                and source.path not in sources_by_path
            )
            if recent and not _same(source, indexed.get(source.path)):
                recheck.add(source.path)
            else:
                sources.append(source)
        plan = make_plan(sources, {path: file for path, file in indexed.items() if path not in recheck}, due)
    else:
        indexed = index.files_at(sources_by_path)
        plan = make_plan([source for source in sources_by_path.values() if source is not None], indexed, due)
    if not workspace.root.is_dir():
        raise WorkspaceNotFound(f"{str(workspace.root)!r} is not there now.", remedy="Bring it back; the index waits.")
    recheck.update(path for path in plan.removed if path not in settled)
    plan = replace(plan, removed=tuple(path for path in plan.removed if path in settled))
    return ScanResult(
        ChangeSet(version, needed=not plan.empty, plan=plan, indexed=indexed, held=True), frozenset(recheck), folders
    )


def _same(source: Source, indexed: IndexedFile | None) -> bool:
    return indexed is not None and same_stat(source, indexed)


def still_to_do(changes: ChangeSet, index: Index) -> ChangeSet:
    """Return a held change set without the changes that were indexed since."""
    if changes.plan is None:
        return changes
    indexed = index.files_at([*(source.path for source in changes.plan.sources), *changes.plan.removed])
    plan = make_plan(changes.plan.sources, _without(indexed, changes.plan.removed))
    removed = tuple(path for path in changes.plan.removed if path in indexed)
    return replace(changes, plan=Plan(plan.added, plan.suspect, removed), indexed=indexed)


def _without(indexed: Mapping[str, IndexedFile], paths: Collection[str]) -> dict[str, IndexedFile]:
    return {path: file for path, file in indexed.items() if path not in paths}
