"""The tools, as the protocol shows and calls them."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

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
from mcp.types import Tool as ShownTool

from memoriter.workspace import neutral, neutral_data, neutral_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.server.context import ServerRequestContext

    from memoriter.mcp_server._shared import SharedMemory
    from memoriter.tools import Tool


QUICK = frozenset({"memory_get", "memory_append", "fetch"})
"""Tools that only open notes."""
log = logging.getLogger(__name__)


class Tools:
    """What `tools/list` and `tools/call` answer."""

    def __init__(self, shared: SharedMemory, tools: Sequence[Tool]) -> None:
        self._shared = shared
        self._tools = {tool.name: tool for tool in tools}

    async def list(self, context: ServerRequestContext[Any], params: PaginatedRequestParams | None) -> ListToolsResult:
        del context, params
        return ListToolsResult(tools=[shown(tool) for tool in self._tools.values()])

    async def call(self, context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            known = ", ".join(self._tools) or "none"
            raise MCPError(INVALID_PARAMS, f"There is no tool {params.name!r}. There are: {known}.")
        arguments = params.arguments or {}
        try:
            answer = await self._shared.ask(
                context.session,
                lambda memory: tool.run(memory, arguments),
                alone=tool.writes is None,  # a plugin's: nobody knows whether it may be shared
                quick=tool.name in QUICK,
            )
            return rendered(answer)
        except Exception as error:  # a tool of a plugin may break its promise
            log.warning("%s failed", tool.name, exc_info=True)
            text = neutral(wire_text(f"{tool.name} failed: {type(error).__name__}: {error}"))
            return CallToolResult(content=[TextContent(text=text)], is_error=True)


def shown(tool: Tool) -> ShownTool:
    """A tool as it is listed. What a plugin's tool does is not known."""
    known = tool.writes is not None
    return ShownTool(
        name=tool.name,
        title=tool.title or None,
        description=tool.description,
        input_schema=dict(tool.input_schema),
        output_schema=dict(tool.output_schema) if tool.output_schema is not None else None,
        annotations=ToolAnnotations(
            title=tool.title or None,
            read_only_hint=not tool.writes if known else None,
            destructive_hint=False if known else None,
            idempotent_hint=not tool.writes if known else None,
            open_world_hint=False if known else None,
        ),
    )


def rendered(answer: dict[str, Any]) -> CallToolResult:
    """An answer as text and as structure; an error where the agent must ask in another way, or nothing was written.

    Clients give their model either of the two: the structure is neutral, the text has escapes for what that leaves out.
    """
    text = wire_text(json.dumps(answer, ensure_ascii=False, allow_nan=False))
    failed = "error" in answer and not answer.get("unavailable")
    shown = TextContent(text=neutral_json(text))
    return CallToolResult(content=[shown], structured_content=neutral_data(json.loads(text)), is_error=failed)


def wire_text(text: str) -> str:
    """Text that every client can decode: half characters, as in names that are not UTF-8, become U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
