"""Whether an answer may be older than the notes, and how to say so."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoriter.sync import Plan, make_plan
from memoriter.types import Reason, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from memoriter.index import IndexedFile
    from memoriter.workspace import Workspace

GLANCED_AT = 1_000
"""Notes that are looked at before an answer where nothing else looks: a few hundredths of a second."""
NAMED = 3


def glance(workspace: Workspace, known: Mapping[str, IndexedFile]) -> Plan:
    """How the notes differ from what is indexed; where there are very many, only what the newest of them say."""
    if len(known) <= GLANCED_AT:
        return make_plan(workspace.scan().sources, known)
    newest = sorted(known, key=lambda path: -known[path].mtime_ns)[:GLANCED_AT]
    some = {path: known[path] for path in newest}
    return make_plan(_still_there(workspace.root, some), some)


def _still_there(root: Path, known: Mapping[str, IndexedFile]) -> Iterator[Source]:
    for path, file in known.items():
        place = root / path
        try:
            found = os.lstat(place)
        except OSError:
            continue
        yield Source(path, file.kind, place, found.st_size, found.st_mtime_ns)


def stale(plan: Plan, *, busy: bool = False) -> list[Reason]:
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
    return [Reason("stale", message, "Ask again when it is done." if busy else "Run: memoriter index")]


def unindexed(plan: Plan) -> Reason:
    """That there are notes, and that nobody has indexed them."""
    notes = f"{len(plan.added)} note{' is' if len(plan.added) == 1 else 's are'}"
    return Reason("not_indexed", f"{notes} there, and none is indexed yet.", "Run: memoriter index, or search.")
