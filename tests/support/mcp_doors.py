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

    from desk import MemoryEnv

LIMIT = 60.0
"""Seconds that any answer may take on a busy machine."""


@contextmanager
def served(desk: MemoryEnv, *words: str) -> Iterator[str]:
    """The address of a server over HTTP."""
    command = desk.command("-w", str(desk.notes), "mcp", "--http", "--port", "0", *words)
    with subprocess.Popen(
        command, env=desk.surroundings(), cwd=desk.notes, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
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
class Door:
    """One way to the memory of a desk; every client that enters gets a connection of its own."""

    transport: str
    connect: Callable[..., Client]


def over_stdio(desk: MemoryEnv) -> Door:
    """Each client starts a server of its own."""
    words = desk.command("-w", str(desk.notes), "mcp")

    def start(**options: Any) -> Client:
        server = StdioServerParameters(command=words[0], args=words[1:], env=desk.surroundings(), cwd=str(desk.notes))
        return Client(server, read_timeout_seconds=LIMIT, **options)

    return Door("stdio", start)


def over_http(address: str, desk: MemoryEnv) -> Door:
    """All clients have one server."""
    return Door("http", lambda **options: authorised(address, desk, **options))


def authorised(address: str, desk: MemoryEnv, **options: Any) -> Client:
    """The official client, which sends the token of the desk's home with each request."""
    return Client(_transport(address, bearer(token_of(desk))), read_timeout_seconds=LIMIT, **options)


@asynccontextmanager
async def _transport(address: str, headers: dict[str, str]) -> AsyncIterator[Any]:
    async with (
        create_mcp_http_client(headers=headers) as http,
        streamable_http_client(address, http_client=http) as streams,
    ):
        yield streams


def token_of(desk: MemoryEnv) -> str:
    """The token of the servers of a home that has one."""
    return (desk.home / "token").read_text(encoding="ascii").strip()


def bearer(token: str) -> dict[str, str]:
    """The header that shows a token."""
    return {"Authorization": f"Bearer {token}"}
