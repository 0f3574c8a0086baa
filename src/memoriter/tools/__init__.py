"""The tools of an agent (`memory_search`, `memory_get`, `memory_append`) as values, and the JSON form of results."""

from memoriter.tools._append import APPEND, append_tool
from memoriter.tools._citations import ChatKind, chat_kind, citations_on, with_footer
from memoriter.tools._clamp import clamped
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
    health_json,
    reason_json,
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
    "APPEND",
    "GET",
    "SEARCH",
    "TOOLS",
    "ChatKind",
    "MemoryLike",
    "Tool",
    "append_tool",
    "appended_json",
    "chat_kind",
    "citations_on",
    "clamped",
    "compact_json",
    "cost_json",
    "error_json",
    "estimate_json",
    "excerpt_json",
    "forget_plan_json",
    "forgotten_json",
    "get_tool",
    "health_json",
    "reason_json",
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
