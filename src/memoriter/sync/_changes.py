"""A look at files on behalf of a watcher, which believes neither a delete nor a half-written file at first sight."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from memoriter.errors import WorkspaceNotFound
from memoriter.sync._plan import Plan, make_plan, same_stat
from memoriter.sync._task import ChangeSet

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from memoriter.index import Index, IndexedFile
    from memoriter.sync._schedule import IndexJob
    from memoriter.types import Diagnostic, Source, SyncReport
    from memoriter.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ScanResult:
    """What is to be done at once, and what must be looked at again first."""

    look: ChangeSet
    again: frozenset[str] = frozenset()
    """Cited paths of files that are missing, or were written to a moment ago."""
    folders: Mapping[str, int] | None = field(default=None)
    """Where events must be heard of; None: not all files were looked at."""


@dataclass(frozen=True, slots=True)
class WatchRun:
    """What one run for a watcher did and found."""

    report: SyncReport | None = None
    """None: nothing was to be done."""
    again: frozenset[str] = frozenset()
    """Paths that must be looked at once more before they are believed."""
    folders: Mapping[str, int] | None = None
    """Where events must be heard of; None: not all files were looked at."""
    unfinished: bool = False
    """Whether the time was over before all was done."""
    waiting: bool = False
    """Whether chunks wait for a vector that could not be had now."""
    seconds: float = 0.0
    """Of the look at the files."""
    troubles: tuple[Diagnostic, ...] = ()
    """What is wrong with the provider, whether or not anything was to be done."""


def look_for(
    job: IndexJob,
    workspace: Workspace,
    index: Index,
    *,
    young: tuple[float, float],
    due: Callable[[Source, IndexedFile], bool],
) -> ScanResult:
    """Compare what a job asks for with the index.

    Args:
        job: the paths, cited or absolute, or all files.
        workspace: where they are.
        index: what is known of them.
        young: a note of unknown history that was changed between these times (seconds since 1970) is left for later.
        due: whether a file that changed is to be read now.

    Raises:
        WorkspaceNotFound: the workspace is not there now.
    """
    version = index.version()
    asked = dict(found for path in job.paths if (found := workspace.find(path)) is not None)
    settled = {found[0] for path in job.settled if (found := workspace.find(path)) is not None}
    again: set[str] = set()
    folders = None
    if job.whole:
        scan, known = workspace.scan(), index.files()
        folders = scan.folders
        sources: list[Source] = []
        for source in scan.sources:
            fresh = (
                source.kind == "memory" and young[0] < source.mtime_ns / 1e9 <= young[1] and source.path not in asked
            )
            if fresh and not _same(source, known.get(source.path)):
                again.add(source.path)
            else:
                sources.append(source)
        plan = make_plan(sources, {path: file for path, file in known.items() if path not in again}, due)
    else:
        known = index.files_at(asked)
        plan = make_plan([source for source in asked.values() if source is not None], known, due)
    if not workspace.root.is_dir():
        raise WorkspaceNotFound(f"{str(workspace.root)!r} is not there now.", remedy="Bring it back; the index waits.")
    again.update(path for path in plan.removed if path not in settled)
    plan = replace(plan, removed=tuple(path for path in plan.removed if path in settled))
    return ScanResult(
        ChangeSet(version, needed=not plan.empty, plan=plan, known=known, held=True), frozenset(again), folders
    )


def _same(source: Source, known: IndexedFile | None) -> bool:
    return known is not None and same_stat(source, known)


def still_to_do(look: ChangeSet, index: Index) -> ChangeSet:
    """A look that holds, without what was done since."""
    if look.plan is None:
        return look
    known = index.files_at([*(source.path for source in look.plan.sources), *look.plan.removed])
    plan = make_plan(look.plan.sources, _without(known, look.plan.removed))
    removed = tuple(path for path in look.plan.removed if path in known)
    return replace(look, plan=Plan(plan.added, plan.suspect, removed), known=known)


def _without(known: Mapping[str, IndexedFile], paths: Collection[str]) -> dict[str, IndexedFile]:
    return {path: file for path, file in known.items() if path not in paths}
