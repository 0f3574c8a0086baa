"""The order of reading when the time is limited. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from memoriter.types import Source

QUICK_CHUNKS = 2_000
"""The most chunks that are split again within a search. A larger index stays in use as it is."""
OUTDATED = Diagnostic(
    "index_outdated", "The index was made with other settings and serves as it is.", "Run `memoriter index`."
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
