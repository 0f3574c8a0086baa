"""The tools that an agent receives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.tools._append import APPEND
from memoriter.tools._get import GET
from memoriter.tools._search import SEARCH

if TYPE_CHECKING:
    from memoriter.config import MemorySearch
    from memoriter.tools._tool import Tool

TOOLS: tuple[Tool, ...] = (SEARCH, GET, APPEND)


def tools_for(settings: MemorySearch) -> tuple[Tool, ...]:
    """Return the tools of an agent with these settings: none if `memorySearch.enabled` is off."""
    return TOOLS if settings.enabled else ()
