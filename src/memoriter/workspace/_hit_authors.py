"""Who wrote the lines of a passage that a search found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.errors import MemoriterError
from memoriter.workspace._paths import is_client_memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.types import Hit


UNKNOWN = "somebody"
"""The author of a line that its note no longer has."""


def hit_authors(authors: Callable[[str], list[str]], hit: Hit) -> tuple[str, ...]:
    """Return who wrote each line of a passage, such as `agent, 2026-11-22`; empty: the owner.

    Conversations, and what clients remember by themselves, count as written by the owner's agents.
    """
    count = hit.end_line - hit.start_line + 1
    at = hit.date or hit.changed
    day = f", {at.isoformat()}" if at else ""
    if hit.source != "memory":
        return (f"agent (conversation){day}",) * count
    if is_client_memory(hit.path):
        return (f"agent (its own memory){day}",) * count
    try:
        written_by = authors(hit.path)[hit.start_line - 1 : hit.end_line]
    except MemoriterError:
        written_by = []
    return (*written_by, *[UNKNOWN] * (count - len(written_by)))


def author_of_hit(authors: Callable[[str], list[str]], hit: Hit) -> str:
    """Return who besides the owner wrote a passage; empty: nobody."""
    return "; ".join(dict.fromkeys(filter(None, hit_authors(authors, hit))))
