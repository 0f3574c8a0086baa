"""OpenAI Agents SDK: a session that is a Markdown note, and the tools of the memory."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from memoriter.extras import require

require("openai-agents", "The adapter for the OpenAI Agents SDK")

from agents import FunctionTool, TResponseInputItem
from agents.memory import SessionABC, SessionSettings

from memoriter.integrations._notes import Conversation
from memoriter.memory import Memory

if TYPE_CHECKING:
    from agents.tool_context import ToolContext

    from memoriter.tools import Tool


class MemoriterSession(SessionABC):
    """A session whose items are in one note, `memory/openai-agents/SESSION.md`, which searches find like any other."""

    def __init__(
        self,
        session_id: str,
        memory: Memory,
        *,
        folder: str = "memory/openai-agents",
        session_settings: SessionSettings | None = None,
    ) -> None:
        """Open a conversation.

        Args:
            session_id: the id of the conversation; any text.
            memory: the memory that holds the note.
            folder: the folder of the notes, as in citations.
            session_settings: its `limit` is the number of items that the agent sees; None: all of them.
        """
        self.session_id = session_id
        self.session_settings = session_settings
        self._conversation = Conversation(memory, folder, session_id, "agent (OpenAI Agents SDK)")

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items in order; with a limit, the last ones."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        items = await asyncio.to_thread(self._conversation.items, limit)
        return cast("list[TResponseInputItem]", items)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items, all or none. Raises UsageError if one is not JSON."""
        await asyncio.to_thread(self._conversation.add, [(_heading(cast("Any", item)), item) for item in items])

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the last item and return it; None if there is none."""
        return cast("TResponseInputItem | None", await asyncio.to_thread(self._conversation.pop))

    async def clear_session(self) -> None:
        """Delete the note of the conversation."""
        await asyncio.to_thread(self._conversation.clear)


def _heading(item: dict[str, Any]) -> str:
    return str(item.get("role") or item.get("type") or "item").replace("\n", " ")


def memory_tools(memory: Memory, *, session: str | None = None) -> list[FunctionTool]:
    """Return the tools of the memory for `Agent(tools=...)`; results are JSON with citations, outcome and health.

    `session` is the key of the conversation, which decides about citations; None: only the owner reads it.
    """
    return [_function_tool(memory, tool, session) for tool in memory.tools]


def _function_tool(memory: Memory, tool: Tool, session: str | None) -> FunctionTool:
    async def invoke(_: ToolContext[Any], arguments: str) -> str:
        try:
            params = json.loads(arguments or "{}")
        except ValueError as error:
            return json.dumps({"error": f"The arguments are no JSON: {error}.", "action": "Call the tool again."})
        result = await asyncio.to_thread(partial(tool.run, memory, params, session_key=session))
        return json.dumps(result, ensure_ascii=False)

    schema = dict(tool.input_schema)
    return FunctionTool(tool.name, tool.description, schema, invoke, strict_json_schema=False)
