"""Tools for smolagents: `ToolCallingAgent(tools=memory_tools(memory), model=…)`, or a `CodeAgent`."""

from __future__ import annotations

import keyword
from typing import TYPE_CHECKING, Any

from memoriter.extras import require

require("smolagents", "The smolagents adapter")

from smolagents import Tool

from memoriter.errors import UsageError
from memoriter.integrations._tool_calls import Parameter, ToolCalls, tool_calls

if TYPE_CHECKING:
    from memoriter import Memory


class MemoryTool(Tool):
    """A tool of a memory. Its result is JSON as text, with outcome, citations and health.

    A `CodeAgent` writes calls as Python, so a parameter whose name is a keyword ends in `_`: `from_` of `memory_get`.
    """

    output_type = "string"
    skip_forward_signature_validation = True

    def __init__(self, calls: ToolCalls) -> None:
        self._calls = calls
        self._names = {_python_name(parameter): parameter.name for parameter in calls.parameters}
        self.name = calls.tool.name
        self.description = calls.tool.description
        self.inputs = {_python_name(parameter): _input(parameter) for parameter in calls.parameters}
        super().__init__()  # pyright: ignore[reportUnknownMemberType]

    def forward(self, *values: Any, **arguments: Any) -> str:
        """Run the tool; parameters without a name have the order of `inputs`."""
        if len(values) > len(self._names):
            raise UsageError(
                f"{self.name} got {len(values)} arguments, but it has {len(self._names)} parameters.",
                remedy=f"Name them: {', '.join(self._names)}.",
            )
        given = {**dict(zip(self._names, values, strict=False)), **arguments}
        return self._calls({self._names.get(name, name): value for name, value in given.items()})


def memory_tools(memory: Memory, *, session: str | None = None) -> list[Tool]:
    """Return the tools of a memory for an agent.

    `session` is the key of the conversation, such as `agent:main:slack:group:7`; None: only the owner reads it.
    """
    return [MemoryTool(calls) for calls in tool_calls(memory, session)]


def _python_name(parameter: Parameter) -> str:
    return f"{parameter.name}_" if keyword.iskeyword(parameter.name) else parameter.name


def _input(parameter: Parameter) -> dict[str, Any]:
    described = {"type": parameter.type, "description": parameter.description}
    return described if parameter.required else {**described, "nullable": True}
