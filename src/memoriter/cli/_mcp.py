"""`memoriter mcp`."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memoriter.cli._installed import outdated_notice
from memoriter.cli._options import Command, GlobalOptions
from memoriter.cli._render import OutputFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.cli._render import Screen
    from memoriter.discovery import Token
    from memoriter.environment import Environment
    from memoriter.memory import Memory

HOST = "127.0.0.1"
PORT = 8377
THIS_MACHINE = frozenset({"127.0.0.1", "localhost", "::1"})
UNENCRYPTED = "Requests to this address are not encrypted, their token included."
BEHIND_PROXY = "This address itself is not encrypted: nobody but the proxy should reach it."
TLS_REMEDY = "Add --tls proxy if a proxy or a tunnel encrypts, or --tls none in a network that you trust."


def address_options(host: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds the options of a server over HTTP; `host` is the help of `--host`."""
    port = "The port; 0: any free port."
    names = "Another host name of this machine; can be repeated."
    file = "Read the token that clients send from this file."
    tls = "Who encrypts requests from other machines: a proxy before this server, or nobody."
    options = (
        click.option("--host", metavar="ADDRESS", default=HOST, show_default=True, help=host),
        click.option("--port", metavar="N", type=click.IntRange(0, 65535), default=PORT, show_default=True, help=port),
        click.option("--allow-host", metavar="NAME", multiple=True, help=names),
        click.option("--token-file", metavar="FILE", help=file),
        click.option("--tls", type=click.Choice(["proxy", "none"]), help=tls),
    )

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@click.command(cls=Command, name="mcp")
@click.option("--http", is_flag=True, help="Serve http://HOST:PORT/mcp instead of stdin and stdout.")
@address_options("The address to listen on, with --http.")
def mcp_command(
    *, http: bool, host: str, port: int, allow_host: tuple[str, ...], token_file: str | None, tls: str | None
) -> None:
    """Serve this memory to agents over MCP.

        memoriter mcp -w ~/notes
        memoriter mcp --http --port 8377

    The client of an agent starts this server of the Model Context Protocol. It offers the tools memory_search,
    memory_get and memory_append, the notes as resources, and the prompts recall and flush. Without -w, it serves the
    folder in which it starts if you trust it (memoriter trust), or else your default workspace. Over HTTP, it also
    has search and fetch for ChatGPT, and each request must contain the token that memoriter token prints. It needs
    the extra mcp. Next: memoriter install --help.
    """
    if not http and (host, port, allow_host, token_file, tls) != (HOST, PORT, (), None, None):
        raise click.UsageError("The options --host, --port, --allow-host, --token-file and --tls need --http.")
    from memoriter.environment import read_environment
    from memoriter.extras import require

    require("mcp", "The MCP server")
    exposure = exposure_notice(host, tls) if http else ""
    options = GlobalOptions.current()
    screen = options.screen
    if notice := outdated_notice(options):
        screen.note(((notice, "yellow"),))
    token = load_token(read_environment(), screen, token_file) if http else None
    memory = options.open_memory(spare=False, by_person=False, attended=http)
    if token is not None:
        options.show_egress_notice(memory)
        _serve(memory, screen, token, address=(host, port), names=allow_host, exposure=exposure)
        return
    from memoriter.mcp_server import serve_stdio

    if sys.stdin.isatty():
        screen.note((("Waiting for an MCP client on stdin; clients start this by themselves. Ctrl-C ends it.", "dim"),))
    _finish_index(options, memory)
    try:
        serve_stdio(memory)
    except BrokenPipeError:  # the client is gone
        raise
    except OSError as error:
        raise OutputFailed(error.errno, error.strerror) from error


def _finish_index(options: GlobalOptions, memory: Memory) -> None:
    """Let a process in the background index what is not indexed yet; the server itself only answers."""
    from memoriter.cli._background import start_if_allowed
    from memoriter.environment import read_environment
    from memoriter.errors import MemoriterError

    try:
        start_if_allowed(options, read_environment(), memory)
    except MemoriterError as error:
        options.screen.note(((f"{error.message} {error.remedy}", "yellow"),))


def load_token(env: Environment, screen: Screen, file: str | None) -> Token:
    """Return the token that clients must send, and show its notice if there is one. Raises ConfigError."""
    from memoriter.discovery import token_for

    token = token_for(env.home, env.environ, Path(file) if file else None)
    if token.notice:
        screen.note(((token.notice, "yellow"),))
    return token


def exposure_notice(host: str, tls: str | None) -> str:
    """Return what it means to listen on an address; empty if only this machine reaches it.

    Args:
        host: the address.
        tls: who encrypts requests: `proxy` or `none`; None: the owner has not said.

    Raises:
        UsageError: other machines reach the address, and the owner has not said who encrypts.
    """
    from memoriter.errors import UsageError

    if host in THIS_MACHINE:
        return ""
    reach = f"Other machines can reach {host}: every request needs a token, and must name a host that is allowed."
    if tls is None:
        raise UsageError(f"Other machines can reach {host}. {UNENCRYPTED}", remedy=TLS_REMEDY)
    return f"{reach} {BEHIND_PROXY if tls == 'proxy' else UNENCRYPTED}"


def _serve(
    memory: Memory,
    screen: Screen,
    token: Token,
    *,
    address: tuple[str, int],
    names: tuple[str, ...],
    exposure: str,
) -> None:
    from memoriter.discovery import LiveToken, LiveTokens
    from memoriter.environment import read_environment
    from memoriter.mcp_server import http_app, listen, serve
    from memoriter.startup import start_in_background

    host = address[0]
    listening = listen(*address)
    host_in_url = f"[{host}]" if ":" in host else host
    url = f"http://{host_in_url}:{listening.getsockname()[1]}/mcp"

    def ready() -> None:
        if exposure:
            screen.note(((exposure, "yellow"),))
        with suppress(OutputFailed):  # clients use the server, whether or not anybody reads this
            screen.show([((f"Serving {url}", ""),)])
            sys.stdout.flush()

    hosts = (*((host_in_url,) if host not in THIS_MACHINE else ()), *names)
    env = read_environment()
    tokens = LiveTokens(env.home, env.wall)
    start_in_background(memory)
    app = http_app(memory, token=LiveToken(token), tokens=tokens, hosts=hosts)
    serve(app, listening, ready=ready, ending=memory.stop)
