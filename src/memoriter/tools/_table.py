"""Which tools an agent gets."""

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
    """The tools of an agent with these settings: none where `memorySearch.enabled` is off."""
    return TOOLS if settings.enabled else ()
