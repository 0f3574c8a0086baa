"""The tools that an agent receives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.tools._append import APPEND
from memoriter.tools._get import GET
from memoriter.tools._search import SEARCH, without_citing

if TYPE_CHECKING:
    from memoriter.config import MemorySearch
    from memoriter.tools._tool import Tool

TOOLS: tuple[Tool, ...] = (SEARCH, GET, APPEND)


def tools_for(settings: MemorySearch, *, citations: bool = True) -> tuple[Tool, ...]:
    """Return the tools of an agent with these settings: none if `memorySearch.enabled` is off.

    Without `citations`, their descriptions do not ask the agent to cite.
    """
    if not settings.enabled:
        return ()
    return TOOLS if citations else (without_citing(SEARCH), GET, APPEND)
