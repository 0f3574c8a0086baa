"""The tools, as MCP lists and calls them."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import anyio
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp.types import Tool as McpTool

from memoriter.errors import sentence
from memoriter.workspace import neutral, neutral_data, neutral_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.server.context import ServerRequestContext

    from memoriter.errors import MemoriterError
    from memoriter.mcp_server._shared import SharedMemory
    from memoriter.tools import Tool


QUICK = frozenset({"memory_get", "memory_append", "fetch"})
"""Tools that only read or write notes and never search."""
log = logging.getLogger(__name__)


class Tools:
    """Handlers of `tools/list` and `tools/call`."""

    def __init__(self, shared: SharedMemory, tools: Sequence[Tool]) -> None:
        self._shared = shared
        self._tools = {tool.name: tool for tool in tools}

    async def list(self, context: ServerRequestContext[Any], params: PaginatedRequestParams | None) -> ListToolsResult:
        del context, params
        return ListToolsResult(tools=[to_mcp_tool(tool) for tool in self._tools.values()])

    async def call(self, context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            names = ", ".join(self._tools) or "none"
            raise MCPError(INVALID_PARAMS, f"There is no tool {params.name!r}. There are: {names}.")
        arguments, started = params.arguments or {}, anyio.current_time()
        try:
            answer = await self._shared.run_request(
                context.session,
                lambda memory: tool.run(memory, arguments),
                exclusive=tool.writes is None,  # a tool of a plugin may not be thread-safe
                quick=tool.name in QUICK,
            )
            result = to_result(answer)
        except Exception as error:  # a tool of a plugin may raise anything
            log.warning("%s failed", tool.name, exc_info=True)
            text = neutral(wire_text(f"The tool {tool.name} failed: {type(error).__name__}: {sentence(error)}"))
            result = CallToolResult(content=[TextContent(text=text)], is_error=True)
        outcome = "an error" if result.is_error else "done"
        log.info("tool %s: %s, %.1f ms", tool.name, outcome, (anyio.current_time() - started) * 1000)
        return result


def to_mcp_tool(tool: Tool) -> McpTool:
    """Return a tool in the form of MCP; a tool of a plugin has no hints, because its effects are unknown."""
    is_builtin = tool.writes is not None
    return McpTool(
        name=tool.name,
        title=tool.title or None,
        description=tool.description,
        input_schema=dict(tool.input_schema),
        output_schema=dict(tool.output_schema) if tool.output_schema is not None else None,
        annotations=ToolAnnotations(
            title=tool.title or None,
            read_only_hint=not tool.writes if is_builtin else None,
            destructive_hint=False if is_builtin else None,
            idempotent_hint=not tool.writes if is_builtin else None,
            open_world_hint=False if is_builtin else None,
        ),
    )


def to_result(answer: dict[str, Any]) -> CallToolResult:
    """Return an answer as text and as structured content.

    It is an error if the agent must change its call, or if nothing was written. Clients give their model either form:
    the structured content is neutral, and the text escapes the characters that the structure leaves out.
    """
    text = wire_text(json.dumps(answer, ensure_ascii=False, allow_nan=False))
    failed = "error" in answer and not answer.get("unavailable")
    content = TextContent(text=neutral_json(text))
    return CallToolResult(content=[content], structured_content=neutral_data(json.loads(text)), is_error=failed)


def wire_text(text: str) -> str:
    """Replace lone surrogates, as in names that are not UTF-8, by U+FFFD, so that every client can decode the text."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def error_text(error: MemoriterError) -> str:
    """Return the message of an error and its remedy as one text."""
    return f"{sentence(error.message)} {error.remedy}"
