"""The servers: `memoriter mcp` for one client or over HTTP, and `memoriter serve` for all."""

from __future__ import annotations

import json
import os
import sys
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import click

from memoriter.cli._installed import outdated_notice
from memoriter.cli._options import Command, GlobalOptions, ask_server, read_environment
from memoriter.cli._render import OutputFailed
from memoriter.cli._search import search_for_other
from memoriter.cli._trust import offer_trust
from memoriter.errors import MemoriterError, UsageError, sentence
from memoriter.values import dataclass

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping, Sequence

    from memoriter.access import BrowserSessions, Caller, Run
    from memoriter.cli._render import Screen
    from memoriter.discovery import Announcement, Token
    from memoriter.environment import Environment
    from memoriter.mcp_server import AppOptions, CommandWork
    from memoriter.memory import Memory
    from memoriter.monitoring import Supervisor
    from memoriter.types import Diagnostic
    from memoriter.watch import WatchEvent, Watching
    from memoriter.web import Events

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
        _serve_http(memory, screen, token, address=(host, port), names=allow_host, exposure=exposure)
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

    `tls` says who encrypts requests: `proxy` or `none`; None: the owner has not said.

    Raises:
        UsageError: other machines reach the address, and the owner has not said who encrypts.
    """
    if host in THIS_MACHINE:
        return ""
    reach = f"Other machines can reach {host}: every request needs a token, and must name a host that is allowed."
    if tls is None:
        raise UsageError(f"Other machines can reach {host}. {UNENCRYPTED}", remedy=TLS_REMEDY)
    return f"{reach} {BEHIND_PROXY if tls == 'proxy' else UNENCRYPTED}"


def _serve_http(
    memory: Memory,
    screen: Screen,
    token: Token,
    *,
    address: tuple[str, int],
    names: tuple[str, ...],
    exposure: str,
) -> None:
    from memoriter.discovery import LiveToken, LiveTokens
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


EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - read, not bound
"""Wildcard addresses, with the loopback address that reaches each of them from this machine."""
DRAIN_SECONDS = 1.5
"""Default of --drain."""


@click.command(cls=Command, name="serve")
@address_options("The address to listen on.")
@click.option("--also", metavar="FOLDER", multiple=True, help="Serve this workspace too, for the tokens that name it.")
@click.option("--no-watch", is_flag=True, help="Do not index notes while they change; each search still does.")
@click.option("--link", is_flag=True, help="Print a new link of the server that runs already, and end.")
@click.option(
    "--trusted-proxy", metavar="ADDRESS", multiple=True, help="Believe X-Forwarded-For of this address or network."
)
@click.option(
    "--drain",
    metavar="SECONDS",
    type=click.FloatRange(0, 3600),
    default=DRAIN_SECONDS,
    show_default=True,
    help="Time for requests that run when the server is to end.",
)
@click.option(
    "--log-format", type=click.Choice(["text", "json"]), help="Log each request on stderr; default: only with -v."
)
def serve_command(
    *,
    host: str,
    port: int,
    allow_host: tuple[str, ...],
    token_file: str | None,
    tls: str | None,
    also: tuple[str, ...],
    no_watch: bool,
    link: bool,
    trusted_proxy: tuple[str, ...],
    drain: float,
    log_format: str | None,
) -> None:
    """Keep one memory open for clients, programs and hooks.

        memoriter serve
        memoriter serve -w ~/notes --port 0 &
        memoriter serve -w ~/anna --also ~/ben --also ~/shared
        memoriter serve --link
        curl -H "Authorization: Bearer $(memoriter token)" http://127.0.0.1:8377/api/v1/status

    Hooks of coding agents and memoriter search find this server without any setting, unless MEMORITER_SERVER is
    "off", and are faster with it; they also work without it. MCP clients use /mcp, programs /api/v1, supervisors
    /healthz and /readyz, and Prometheus /metrics. Requests must contain the token that memoriter token prints. The
    printed link opens the web pages in a browser on this machine, once, within ten minutes. With --also, the server
    has further workspaces, for you and for tokens that name them: the pages have a switch, and programs use
    /w/NAME/mcp and /w/NAME/api/v1. Ctrl-C or SIGTERM lets the requests that run finish; a second signal ends at once.
    It needs the extra serve. Next: memoriter install --help.
    """
    from memoriter.extras import require

    require("serve", "The server")
    options = replace(GlobalOptions.current(), log_format=log_format or "")
    env = read_environment()
    if link:
        _show_new_link(options, env)
        return
    exposure = exposure_notice(host, tls)
    proxies = checked_proxies(trusted_proxy)
    if log_format:
        options.screen.configure_logging()
    token = load_token(env, options.screen, token_file)
    offer_trust(options)
    memory = options.show_egress_notice(options.open_memory(spare=False, by_person=False))
    others = tuple(_open_other(replace(options, workspace=each)) for each in also)
    if len({os.path.realpath(each.place.workspace) for each in (memory, *others)}) <= len(also):
        raise UsageError("A workspace is named twice.", remedy="Give each folder once, with -w or --also.")
    from memoriter.access import BrowserSessions
    from memoriter.mcp_server import listen

    listening = listen(host, port)
    host_in_url = f"[{host}]" if ":" in host else host
    names = (*((host_in_url,) if host not in THIS_MACHINE else ()), *allow_host)
    watch = memory.settings.sync.watch and not no_watch
    sessions = BrowserSessions(env.monotonic, listening.getsockname()[1])
    addresses = addresses_of(names, listening.getsockname()[1], encrypted=tls == "proxy" or host in THIS_MACHINE)
    run = _ServerRun(
        *(options, env, memory, others, listening, host, names, watch, token, sessions),
        *(exposure, proxies, drain, addresses),
    )
    run.run()


def _open_other(options: GlobalOptions) -> Memory:
    """Open a further workspace. Raises ConfigError and WorkspaceNotFound."""
    offer_trust(options)
    return options.show_egress_notice(options.open_memory(spare=False, by_person=False))


def _reload_together(memories: Sequence[Memory]) -> None:
    """Let all workspaces follow the settings of plugins that one of them has changed."""
    following = Lock()

    def reload_all(_: bool) -> None:
        if following.acquire(blocking=False):
            try:
                for memory in memories:
                    memory.reload_plugins()
            finally:
                following.release()

    for memory in memories if len(memories) > 1 else ():
        memory.on_reload.append(reload_all)


def addresses_of(names: Sequence[str], port: int, *, encrypted: bool) -> Sequence[str]:
    """Return the URLs by which other devices reach a server.

    `names` are its host names besides those of this machine, each with or without a port. If `encrypted`, devices
    connect to a proxy, at its own port.
    """
    named = [name for name in names if name not in EVERYWHERE and name not in {"[::]", "[::1]"}]
    if encrypted:
        return [f"https://{name}" for name in named]
    return [f"http://{name}" if name.rpartition(":")[2].isdigit() else f"http://{name}:{port}" for name in named]


def checked_proxies(addresses: Sequence[str]) -> Sequence[str]:
    """Return the addresses and networks of proxies. Raises UsageError if one is neither."""
    import ipaddress

    for address in addresses:
        try:
            ipaddress.ip_network(address)
        except ValueError as error:
            message = f"{address!r} is not the address of a proxy: {sentence(error)}"
            remedy = "Give an IP address or a network, such as --trusted-proxy 127.0.0.1 or 10.1.0.0/16."
            raise UsageError(message, remedy=remedy) from error
    return addresses


def _show_new_link(options: GlobalOptions, env: Environment) -> None:
    """Print a new link of the server that serves this memory. Raises UsageError if there is none."""
    from memoriter.discovery import Call

    reply = ask_server(options, env, Call("/command/link", b""), exact=False)
    if reply is None:
        remedy = "Run `memoriter serve` with the same options, which prints a link."
        raise UsageError("No server of this memory runs on this machine.", remedy=remedy)
    url = str(json.loads(reply.body)["open"])
    if options.json:
        options.screen.json({"open": url})
    else:
        options.screen.text(url)


@dataclass(frozen=True, slots=True)
class _ServerRun:
    """One server with its options."""

    options: GlobalOptions
    env: Environment
    memory: Memory
    others: tuple[Memory, ...]
    """Those of further workspaces."""
    listening: socket.socket
    host: str
    names: tuple[str, ...]
    watch: bool
    token: Token
    sessions: BrowserSessions
    exposure: str
    """What it means to listen on the address; empty: only this machine reaches it."""
    proxies: Sequence[str]
    drain: float
    """Seconds."""
    addresses: Sequence[str]
    """The URLs by which other devices reach it."""

    @property
    def screen(self) -> Screen:
        return self.options.screen

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM."""
        from memoriter.discovery import LiveToken, LiveTokens, announce_again, folder_of, open_socket, unregister
        from memoriter.mcp_server import OAuth, serve, serve_app, serve_workspaces, served_by, served_workspaces
        from memoriter.monitoring import PROBES, ServerMetrics, Supervisor, with_monitoring
        from memoriter.pages import Library, WorkspaceLink, server_routes
        from memoriter.startup import start_in_background
        from memoriter.web import Events, IndexChanges

        folder = folder_of(self.env.home)
        commands: socket.socket | None = None
        problem = ""
        try:
            commands = open_socket(folder, self.env.environ, self.env.wall())
        except OSError as error:
            problem = sentence(error.strerror or str(error))
        place = commands.getsockname() if commands else ""
        server = self.announcement(place)
        # A client on this machine may use another host name than the one that the server listens on.
        host = server.url.removeprefix("http://").rpartition(":")[0]
        hosts = (*self.names, host)
        # Programs on other machines connect by a name with TLS, and those on this machine without.
        encrypted = [address for address in self.addresses if address.startswith("https:")]
        url = next(iter(encrypted), server.url if is_local_url(server.url) else "")
        memories = (self.memory, *self.others)
        events = [Events() for _ in memories]
        libraries = [Library() for _ in memories]
        metrics = ServerMetrics(streams=lambda: sum(each.open for each in events))
        supervisor = Supervisor(self.env.environ)
        for memory in memories:
            memory.on_search = metrics.searched
        served = [served_by(memory) for memory in memories]
        workspaces = served_workspaces([each.workspace for each in served])
        oauth = OAuth(self.env.home, url, served[0], self.env.wall) if url else None

        def links(at: int, caller: Caller) -> Sequence[WorkspaceLink]:
            reachable = [each for each in workspaces if each.is_open_to(caller)]
            return [WorkspaceLink(each.name, each.address, each is workspaces[at]) for each in reachable]

        def options_of(at: int) -> AppOptions:
            def more(run: Run) -> Any:
                return server_routes(
                    run,
                    events[at],
                    self.sessions,
                    self.addresses,
                    library=libraries[at],
                    workspaces=partial(links, at),
                )

            return {
                "token": LiveToken(self.token),
                "tickets": folder,
                "hosts": hosts,
                "tokens": LiveTokens(self.env.home, self.env.wall),
                "sessions": self.sessions,
                "more": with_monitoring(more, metrics),
                "probes": PROBES,
                "observers": [metrics.request_answered],
                "only_named": at > 0,
                "oauth": oauth.of(served[at]) if oauth else None,
            }

        commands_of: Mapping[str, CommandWork] = {
            "search": lambda memory, request: search_for_other(memory, request, self.current_notices),
            "link": lambda _memory, _request: self.new_link(server),
        }
        first: AppOptions = {**options_of(0), "commands": commands_of}
        app = (
            serve_workspaces(workspaces, memories, [first, *map(options_of, range(1, len(memories)))])
            if self.others
            else serve_app(self.memory, **first)
        )

        def on_reload(only_plugins: bool) -> None:
            nonlocal server
            if only_plugins and not problem:  # commands ask only a server that has the settings of the files
                server = announce_again(folder, server, self.announcement(place))

        self.memory.on_reload.append(on_reload)
        _reload_together(memories)
        with ExitStack() as watched:
            watching: list[Watching] = []
            for memory, its_events, library in zip(memories, events, libraries, strict=True):
                start_in_background(memory)
                library.fill_in_background(memory)
                watch = (
                    watched.enter_context(memory.watching(partial(self.on_event, its_events))) if self.watch else None
                )
                watching += [watch] if watch else []
                IndexChanges(memory.backend, its_events, at_work=lambda watch=watch: watch is not None and watch.busy)

            def draining() -> None:
                supervisor.stopping()
                for each in events:
                    each.close()

            def ending() -> None:
                for memory in memories:
                    memory.stop()
                for each in watching:
                    each.stop()

            try:
                serve(
                    app,
                    self.listening,
                    commands=commands,
                    ready=lambda: self.announce_ready(folder, server, supervisor, problem),
                    ending=ending,
                    draining=draining,
                    last=lambda: unregister(folder, server),
                    drain=self.drain,
                    proxies=self.proxies,
                )
            finally:
                unregister(folder, server)

    def on_event(self, events: Events, event: WatchEvent) -> None:
        """Pass an event of the watcher of a workspace on, and print it if a person should know."""
        from memoriter.cli._index import watch_lines

        if event.kind in {"trouble", "missing", "recovered", "joined"}:
            self.screen.note(*watch_lines(event))
        events.watched(event)

    def new_link(self, server: Announcement) -> bytes:
        """Return the reply with a new one-time link."""
        from memoriter.mcp_server import Declined

        if not is_local_url(server.url):
            raise Declined
        return json.dumps({"open": self.link(server)}).encode("ascii")

    def link(self, server: Announcement) -> str:
        """Return a new link that opens one session of a browser."""
        return f"{server.url}{self.sessions.new_link()}"

    def current_notices(self) -> Sequence[Diagnostic]:
        """Return the notices of a command that opens this memory now. Raises ConfigError and WorkspaceNotFound."""
        memory = self.options.open_silently(spare=False)
        memory.close()
        return memory.notices

    def announce_ready(self, folder: Path, server: Announcement, supervisor: Supervisor, problem: str) -> None:
        """Announce the server and print its URL, once it answers requests; `problem`: why it has no socket."""
        from memoriter.discovery import announce

        if self.exposure:
            self.screen.note(((self.exposure, "yellow"),))
        try:
            if not problem:
                announce(folder, server)
        except OSError as error:
            problem = sentence(error.strerror or str(error))
        if problem:
            notice = f"Hooks will not find this server, since {folder} cannot be written: {problem}"
            self.screen.note(((notice, "yellow"),))
        supervisor.started()
        # Where logs are collected, the link would be among them; `memoriter serve --link` prints one.
        link = self.link(server) if is_local_url(server.url) and self.options.log_format != "json" else ""
        with suppress(OutputFailed):  # clients use the server, whether or not anybody reads this
            if self.options.json:
                opened = {"open": link} if link else {}
                self.screen.json_line({"url": server.url, "mcp": f"{server.url}/mcp", "watching": self.watch, **opened})
            else:
                self.screen.show([((f"Serving {server.url}/mcp", ""),)])
                if link:
                    self.screen.show([((f"Open once, within ten minutes: {link}", ""),)])
            sys.stdout.flush()

    def announcement(self, socket_path: str) -> Announcement:
        """Return the announcement of this server."""
        from memoriter.config import find_workspace
        from memoriter.discovery import Announcement, conditions_digest, settings_digest

        memory = self.memory
        env = self.env
        workspace = os.path.realpath(memory.place.workspace)
        fallback = find_workspace(
            None,
            environ={name: value for name, value in env.environ.items() if name != "MEMORITER_WORKSPACE"},
            cwd=Path(env.cwd.anchor),
            configured=memory.configuration.workspace_for(memory.agent),
            home=env.home,
        )
        address = EVERYWHERE.get(self.host, self.host)
        host_in_url = f"[{address}]" if ":" in address else address
        return Announcement(
            url=f"http://{host_in_url}:{self.listening.getsockname()[1]}",
            socket=socket_path,
            pid=os.getpid(),
            started=env.wall(),
            workspace=workspace,
            usual=os.path.realpath(fallback.workspace) == workspace,
            agent=memory.agent,
            default_agent=memory.agent == memory.configuration.default_agent,
            settings=settings_digest(self.options.config, workspace, env),
            conditions=conditions_digest(self.options.config, workspace, env),
        )


def is_local_url(url: str) -> bool:
    """Return whether the URL of a server has a loopback address; only there a browser can get a session."""
    return url.removeprefix("http://").rpartition(":")[0] in {"127.0.0.1", "localhost", "[::1]"}
