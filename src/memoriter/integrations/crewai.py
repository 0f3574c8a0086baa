"""Tools for CrewAI: `Agent(tools=memory_tools(memory))`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from memoriter.extras import require

require("crewai", "The CrewAI adapter")

from crewai.tools import BaseTool
from pydantic import BaseModel, Field, PrivateAttr, create_model

from memoriter.integrations._tool_calls import PYTHON_TYPES, ToolCalls, tool_calls

if TYPE_CHECKING:
    from memoriter import Memory


class MemoryTool(BaseTool):
    """A tool of a memory. Its result is JSON as text, with outcome, citations and health."""

    _calls: ToolCalls = PrivateAttr()

    def __init__(self, calls: ToolCalls) -> None:
        super().__init__(
            name=calls.tool.name,
            description=calls.tool.description,
            args_schema=_arguments_model(calls),
            cache_function=never_cached,
        )
        self._calls = calls

    def _run(self, **arguments: Any) -> str:
        return self._calls(arguments)

    async def _arun(self, **arguments: Any) -> str:
        return await asyncio.to_thread(self._calls, arguments)


def memory_tools(memory: Memory, *, session: str | None = None) -> list[BaseTool]:
    """Return the tools of a memory for an agent or a task.

    `session` is the key of the conversation, such as `agent:main:slack:group:7`; None: only the owner reads it.
    """
    return [MemoryTool(calls) for calls in tool_calls(memory, session)]


def never_cached(_arguments: Any = None, _result: Any = None) -> bool:
    """Return False, because the notes may have changed since the last call with the same arguments."""
    return False


def _arguments_model(calls: ToolCalls) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for parameter in calls.parameters:
        python_type = PYTHON_TYPES[parameter.type]
        annotation = python_type if parameter.required else python_type | None
        default = ... if parameter.required else None
        fields[parameter.name] = (annotation, Field(default, description=parameter.description))
    return create_model(f"{calls.tool.name}_arguments", **fields)
