"""The MCP server of one memory, for every transport."""

from __future__ import annotations

from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from mcp.server.lowlevel.server import Server

from memoriter.mcp_server._connector import CONNECTOR
from memoriter.mcp_server._offered import Offered
from memoriter.mcp_server._prompts import Prompts
from memoriter.mcp_server._resources import Resources
from memoriter.mcp_server._shared import SharedMemory
from memoriter.mcp_server._tools import Tools

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

    from memoriter.memory import Memory


def server_of(memory: Memory, *, connector: bool = False, shared: SharedMemory | None = None) -> Server[Any]:
    """Return an MCP server for one memory; the server closes the memory when it ends.

    Args:
        memory: the memory.
        connector: whether to offer `search` and `fetch` too, which ChatGPT connectors expect.
        shared: the same memory, if it has other users too.

    Raises:
        ConfigError: the memory slot names a plugin that is not installed.
    """
    shared = shared or SharedMemory(memory)
    tools = memory.tools
    offered = Offered.by(memory)
    handlers = Tools(shared, (*tools, *(CONNECTOR if connector and tools and not offered.reason else ())))
    resources, prompts = Resources(shared, offered), Prompts(shared, offered)

    @asynccontextmanager
    async def lifespan(_: Server[Any]) -> AsyncGenerator[dict[str, Any]]:
        try:
            yield {}
        finally:
            with anyio.CancelScope(shield=True):  # a running thread may still have to call the event loop
                await anyio.to_thread.run_sync(shared.close)

    async def warm_after_handshake(ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
        """Load the model after the handshake, because loading would slow the handshake down."""
        try:
            return await call_next(ctx)
        finally:
            shared.warm()

    server = Server[Any](
        "memoriter",
        version=version("memoriter"),
        title="Memoriter",
        instructions=offered.instructions,
        lifespan=lifespan,
        on_list_tools=handlers.list,
        on_call_tool=handlers.call,
        on_list_resources=resources.list,
        on_list_resource_templates=resources.templates,
        on_read_resource=resources.read,
        on_list_prompts=prompts.list,
        on_get_prompt=prompts.get,
    )
    server.middleware.append(warm_after_handshake)
    return server
