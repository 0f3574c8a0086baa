"""Tools for Agno: `Agent(tools=[memory_tools(memory)])`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.extras import require

require("agno", "The Agno adapter")

from agno.tools import Toolkit
from agno.tools.function import Function

from memoriter.integrations._tool_calls import ToolCalls, tool_calls

if TYPE_CHECKING:
    from memoriter import Memory


def memory_tools(memory: Memory, *, session: str | None = None) -> Toolkit:
    """Return the tools of a memory for an agent or a team. Their results have outcome, citations and health.

    `session` is the key of the conversation, such as `agent:main:slack:group:7`; None: only the owner reads it.
    """
    calls = tool_calls(memory, session)
    toolkit = Toolkit(name="memoriter", tools=[_function(each) for each in calls])
    for each in calls:  # the toolkit copies its functions without this field
        toolkit.functions[each.tool.name].has_side_effects = each.tool.writes
    return toolkit


def _function(calls: ToolCalls) -> Function:
    def run(**arguments: Any) -> str:
        return calls(arguments)

    tool = calls.tool
    hints = {} if tool.writes is None else {"readOnlyHint": not tool.writes, "destructiveHint": tool.destructive}
    return Function(
        name=tool.name,
        description=tool.description,
        title=tool.title or None,
        parameters=dict(tool.input_schema),
        entrypoint=run,
        skip_entrypoint_processing=True,
        annotations=hints or None,
    )
