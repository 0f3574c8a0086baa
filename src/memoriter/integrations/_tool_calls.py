"""Calls of the memory's tools by frameworks that describe a tool in a form of their own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter import Memory
    from memoriter.tools import Tool

PYTHON_TYPES: Mapping[str, type] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
}
"""The Python type of each type in the schema of a tool."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool."""

    name: str
    type: str
    """A type of JSON Schema, such as `string`."""
    description: str
    required: bool


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """A tool of a memory, ready to be called by a framework."""

    memory: Memory
    tool: Tool
    session: str | None = None
    """The key of the conversation, for citations and the scope of searches; None: only the owner reads it."""

    def __call__(self, arguments: Mapping[str, Any]) -> str:
        """Run the tool and return its JSON as text, with outcome, citations and health. It raises nothing.

        An argument that is None is not given.
        """
        given = {name: value for name, value in arguments.items() if value is not None}
        return json.dumps(self.tool.run(self.memory, given, session_key=self.session), ensure_ascii=False)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters; the required ones first."""
        schema = self.tool.input_schema
        required = set(schema.get("required", ()))
        rows = [
            Parameter(name, each.get("type", "string"), each.get("description", ""), name in required)
            for name, each in schema["properties"].items()
        ]
        return tuple(sorted(rows, key=lambda row: not row.required))


def tool_calls(memory: Memory, session: str | None = None) -> tuple[ToolCalls, ...]:
    """Return the tools of a memory and of its plugins. Raises ConfigError if the slot names a missing plugin."""
    return tuple(ToolCalls(memory, tool, session) for tool in memory.tools)
