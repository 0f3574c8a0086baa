"""The tools of an agent (`memory_search`, `memory_get`, `memory_append`) as values."""

from memoriter.tools._append import APPEND, append_tool
from memoriter.tools._get import GET, get_tool
from memoriter.tools._search import SEARCH, ChatKind, chat_kind, citations_on, clamped, search_tool
from memoriter.tools._table import TOOLS, tools_for
from memoriter.tools._tool import MemoryLike, Tool

__all__ = [
    "APPEND",
    "GET",
    "SEARCH",
    "TOOLS",
    "ChatKind",
    "MemoryLike",
    "Tool",
    "append_tool",
    "chat_kind",
    "citations_on",
    "clamped",
    "get_tool",
    "search_tool",
    "tools_for",
]
