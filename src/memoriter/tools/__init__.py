"""What an agent can call: `memory_search` and `memory_get` as values, and the one JSON form of every answer."""

from memoriter.tools._citations import ChatKind, chat_kind, citations_on, with_footer
from memoriter.tools._get import GET, get_tool
from memoriter.tools._json import (
    appended_json,
    compact_json,
    cost_json,
    error_json,
    estimate_json,
    excerpt_json,
    forget_plan_json,
    forgotten_json,
    refusal_json,
    result_json,
    status_json,
    sync_json,
    unavailable_json,
    watch_json,
)
from memoriter.tools._search import SEARCH, search_tool
from memoriter.tools._table import TOOLS, tools_for
from memoriter.tools._tool import MemoryLike, Tool

__all__ = [
    "GET",
    "SEARCH",
    "TOOLS",
    "ChatKind",
    "MemoryLike",
    "Tool",
    "appended_json",
    "chat_kind",
    "citations_on",
    "compact_json",
    "cost_json",
    "error_json",
    "estimate_json",
    "excerpt_json",
    "forget_plan_json",
    "forgotten_json",
    "get_tool",
    "refusal_json",
    "result_json",
    "search_tool",
    "status_json",
    "sync_json",
    "tools_for",
    "unavailable_json",
    "watch_json",
    "with_footer",
]
