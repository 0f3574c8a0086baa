"""The real server, and how the official client gets to it."""

from __future__ import annotations

import subprocess
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from memory_env import MemoryEnv

LIMIT = 150.0
"""Seconds that any answer may take on a busy machine."""


@contextmanager
def served(env: MemoryEnv, *words: str) -> Iterator[str]:
    """The address of a server over HTTP."""
    command = env.command("-w", str(env.notes), "mcp", "--http", "--port", "0", *words)
    with subprocess.Popen(
        command, env=env.environment(), cwd=env.notes, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout
            line = process.stdout.readline()
            assert line.startswith("Serving "), (line, process.stderr and process.stderr.read())
            yield line.split()[1]
        finally:
            process.terminate()
            process.communicate(timeout=LIMIT)


@dataclass
class McpEndpoint:
    """A transport to the memory of an environment; every client gets its own connection."""

    transport: str
    connect: Callable[..., Client]


def over_stdio(env: MemoryEnv) -> McpEndpoint:
    """Each client starts a server of its own."""
    words = env.command("-w", str(env.notes), "mcp")

    def start(**options: Any) -> Client:
        server = StdioServerParameters(command=words[0], args=words[1:], env=env.environment(), cwd=str(env.notes))
        return Client(server, read_timeout_seconds=LIMIT, **options)

    return McpEndpoint("stdio", start)


def over_http(address: str, env: MemoryEnv) -> McpEndpoint:
    """All clients have one server."""
    return McpEndpoint("http", lambda **options: authorised(address, env, **options))


def authorised(address: str, env: MemoryEnv, **options: Any) -> Client:
    """The official client, which sends the token of the environment's home with each request."""
    return Client(_transport(address, bearer(token_of(env))), read_timeout_seconds=LIMIT, **options)


@asynccontextmanager
async def _transport(address: str, headers: dict[str, str]) -> AsyncIterator[Any]:
    async with (
        create_mcp_http_client(headers=headers) as http,
        streamable_http_client(address, http_client=http) as streams,
    ):
        yield streams


def token_of(env: MemoryEnv) -> str:
    """The token of the servers of a home that has one."""
    return (env.home / "token").read_text(encoding="ascii").strip()


def bearer(token: str) -> dict[str, str]:
    """The header that shows a token."""
    return {"Authorization": f"Bearer {token}"}
