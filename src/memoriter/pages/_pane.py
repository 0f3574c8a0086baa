"""The pane on the left of Search and Notes: recent notes, a filter, the tree of files, and tags."""

from __future__ import annotations

from datetime import date, datetime  # noqa: TC003 - the examples of the docstrings use them
from typing import TYPE_CHECKING, Any

from memoriter.environment import local_time
from memoriter.pages._library import folder_at, matching

if TYPE_CHECKING:
    from starlette.responses import Response

    from memoriter.memory import Memory
    from memoriter.pages._library import Listing
    from memoriter.pages._page import Visit

DAYS_OF_MONTHS = 300
"""Changes that are older have their year, and no day."""
MOST_MATCHES = 50
"""Notes that the filter lists at most."""
MOST_TAGS = 300
"""Tags that are listed at most, those of most notes."""


async def pane_of(visit: Visit, path: str = "", folder: str = "") -> dict[str, Any]:
    """Return what the template of the pane needs.

    `path` is the open note, and `folder` is listed besides the folders that lead to it.
    """
    words = visit.parameter("filter")

    def collect(memory: Memory) -> dict[str, Any]:
        listing = visit.library.listing(memory)
        return {
            "tree": listing.tree,
            "open_path": path or folder,
            "path": path,
            "recent": [] if words else _recent(memory, listing),
            "words": words,
            "matches": [*matching((each.path for each in listing.sources), words, MOST_MATCHES)] if words else [],
        }

    return await visit.with_memory("read", collect, quick=True)


async def branch(visit: Visit) -> Response:
    """Return the content of one folder of the tree."""
    path = visit.parameter("folder")
    root = await visit.with_memory("read", lambda memory: visit.library.listing(memory).tree, quick=True)
    folder = folder_at(root, path)
    return await visit.render("pane/_branch.html", folder=folder, open_path="", path="")


async def tags(visit: Visit) -> Response:
    """Return all tags with the number of their notes."""
    counts = await visit.with_memory("read", visit.library.tags)
    template = "pane/_tags.html" if visit.fragment else "pane/tags.html"
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return await visit.render(template, tags=ordered[:MOST_TAGS], left_out=max(0, len(ordered) - MOST_TAGS))


def _recent(memory: Memory, listing: Listing) -> list[tuple[str, str, str]]:
    """Return path, name and age of the notes that were changed last."""
    today = memory.now().date()
    zone = memory.configuration.settings.agents.defaults.user_timezone
    return [
        (source.path, name_of(source.path), age_of(local_time(source.mtime_ns / 1e9, zone), today))
        for source in listing.recent
    ]


def age_of(changed: datetime, today: date) -> str:
    """Return when a note was changed, as short as is clear.

    >>> age_of(datetime(2026, 2, 9, 12), date(2026, 2, 10)), age_of(datetime(2026, 2, 1, 12), date(2026, 2, 10))
    ('yesterday', '1 Feb')
    """
    days = (today - changed.date()).days
    if days <= 0:
        return f"{changed:%H:%M}"
    if days == 1:
        return "yesterday"
    return f"{changed.day} {changed:%b}" if days < DAYS_OF_MONTHS else f"{changed:%Y}"


def name_of(path: str) -> str:
    """Return the name of a note for people: that of its file without the folders and `.md`.

    >>> name_of("memory/work/style.md")
    'style'
    """
    return path.rpartition("/")[2].removesuffix(".md")
