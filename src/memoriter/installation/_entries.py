"""How a client starts memoriter, and memoriter's entry in the list of servers in its file: JSON, TOML or YAML."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any, cast

from memoriter import json_text
from memoriter.errors import ConfigError, UsageError
from memoriter.installation import _toml_text, _yaml_text
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
PASSED_ON = ("MEMORITER_HOME", "MEMORITER_WORKSPACE", "MEMORITER_CONFIG")
"""Variables that Codex gives to hooks, and to servers only if their entry names them."""
ENVIRONMENT_KEYS = frozenset({"env", "envs", "environment"})
"""Keys under which an entry holds environment variables, of which others may be the owner's."""
OWN_VARIABLES = frozenset({"MEMORITER_HOME", "OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH"})
"""The environment variables that an entry sets."""
START_KEYS = frozenset({"command", "cmd", "args", "env_vars"}) | ENVIRONMENT_KEYS
"""Keys of an entry that starts a server."""
CONNECT_KEYS = frozenset(
    {"url", "uri", "httpUrl", "serverUrl", "headers", "http_headers", "bearer_token_env_var", "transport"}
)
"""Keys of an entry that connects to a running server."""
OWN_PROGRAM = re.compile(r"(?:.*[/\\])?memoriter(?:\.exe)?", re.DOTALL)
"""The program of an entry that memoriter writes: a name or a path."""
OWN_URL = re.compile(r"http://127\.0\.0\.1:\d+/mcp")
"""The address in an entry that memoriter writes."""
GOOSE_SECONDS = 300
"""Goose' usual time limit of an extension."""
CLINE_SECONDS = 60
"""Cline's usual time limit of a tool. Without the key, its command line waits three seconds for a server to start."""


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
    """Environment variables that the client may not pass on by itself. The files of most clients have no variables for
    hooks, so the command line of a hook sets them."""
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
        variables = [word for name, value in (self.environ or {}).items() for word in ("--env", f"{name}={value}")]
        words = [*self.program, *self.options, *variables, "hook", event]
        return " ".join(f'"{word}"' if " " in word else word for word in words) if windows else shlex.join(words)


def server_entry(client: ClientName, launch: Launch, scope: Scope) -> dict[str, Any]:
    """Return the server's entry in the format of a client.

    Raises UsageError: the client cannot connect to a running server.
    """
    return _started(client, launch, scope) if launch.remote is None else _connected(client, launch.remote, scope)


def _started(client: ClientName, launch: Launch, scope: Scope) -> dict[str, Any]:
    """Return the entry with which a client starts the server."""
    command = [*launch.program, *launch.options, "mcp"]
    environ = dict(launch.environ or {})
    if client == "opencode":
        return {"type": "local", "command": command, "enabled": True} | ({"environment": environ} if environ else {})
    if client == "goose":
        return _goose({"type": "stdio", "cmd": command[0], "args": command[1:], "envs": environ})
    if client == "codex" and scope == "project":  # an entry for a user has the values
        return launch.entry | {"env_vars": list(PASSED_ON)}
    if client == "cline":
        return {"type": "stdio", **launch.entry, "timeout": CLINE_SECONDS}
    return {"type": "stdio", **launch.entry} if client in {"claude-code", "vscode"} else launch.entry


def _connected(client: ClientName, remote: HttpServer, scope: Scope) -> dict[str, Any]:
    """Return the entry with which a client connects to a server. Raises UsageError."""
    url = remote.url
    token = remote.token
    shared = scope == "project"
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
            return {"type": "streamableHttp", "url": url, "headers": _bearer(token), "timeout": CLINE_SECONDS}
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


def is_own_entry(entry: Any) -> bool:
    """Return whether an entry has the form of those that memoriter writes, whatever its owner has added to it.

    Such an entry starts the server of memoriter, or connects to one on this machine.
    """
    if not isinstance(entry, dict):
        return False
    fields = cast("dict[str, Any]", entry)
    urls = [fields[key] for key in ("url", "uri", "httpUrl", "serverUrl") if key in fields]
    if urls:
        return all(isinstance(url, str) and OWN_URL.fullmatch(url) for url in urls)
    words: list[Any] = []
    for key in ("command", "cmd", "args"):
        value = fields.get(key, [])
        words += cast("list[Any]", value) if isinstance(value, list) else [value]
    program = str(words[0]) if words else ""
    return words[-1:] == ["mcp"] and (OWN_PROGRAM.fullmatch(program) is not None or words[1:3] == ["-m", SERVER_NAME])


def _goose(values: dict[str, Any]) -> dict[str, Any]:
    """Return an extension of Goose with the keys that each has."""
    name = {"enabled": True, "name": SERVER_NAME, "description": DESCRIPTION}
    return name | values | {"timeout": GOOSE_SECONDS}


def own_variables(variables: Any) -> dict[str, Any]:
    """Return the environment variables of an entry that memoriter sets."""
    return {name: value for name, value in _variables(variables).items() if name in OWN_VARIABLES}


def foreign_variables(variables: Any) -> dict[str, Any]:
    """Return the environment variables of an entry that its owner has added."""
    return {name: value for name, value in _variables(variables).items() if name not in OWN_VARIABLES}


def _variables(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def superseded_keys(entry: Mapping[str, Any], current: Mapping[str, Any] | None) -> frozenset[str]:
    """Return the keys that an earlier entry may have left: a token, a way to start, or variables of memoriter."""
    if not entry.keys() & {"command", "cmd"}:
        return (START_KEYS | CONNECT_KEYS) - entry.keys()
    left = {key for key, value in (current or {}).items() if key in ENVIRONMENT_KEYS and own_variables(value)}
    return CONNECT_KEYS | (left - entry.keys())


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


WITH_COMMENTS: frozenset[ClientName] = frozenset({"gemini", "opencode", "vscode", "zed", "amp"})
"""Clients whose JSON may have comments."""
OWNERS_KEYS = frozenset({"enabled", "timeout", "description"})
"""Keys of an entry that memoriter writes once and then leaves to the owner."""


def edit_server(text: str, name: str, entry: Mapping[str, Any] | None, *, client: ClientName) -> str:
    """Return the file of a client with memoriter's server as in `entry`, or without it if that is None.

    Raises ConfigError: the text is malformed.
    """
    key = SERVERS_KEYS.get(client, "mcpServers")
    superseded = frozenset[str]()
    if entry is None:
        if not is_own_entry(_servers(text, name, client).get(SERVER_NAME)):
            return text  # the owner's, or there is none
    else:
        current = current_entry(text, name, client)
        entry = with_owners_variables(without_owners_keys(entry, current), current)
        superseded = superseded_keys(entry, current)
    if client == "codex":
        if entry is None:
            return _toml_text.remove(text, name, (key, SERVER_NAME))
        return _toml_text.put(text, name, (key, SERVER_NAME), entry, without=superseded)
    if client == "goose":
        if entry is None:
            return _yaml_text.remove(text, name, (key, SERVER_NAME))
        return _yaml_text.put(text, name, (key, SERVER_NAME), {**dict.fromkeys(superseded), **entry})
    return _edit_json(text, name, entry, key=key, superseded=superseded, comments=client in WITH_COMMENTS)


def with_owners_variables(entry: Mapping[str, Any], current: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return an entry that starts a server, with the environment variables that the owner has added to it."""
    if not entry.keys() & {"command", "cmd"}:
        return dict(entry)
    kept = dict[str, Any]()
    for key in ENVIRONMENT_KEYS & (current or {}).keys():
        if others := foreign_variables((current or {})[key]):
            kept[key] = {**others, **entry.get(key, {})}
    return {**entry, **kept}


def without_owners_keys(entry: Mapping[str, Any], current: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return an entry without the keys that are the owner's once they are there."""
    return {key: value for key, value in entry.items() if key not in OWNERS_KEYS or key not in (current or {})}


def current_entry(text: str, name: str, client: ClientName) -> dict[str, Any] | None:
    """Return memoriter's entry in the file of a client, or None if there is none.

    Raises ConfigError: the text is malformed.
    """
    entry = _servers(text, name, client).get(SERVER_NAME)
    return cast("dict[str, Any]", entry) if isinstance(entry, dict) else None


def holds_foreign_entry(text: str, name: str, client: ClientName) -> bool:
    """Return whether the file of a client has an entry with memoriter's name that memoriter did not write.

    Raises ConfigError: the text is malformed.
    """
    servers = _servers(text, name, client)
    return SERVER_NAME in servers and not is_own_entry(servers[SERVER_NAME])


def _servers(text: str, name: str, client: ClientName) -> dict[str, Any]:
    """Return the servers in the file of a client; none if their place holds another kind of value.

    Raises ConfigError: the text is malformed.
    """
    if not text.strip():
        return {}
    if client == "codex":
        content = _toml_text.read(text, name)
    elif client == "goose":
        content = _yaml_text.read(text, name)
    else:
        content = json_text.parse(text, name, comments=client in WITH_COMMENTS)
    servers = content.get(SERVERS_KEYS.get(client, "mcpServers"))
    return cast("dict[str, Any]", servers) if isinstance(servers, dict) else {}


def _edit_json(
    text: str,
    name: str,
    entry: Mapping[str, Any] | None,
    *,
    key: str,
    superseded: frozenset[str],
    comments: bool,
) -> str:
    """Return the JSON with memoriter's server as in `entry`, or without it; `key` is that of the servers."""
    if entry is None:
        return json_text.remove(text, (key, SERVER_NAME))
    servers = object_at(json_text.parse(text, name, comments=comments) if text.strip() else {}, key, name)
    text = json_text.with_object(text)
    if SERVER_NAME not in servers:
        return json_text.put(text, (key, SERVER_NAME), dict(entry))
    current = object_at(servers, SERVER_NAME, name)
    for field_name, value in entry.items():  # other keys belong to the owner
        if field_name == "headers" and isinstance(current.get(field_name), dict):
            text = json_text.put(text, (key, SERVER_NAME, field_name, "Authorization"), value["Authorization"])
        else:
            text = json_text.put(text, (key, SERVER_NAME, field_name), value)
    for field_name in superseded & current.keys():
        text = json_text.remove(text, (key, SERVER_NAME, field_name))
    return text


def object_at(parent: Mapping[str, Any], key: str, name: str) -> dict[str, Any]:
    """Return the object under a key, or an empty one if there is none, or null.

    Raises ConfigError: the value is not an object.
    """
    value = parent.get(key)
    value = dict[str, Any]() if value is None else value
    if not isinstance(value, dict):
        raise wrong_type_error(name, key, "an object")
    return cast("dict[str, Any]", value)


def wrong_type_error(name: str, key: str, kind: str) -> ConfigError:
    return ConfigError(f"{name}: {key} is not {kind}.", remedy="Nothing was written. Correct the file and retry.")
