"""Footers with the source of a snippet: used in direct chats, unless the configuration decides otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, assert_never

if TYPE_CHECKING:
    from memoriter.config import Citations

ChatKind = Literal["direct", "group", "channel"]


def citations_on(mode: Citations, session_key: str | None = None) -> bool:
    """Return whether snippets have a footer with their source.

    Args:
        mode: `memory.citations` of the configuration.
        session_key: such as `agent:main:slack:group:7`; None: only the owner reads the conversation.
    """
    match mode:
        case "on":
            return True
        case "off":
            return False
        case "auto":
            return chat_kind(session_key) == "direct"
        case _:
            assert_never(mode)


def chat_kind(session_key: str | None) -> ChatKind:
    """Return the kind of conversation in a session's key: the words after `agent:<id>:` decide, in any case."""
    parts = [part for part in (session_key or "").strip().split(":") if part]
    words = {part.lower() for part in parts[2:]} if parts[:1] == ["agent"] else set[str]()
    if "channel" in words:
        return "channel"
    return "group" if "group" in words else "direct"


def with_footer(snippet: str, citation: str) -> str:
    """Return the snippet, trimmed, with its source below it."""
    return f"{snippet.strip()}\n\nSource: {citation}"
