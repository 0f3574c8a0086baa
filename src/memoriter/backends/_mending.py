"""Repair: indexing notes again whose passages in the index differ from the notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.sync import ChangeSet, Plan, Task
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.backends._ports import Store
    from memoriter.errors import IndexUnavailable
    from memoriter.records import StoredChunk
    from memoriter.search import Deadline
    from memoriter.types import Source
    from memoriter.workspace import Workspace

NAMED = 3


def existing_sources(rows: Sequence[StoredChunk], workspace: Workspace) -> tuple[Source, ...]:
    """Return the files of these passages that exist.

    Passages of missing files stay in the index until a full scan confirms that the file is gone.
    """
    entries = (workspace.find(path) for path in sorted({row.path for row in rows}))
    return tuple(source for entry in entries if entry is not None and (source := entry[1]) is not None)


def mend(sources: tuple[Source, ...], index: Store, deadline: Deadline) -> Task:
    """Remove these files from the index and return the task that indexes them again. Expects the lease."""
    index.remove_files([source.path for source in sources])
    changes = ChangeSet(index.version(), needed=True, plan=Plan(added=sources), indexed={}, held=True)
    return Task(changes=changes, embed_by=deadline, everything=False)


def repaired(damaged: Sequence[StoredChunk]) -> list[Diagnostic]:
    """Return a diagnostic that damaged passages were indexed again, if there were any."""
    if not damaged:
        return []
    message = f"The index held {_passages(damaged)} not as they were written; their notes were indexed again."
    return [
        Diagnostic(
            "index_repaired", message, "If this comes again, look at the disk and run `memoriter index --force`."
        )
    ]


def unrepaired(
    rows: Sequence[StoredChunk], damaged: Sequence[StoredChunk], error: IndexUnavailable
) -> list[Diagnostic]:
    """Return why passages are missing from a result: the index could not be written."""
    blocked = Diagnostic(error.code, error.message, error.remedy)
    if damaged:
        message = f"The index holds {_passages(damaged)} not as they were written; they are left out."
        return [Diagnostic("index_damaged", message, "Run `memoriter index --force`."), blocked]
    message = f"The notes of {_passages(rows)} changed since they were indexed; these passages are left out."
    return [Diagnostic("stale", message, "Run `memoriter index`."), blocked]


def _passages(rows: Sequence[StoredChunk]) -> str:
    places = [f"{row.path}#L{row.chunk.start_line}" for row in rows]
    more = f" and {len(places) - NAMED} more" if len(places) > NAMED else ""
    return f"{len(places)} passage{'' if len(places) == 1 else 's'} ({', '.join(places[:NAMED])}{more})"
