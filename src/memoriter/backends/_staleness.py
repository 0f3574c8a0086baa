"""Whether an answer may be older than the notes, and how to say so."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.errors import PathRefused
from memoriter.sync import UNSURE, Plan, make_plan
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter.index import IndexedFile
    from memoriter.types import Source
    from memoriter.workspace import Workspace

NAMED = 3


def quick_scan(workspace: Workspace, known: Mapping[str, IndexedFile]) -> Plan:
    """Return how the notes differ from what is indexed."""
    return confirmed(make_plan(workspace.scan().sources, known), workspace, known)


def confirmed(plan: Plan, workspace: Workspace, known: Mapping[str, IndexedFile]) -> Plan:
    """Return the plan without notes whose recent times were not trusted, and whose content is indexed as it is."""
    return replace(plan, suspect=tuple(each for each in plan.suspect if not _same(each, workspace, known[each.path])))


def _same(source: Source, workspace: Workspace, indexed: IndexedFile) -> bool:
    if source.kind != "memory" or indexed.stamp != UNSURE or source.size != indexed.size:
        return False
    with suppress(PathRefused):
        return workspace.load(source).hash == indexed.hash
    return False


def staleness(plan: Plan, *, busy: bool = False) -> list[Diagnostic]:
    """That an answer does not know the newest of the notes; nothing where it does.

    Args:
        plan: what is still to be indexed.
        busy: whether another process is at it.
    """
    if plan.empty:
        return []
    paths = sorted([*(source.path for source in (*plan.added, *plan.suspect)), *plan.removed])
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    changed = f"{plan.size} note{'' if plan.size == 1 else 's'} changed since the index was made"
    message = f"{changed}, which is not in this answer: {', '.join(paths[:NAMED])}{more}."
    return [Diagnostic("stale", message, "Ask again when it is done." if busy else "Run: memoriter index")]


def unindexed(plan: Plan) -> Diagnostic:
    """That there are notes, and that nobody has indexed them."""
    notes = f"{len(plan.added)} note{' is' if len(plan.added) == 1 else 's are'}"
    return Diagnostic("not_indexed", f"{notes} there, and none is indexed yet.", "Run: memoriter index, or search.")
