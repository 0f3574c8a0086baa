"""How a client starts memoriter, and memoriter's entry in the list of servers of each client."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from memoriter.errors import UsageError
from memoriter.installation._places import CLIENT_TITLES
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter.installation._places import ClientName, Scope

SERVER_NAME = "memoriter"
"""The name of the server in the configuration of every client."""
DESCRIPTION = "Long-term memory in Markdown files"
BEARER_VARIABLE = "MEMORITER_TOKEN"
"""Stands for the token in a project's file, because such files are shared."""
SERVERS_KEYS: dict[ClientName, str] = {
    "codex": "mcp_servers",
    "opencode": "mcp",
    "vscode": "servers",
    "zed": "context_servers",
    "goose": "extensions",
    "amp": "amp.mcpServers",
}
"""The key of the servers in the files of clients that do not call it `mcpServers`."""
START_KEYS = frozenset({"command", "cmd", "args", "env", "envs", "environment"})
"""Keys of an entry that starts a server."""
CONNECT_KEYS = frozenset(
    {"url", "uri", "httpUrl", "serverUrl", "headers", "http_headers", "bearer_token_env_var", "transport"}
)
"""Keys of an entry that connects to a running server."""
GOOSE_SECONDS = 300
"""Goose' usual time limit of an extension."""


@dataclass(frozen=True, slots=True)
class HttpServer:
    """An HTTP server that a client connects to instead of starting its own."""

    url: str
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Launch:
    """The settings with which a client starts memoriter or connects to it."""

    program: tuple[str, ...]
    """An absolute path, and its fixed arguments."""
    options: tuple[str, ...] = ()
    """Global options: the workspace and the configuration."""
    environ: Mapping[str, str] | None = None
    """Environment variables that the client may not pass on by itself."""
    remote: HttpServer | None = None
    """None: the client starts the program. Hooks start the program in either case."""
    hook_tool: bool = False
    """Whether Claude Code asks its MCP server before a prompt, instead of a program that it starts each time."""

    @property
    def entry(self) -> dict[str, Any]:
        """Return the server's entry in the configuration of a client."""
        command, *rest = self.program
        entry: dict[str, Any] = {"command": command, "args": [*rest, *self.options, "mcp"]}
        return entry | ({"env": dict(self.environ)} if self.environ else {})

    def hook(self, event: str, *, windows: bool) -> str:
        """Return the command line of a hook."""
        words = [*self.program, *self.options, "hook", event]
        return " ".join(f'"{word}"' if " " in word else word for word in words) if windows else shlex.join(words)


def server_entry(client: ClientName, launch: Launch, scope: Scope) -> dict[str, Any]:
    """Return the server's entry in the format of a client.

    Raises:
        UsageError: the client cannot connect to a running server.
    """
    return _started(client, launch) if launch.remote is None else _connected(client, launch.remote, scope)


def _started(client: ClientName, launch: Launch) -> dict[str, Any]:
    """Return the entry with which a client starts the server."""
    command = [*launch.program, *launch.options, "mcp"]
    environ = dict(launch.environ or {})
    if client == "opencode":
        return {"type": "local", "command": command, "enabled": True} | ({"environment": environ} if environ else {})
    if client == "goose":
        return _goose({"type": "stdio", "cmd": command[0], "args": command[1:], "envs": environ})
    return {"type": "stdio", **launch.entry} if client in {"claude-code", "cline", "vscode"} else launch.entry


def _connected(client: ClientName, remote: HttpServer, scope: Scope) -> dict[str, Any]:
    """Return the entry with which a client connects to a server. Raises UsageError."""
    url, token, shared = remote.url, remote.token, scope == "project"
    variable = f"${{{BEARER_VARIABLE}}}" if shared else token
    in_environment = f"${{env:{BEARER_VARIABLE}}}" if shared else token
    match client:
        case "claude-code":
            return {"type": "http", "url": url, "headers": _bearer(variable)}
        case "gemini":
            return {"httpUrl": url, "headers": _bearer(variable)}
        case "opencode":
            headers = _bearer(f"{{env:{BEARER_VARIABLE}}}" if shared else token)
            return {"type": "remote", "url": url, "enabled": True, "headers": headers}
        case "cursor":
            return {"url": url, "headers": _bearer(in_environment)}
        case "codex":
            return {"url": url} | (
                {"bearer_token_env_var": BEARER_VARIABLE} if shared else {"http_headers": _bearer(token)}
            )
        case "vscode":
            return {"type": "http", "url": url, "headers": _bearer(in_environment)}
        case "windsurf":
            return {"serverUrl": url, "headers": _bearer(token)}
        case "cline":
            return {"type": "streamableHttp", "url": url, "headers": _bearer(token)}
        case "goose":
            return _goose({"type": "streamable_http", "uri": url, "headers": _bearer(token)})
        case "amp":
            return {"url": url, "headers": _bearer(variable)}
        case "zed" if not shared:
            return {"url": url, "headers": _bearer(token)}
        case "zed":
            message = "The files of Zed cannot name a variable, and a token must not be in the files of a project."
            raise UsageError(message, remedy="Leave out --http or --scope project.")
        case "claude-desktop":
            message = f"The configuration file of {CLIENT_TITLES[client]} only names programs to start."
            raise UsageError(message, remedy="Leave out --http.")


def _goose(values: dict[str, Any]) -> dict[str, Any]:
    """Return an extension of Goose with the keys that each has."""
    name = {"enabled": True, "name": SERVER_NAME, "description": DESCRIPTION}
    return name | values | {"timeout": GOOSE_SECONDS}


def superseded_keys(entry: Mapping[str, Any]) -> frozenset[str]:
    """Return the keys that an entry of the other kind may have left, including its token."""
    return CONNECT_KEYS if entry.keys() & {"command", "cmd"} else (START_KEYS | CONNECT_KEYS) - entry.keys()


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
