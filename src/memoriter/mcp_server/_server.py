"""The MCP server of one memory, for every transport."""

from __future__ import annotations

import os
import threading
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from mcp.server.lowlevel.server import Server

from memoriter.mcp_server._connector import CONNECTOR
from memoriter.mcp_server._offered import NAME, TITLE, Offered
from memoriter.mcp_server._prompts import Prompts
from memoriter.mcp_server._resources import Resources
from memoriter.mcp_server._shared import SharedMemory
from memoriter.mcp_server._tools import Tools

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

    from memoriter.memory import Memory
    from memoriter.tools import Tool

END_SECONDS = 3.4
"""Seconds after which the process exits once it was told to stop, even if a thread hangs."""


def server_of(memory: Memory, *, connector: bool = False, shared: SharedMemory | None = None) -> Server[Any]:
    """Return an MCP server for one memory; the server closes the memory when it ends.

    Args:
        memory: the memory.
        connector: whether clients come over HTTP. ChatGPT's connectors then get `search` and `fetch`, which they
            expect, and a client whose token may only read gets no tools that write. The setting
            `memory.connectorTools` lists the two for every client.
        shared: the same memory, if it has other users too.

    Raises:
        ConfigError: the memory slot names a plugin that is not installed.
    """
    shared = shared or SharedMemory(memory)
    offered = Offered.by(memory)
    handlers = Tools(shared, *_tools_of(memory, offered, connector=connector), http=connector)
    resources = Resources(shared, offered)
    prompts = Prompts(shared, offered)

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
        NAME,
        version=version("memoriter"),
        title=TITLE,
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

    def reload(_: bool) -> None:
        now = Offered.by(memory)
        handlers.offer(*_tools_of(memory, now, connector=connector))
        resources.offered = prompts.offered = now
        server.instructions = now.instructions

    memory.on_reload.append(reload)
    return server


def _tools_of(memory: Memory, offered: Offered, *, connector: bool) -> tuple[Sequence[Tool], Sequence[Tool]]:
    """Return the tools that are listed for every client, and those that are listed only for ChatGPT."""
    tools = memory.tools
    listed = (*tools, *(CONNECTOR if offered.connector else ()))
    return listed, CONNECTOR if connector and tools and not offered.reason else ()


class Shutdown:
    """The shutdown of a server process: a signal starts it, and it takes at most `END_SECONDS`."""

    def __init__(self, begin: Callable[[], None], last: Callable[[], None]) -> None:
        """Prepare a shutdown.

        Args:
            begin: asks all running work to stop; returns at once.
            last: cleanup that must run even if a thread hangs, such as removing an announcement. It may be called
                twice.
        """
        self._begin = begin
        self._last = last
        self._started = False

    @property
    def started(self) -> bool:
        return self._started

    def begin(self) -> None:
        """Start the shutdown and its time limit; later calls do nothing."""
        if self._started:
            return
        self._started = True
        timer = threading.Timer(END_SECONDS, self.exit_now, (0,))
        timer.daemon = True
        timer.start()
        self._begin()

    def exit_now(self, code: int) -> None:
        """Exit the process at once. This is safe: notes and index are consistent at any moment, even after a kill."""
        with suppress(Exception):
            self._last()
        os._exit(code)
