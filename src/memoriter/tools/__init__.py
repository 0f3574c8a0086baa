"""The tools of an agent (`memory_search`, `memory_get`, `memory_append`) as values."""

from memoriter.tools._tool import Tool, advice, input_schema, origin_json, parse_parameters
from memoriter.tools._tools import (
    APPEND,
    GET,
    SEARCH,
    TOOLS,
    ChatKind,
    append_tool,
    chat_kind,
    citations_on,
    clamped,
    found_json,
    get_tool,
    search_tool,
    tools_for,
)
from memoriter.types import Argument

__all__ = [
    "APPEND",
    "GET",
    "SEARCH",
    "TOOLS",
    "Argument",
    "ChatKind",
    "Tool",
    "advice",
    "append_tool",
    "chat_kind",
    "citations_on",
    "clamped",
    "found_json",
    "get_tool",
    "input_schema",
    "origin_json",
    "parse_parameters",
    "search_tool",
    "tools_for",
]
