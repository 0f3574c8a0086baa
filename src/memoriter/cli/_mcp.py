"""`memoriter mcp`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from memoriter.cli._asked import Asked, Command

if TYPE_CHECKING:
    from memoriter.cli._render import Screen
    from memoriter.memory import Memory

HOST, PORT = "127.0.0.1", 8377
THIS_MACHINE = frozenset({"127.0.0.1", "localhost", "::1"})


@click.command(cls=Command, name="mcp")
@click.option("--http", is_flag=True, help="Serve http://HOST:PORT/mcp instead of speaking on stdin and stdout.")
@click.option("--host", metavar="ADDRESS", default=HOST, show_default=True, help="Where to listen, with --http.")
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0: any.")
@click.option("--allow-host", metavar="NAME", multiple=True, help="A further name of this machine; may be repeated.")
def command(*, http: bool, host: str, port: int, allow_host: tuple[str, ...]) -> None:
    """Serve this memory to agents over MCP.

        memoriter mcp -w ~/notes
        memoriter mcp --http --port 8377

    MCP is the Model Context Protocol; the client of an agent starts the server by itself. The agent gets the tools
    memory_search, memory_get and memory_append; notes are resources, recall and flush are prompts. Over HTTP, ChatGPT's
    search and fetch come on top; whoever reaches the port may read and write the notes, so only this machine may,
    unless another --host is given. Next: memoriter install --help.
    """
    if not http and (host, port, allow_host) != (HOST, PORT, ()):
        raise click.UsageError("--host, --port and --allow-host go with --http.")
    asked, screen = Asked.now(), Asked.now().screen
    memory = asked.told(asked.memory(spare=False))
    if http:
        _serve(memory, screen, host, port, allow_host)
        return
    from memoriter.mcp_server import serve_stdio

    if sys.stdin.isatty():
        screen.note((("Waiting for an MCP client on stdin; clients start this by themselves. Ctrl-C ends it.", "dim"),))
    serve_stdio(memory)


def _serve(memory: Memory, screen: Screen, host: str, port: int, names: tuple[str, ...]) -> None:
    from memoriter.mcp_server import listen, serve_http

    listening = listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listening.getsockname()[1]}/mcp"

    def ready() -> None:
        if host not in THIS_MACHINE:
            screen.note(
                (("Whoever reaches this address may read and write the notes: there is no password.", "yellow"),)
            )
        screen.show([((f"Serving {address}", ""),)])
        sys.stdout.flush()

    serve_http(memory, listening, hosts=(*((shown,) if host not in THIS_MACHINE else ()), *names), ready=ready)
