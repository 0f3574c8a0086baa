"""Reading notes again whose passages in the index are not what the notes say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.sync import ChangeSet, Plan, Task
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.errors import IndexUnavailable
    from memoriter.index import Index, StoredChunk
    from memoriter.search import Deadline
    from memoriter.types import Source
    from memoriter.workspace import Workspace

NAMED = 3


def there(rows: Sequence[StoredChunk], workspace: Workspace) -> tuple[Source, ...]:
    """Return the files of these passages that are there.

    Any other stays in the index until a look at all files tells that it is gone.
    """
    found = (workspace.find(path) for path in sorted({row.path for row in rows}))
    return tuple(source for each in found if each is not None and (source := each[1]) is not None)


def mend(sources: tuple[Source, ...], index: Index, deadline: Deadline) -> Task:
    """Forget these files and return the task that indexes them again. Expects the lease."""
    index.remove_files([source.path for source in sources])
    look = ChangeSet(index.version(), needed=True, plan=Plan(added=sources), known={}, held=True)
    return Task(look=look, embed_by=deadline, everything=False)


def mended(damaged: Sequence[StoredChunk]) -> list[Diagnostic]:
    """Return that damaged passages were read from the notes again, if any were."""
    if not damaged:
        return []
    message = f"The index held {_passages(damaged)} not as they were written; their notes were indexed again."
    return [
        Diagnostic("index_repaired", message, "Run: memoriter index --force, if this comes again; look at the disk.")
    ]


def left_over(rows: Sequence[StoredChunk], damaged: Sequence[StoredChunk], error: IndexUnavailable) -> list[Diagnostic]:
    """Return why passages are missing from an answer, as the index could not be written."""
    blocked = Diagnostic(error.code, f"{error.message}.".replace("..", "."), error.remedy)
    if damaged:
        message = f"The index holds {_passages(damaged)} not as they were written; they are left out."
        return [Diagnostic("index_damaged", message, "Run: memoriter index --force"), blocked]
    message = f"{_passages(rows)} changed since they were indexed, and are left out of this answer."
    return [Diagnostic("stale", message[0].upper() + message[1:], "Run: memoriter index"), blocked]


def _passages(rows: Sequence[StoredChunk]) -> str:
    places = [f"{row.path}#L{row.chunk.start_line}" for row in rows]
    more = f" and {len(places) - NAMED} more" if len(places) > NAMED else ""
    return f"{len(places)} passage{'' if len(places) == 1 else 's'} ({', '.join(places[:NAMED])}{more})"
