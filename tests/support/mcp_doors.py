"""The real server, and how the official client gets to it."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp import Client, StdioServerParameters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from desk import Desk

LIMIT = 60.0
"""Seconds that any answer may take on a busy machine."""


@contextmanager
def served(desk: Desk, *words: str) -> Iterator[str]:
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


def over_stdio(desk: Desk) -> Door:
    """Each client starts a server of its own."""
    words = desk.command("-w", str(desk.notes), "mcp")

    def start(**options: Any) -> Client:
        server = StdioServerParameters(command=words[0], args=words[1:], env=desk.surroundings(), cwd=str(desk.notes))
        return Client(server, read_timeout_seconds=LIMIT, **options)

    return Door("stdio", start)


def over_http(address: str) -> Door:
    """All clients have one server."""
    return Door("http", lambda **options: Client(address, read_timeout_seconds=LIMIT, **options))
