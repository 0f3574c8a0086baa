"""`memory_append`: lets the agent write a lasting note."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from memoriter.api_json import appended_json
from memoriter.errors import MemoriterError, UsageError, sentence
from memoriter.tools._tool import Tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter.tools._tool import MemoryLike

NAME = "memory_append"
ORIGIN = "agent"
"""Origin of an entry that a tool appends; a server passes its own."""
DESCRIPTION = """\
Write something down so that you know it in later conversations: a decision with its reason, a preference, a fact \
about the user or their work, an open task. Call it when the user asks you to remember something, and when you learn \
something that will matter later. Write whole sentences that can be understood without this conversation: names \
instead of "he", days instead of "tomorrow". First call memory_search to see whether it is already noted. Never \
write passwords or keys.
The text is added at the end of a note; nothing that is there is changed. Returns path and lines. `findable` says \
whether memory_search finds it from now on; `error` means that nothing was written."""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {
            "type": "string",
            "description": "What to write down, as Markdown; a single paragraph becomes a list item.",
        },
        "to": {
            "type": "string",
            "enum": ["daily", "long-term"],
            "description": "daily (default): today's log, for what happened. long-term: MEMORY.md, for what stays.",
        },
    },
    "required": ["text"],
    "additionalProperties": False,
}
OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "written": {"type": "boolean"},
        "path": {"type": "string"},
        "startLine": {"type": "integer"},
        "endLine": {"type": "integer"},
        "citation": {"type": "string"},
        "findable": {"type": "boolean"},
        "reason": {"type": "string"},
        "health": {"type": "object"},
        "error": {"type": "string"},
        "action": {"type": "string"},
    },
    "required": ["written"],
}

log = logging.getLogger(__name__)


def append_tool(memory: MemoryLike, params: Mapping[str, Any], *, session_key: str | None = None) -> dict[str, Any]:
    """Run `memory_append`; a failure becomes JSON with `written: false` and the error."""
    del session_key
    try:
        return _append(memory, params)
    except MemoriterError as error:
        action = error.remedy or "Tell the user that it was not written down."
        return {"written": False, "error": error.message, "action": action}
    except Exception as error:  # the agent's turn continues
        log.warning("memory_append failed", exc_info=True)
        action = "Tell the user that it may not be written down."
        return {"written": False, "error": sentence(f"{type(error).__name__}: {error}"), "action": action}


def _append(memory: MemoryLike, params: Mapping[str, Any]) -> dict[str, Any]:
    from memoriter.tools._params import AppendParams, parse_params  # listing the tools must not import pydantic

    request = parse_params(AppendParams, params)
    if request.text is None:
        raise UsageError(
            "The parameter text is required.", remedy=f"Call {NAME} again with what to write down in `text`."
        )
    written = memory.remember(request.text, to=request.to or "daily", origin=ORIGIN)
    answer = {"written": True, **appended_json(written, workspace=memory.place.workspace)}
    if not written.reasons:
        return {**answer, "findable": True}
    reason_text = " ".join(f"{reason.message} {reason.remedy}".strip() for reason in written.reasons)
    return {**answer, "findable": False, "reason": reason_text}


APPEND = Tool(NAME, DESCRIPTION, SCHEMA, append_tool, "Write a note", OUTPUT, writes=True)
