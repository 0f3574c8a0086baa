"""Staleness: whether a result may be older than the notes, and the diagnostics for it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.errors import PathRefused
from memoriter.sync import UNSURE, Plan, make_plan
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter.records import IndexedFile
    from memoriter.types import Source
    from memoriter.workspace import Workspace

NAMED = 3


def quick_scan(workspace: Workspace, indexed: Mapping[str, IndexedFile]) -> Plan:
    """Return the changes in the notes that are not indexed yet."""
    return confirmed(make_plan(workspace.scan().sources, indexed), workspace, indexed)


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
        return workspace.load(source).hash == indexed.hash
    return False


def staleness(plan: Plan, *, busy: bool = False) -> list[Diagnostic]:
    """Return a warning if the result misses the newest changes of the notes.

    Args:
        plan: the changes that are not indexed yet.
        busy: whether another process is indexing them now.
    """
    if plan.empty:
        return []
    paths = sorted([*(source.path for source in (*plan.added, *plan.suspect)), *plan.removed])
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    changed = f"{plan.size} note{'' if plan.size == 1 else 's'} changed since the index was made"
    message = f"{changed}, which is not in this answer: {', '.join(paths[:NAMED])}{more}."
    return [Diagnostic("stale", message, "Ask again when it is done." if busy else "Run `memoriter index`.")]


def unindexed(plan: Plan) -> Diagnostic:
    """Return the diagnostic that notes exist and none is indexed."""
    notes = f"{len(plan.added)} note{' is' if len(plan.added) == 1 else 's are'}"
    return Diagnostic("not_indexed", f"{notes} there, and none is indexed yet.", "Run `memoriter index`, or search.")
