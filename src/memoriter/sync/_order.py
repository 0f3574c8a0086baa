"""What is read when there is no time for all of it: pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from memoriter.types import Source

QUICK_CHUNKS = 2_000
"""So many are cut anew while somebody waits for an answer; a larger index keeps serving as it is."""
OUTDATED = Diagnostic(
    "index_outdated", "The index was made with other settings and serves as it is.", "Run: memoriter index"
)


def newest_first(sources: Iterable[Source], first: Collection[str]) -> tuple[Source, ...]:
    """Those whose cited path is in `first`, then the others, the last change before older ones."""
    return tuple(sorted(sources, key=lambda source: (source.path not in first, -source.mtime_ns, source.path)))


def unread_reason(count: int) -> tuple[Diagnostic, ...]:
    """What a person is told about changed files that are left for later; nothing where there are none."""
    if not count:
        return ()
    files = "1 changed file is" if count == 1 else f"{count} changed files are"
    return (Diagnostic("files_pending", f"{files} not indexed yet; the next searches go on.", "Run: memoriter index"),)
