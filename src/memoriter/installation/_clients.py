"""The clients that memoriter can be installed in: the location and content of their configuration."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from memoriter.coding_hooks import CAPTURING, GEMINI_HOOKS, HOOK_TOOL, HOOKS, TIMEOUTS, HookEvent
from memoriter.errors import ConfigError, UsageError
from memoriter.installation import _json_text, _toml_text
from memoriter.installation._opencode import plugin_text, put_plugin, remove_plugin
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ClientName = Literal["claude-code", "codex", "gemini", "opencode", "cursor", "claude-desktop"]
Scope = Literal["user", "project"]

SERVER_NAME = "memoriter"
"""The name of the server in the configuration of every client."""
BEARER_VARIABLE = "MEMORITER_TOKEN"
"""Stands for the token in a project's file, because such files are shared."""
START_KEYS = frozenset({"command", "args", "env", "environment"})
"""Keys of an entry that starts a server."""
CONNECT_KEYS = frozenset({"url", "httpUrl", "headers", "http_headers", "bearer_token_env_var"})
"""Keys of an entry that connects to a running server."""
SERVERS_KEYS: dict[ClientName, str] = {"opencode": "mcp"}
"""The key of the servers in the JSON of clients that do not call it `mcpServers`."""
HOOKS_OF: dict[ClientName, dict[str, HookEvent]] = {
    "claude-code": HOOKS,
    "codex": HOOKS,
    "gemini": {event: word for event, word in GEMINI_HOOKS.items() if word != "stop"},
}
"""The events at which a client runs memoriter. At `AfterAgent`, Gemini CLI would wait for plugins only: a flush would
change the output of `gemini -p`, which a hook cannot tell from a conversation."""
MILLISECONDS: frozenset[ClientName] = frozenset({"gemini"})
"""Clients that count the time limits of hooks in milliseconds."""
HOOK_PLACES: dict[ClientName, tuple[str, str, str]] = {
    "claude-code": ("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
    "codex": ("CODEX_HOME", ".codex", "hooks.json"),
}
"""The clients with a file of hooks: the variable that moves their folder, its usual name, and the file."""
OWN_HOOK = re.compile(rf"\bmemoriter\b.*\bhook (?:{'|'.join(HOOKS.values())})\s*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Machine:
    """The environment that locates a person's clients."""

    user_home: Path
    cwd: Path
    environ: Mapping[str, str]
    platform: str
    """The value of `sys.platform`."""


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


@dataclass(frozen=True, slots=True)
class FileEdit:
    """The edit of one file when memoriter is installed or removed."""

    file: Path
    edit: Callable[[str], str]
    """Returns the new text; raises ConfigError if the old one is malformed. A missing file has the text ""."""
    remove: Callable[[str], str]
    """Returns the text without anything of memoriter's. The same function as `edit` if memoriter is removed."""
    holds_token: bool = False
    """True if the new text holds the token of a server, so only the owner may read the file."""


def changes(
    client: ClientName,
    launch: Launch,
    machine: Machine,
    *,
    scope: Scope,
    install: bool,
    hooks: bool,
    capture: bool = False,
) -> list[FileEdit]:
    """Return the edits of a client's files.

    Args:
        client: the client's name.
        launch: how the client starts memoriter.
        machine: the environment that locates the files.
        scope: `user`: all projects of this person; `project`: the current folder.
        install: False: remove.
        hooks: whether the client also runs memoriter at its events, if it has any.
        capture: whether these include the events that only record conversations.

    Raises:
        UsageError: the client has no configuration of that scope, or cannot connect to a running server.
    """
    file = server_file(client, machine, scope)
    entry = _server_entry(client, launch, scope) if install else None
    holds_token = install and launch.remote is not None and scope == "user"
    edit = _edit_codex if client == "codex" else partial(_edit_servers, key=SERVERS_KEYS.get(client, "mcpServers"))

    def remove(text: str) -> str:
        return edit(text, str(file), None)

    add = partial(edit, name=str(file), entry=entry)
    edits = [FileEdit(file, add if install else remove, remove, holds_token)]
    if client == "opencode" and (hooks or not install):
        plugin, folder = plugin_text((*launch.program, *launch.options), launch.environ or {}), file.parent
        place = (folder / ".opencode" if scope == "project" else folder) / "plugins" / "memoriter.js"
        put = partial(put_plugin, name=str(place), plugin=plugin)
        edits.append(FileEdit(place, put if install else remove_plugin, remove_plugin))
    settings = _hooks_file(client, machine, scope)
    if settings is None or (install and not hooks):
        return edits
    events = HOOKS_OF[client]
    installed = [event for event, word in events.items() if install and (capture or word not in CAPTURING)]
    wanted = {event: _hook(client, launch, machine, event) for event in installed}
    add_hooks = partial(_edit_hooks, name=str(settings), events=tuple(events), wanted=wanted)
    remove_hooks = partial(_edit_hooks, name=str(settings), events=tuple(events), wanted={})
    if settings == file:  # one file holds both
        both = FileEdit(file, lambda text: add_hooks(add(text)), lambda text: remove_hooks(remove(text)), holds_token)
        return [both if install else replace(both, edit=both.remove)]
    return [*edits, FileEdit(settings, add_hooks if install else remove_hooks, remove_hooks)]


def _hook(client: ClientName, launch: Launch, machine: Machine, event: str) -> dict[str, Any]:
    """Return the entry of a hook in the settings of a client."""
    word = HOOKS_OF[client][event]
    timeout = TIMEOUTS[word] * (1_000 if client in MILLISECONDS else 1)
    if launch.hook_tool and client == "claude-code" and word == "user-prompt":
        # Claude Code fills in what it would write to the stdin of a program.
        filled = {name: f"${{{name}}}" for name in ("session_id", "cwd", "prompt", "hook_event_name")}
        call = {"server": SERVER_NAME, "tool": HOOK_TOOL, "input": {"event": word, **filled}}
        return {"type": "mcp_tool", **call, "timeout": timeout}
    command = launch.hook(word, windows=machine.platform == "win32")
    return {"type": "command", "command": command, "timeout": timeout}


def _server_entry(client: ClientName, launch: Launch, scope: Scope) -> dict[str, Any]:
    """Return the server's entry in the format of a client.

    Raises:
        UsageError: the client cannot connect to a running server.
    """
    if launch.remote is None:
        if client == "opencode":
            environ = {"environment": dict(launch.environ)} if launch.environ else {}
            command = [*launch.program, *launch.options, "mcp"]
            return {"type": "local", "command": command, "enabled": True, **environ}
        return {"type": "stdio", **launch.entry} if client == "claude-code" else launch.entry
    url, token = launch.remote.url, launch.remote.token
    shared = scope == "project"
    match client:
        case "claude-code":
            return {"type": "http", "url": url, "headers": _bearer(f"${{{BEARER_VARIABLE}}}" if shared else token)}
        case "gemini":
            return {"httpUrl": url, "headers": _bearer(f"${{{BEARER_VARIABLE}}}" if shared else token)}
        case "opencode":
            headers = _bearer(f"{{env:{BEARER_VARIABLE}}}" if shared else token)
            return {"type": "remote", "url": url, "enabled": True, "headers": headers}
        case "cursor":
            return {"url": url, "headers": _bearer(f"${{env:{BEARER_VARIABLE}}}" if shared else token)}
        case "codex":
            return {"url": url} | (
                {"bearer_token_env_var": BEARER_VARIABLE} if shared else {"http_headers": _bearer(token)}
            )
        case "claude-desktop":
            message = "The configuration file of Claude Desktop only names programs to start."
            raise UsageError(message, remedy="Leave out --http.")


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def server_file(client: ClientName, machine: Machine, scope: Scope) -> Path:
    """Return the file that lists the servers of a client.

    Raises:
        UsageError: the client has no file of that scope.
    """
    home, environ = machine.user_home, machine.environ
    if scope == "project":
        names = {
            "claude-code": ".mcp.json",
            "codex": ".codex/config.toml",
            "gemini": ".gemini/settings.json",
            "opencode": "opencode.json",
            "cursor": ".cursor/mcp.json",
        }
        if client not in names:
            raise UsageError("Claude Desktop has no projects.", remedy="Leave out --scope project.")
        return machine.cwd / names[client]
    if client == "claude-code":
        return Path(environ.get("CLAUDE_CONFIG_DIR") or home) / ".claude.json"
    if client == "codex":
        return Path(environ.get("CODEX_HOME") or home / ".codex") / "config.toml"
    if client == "gemini":
        return Path(environ.get("GEMINI_CLI_HOME") or home) / ".gemini" / "settings.json"
    if client == "opencode":
        return Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "opencode" / "opencode.json"
    if client == "cursor":
        return home / ".cursor" / "mcp.json"
    if machine.platform == "darwin":
        return home / "Library" / "Application Support" / "Claude" / "claude_desktop_config.json"
    configured = environ.get("APPDATA") if machine.platform == "win32" else environ.get("XDG_CONFIG_HOME")
    default = home / ("AppData/Roaming" if machine.platform == "win32" else ".config")
    return Path(configured or default) / "Claude" / "claude_desktop_config.json"


def can_capture(client: ClientName) -> bool:
    """Return whether a client runs hooks after a compaction and at the end of a conversation."""
    return client in HOOK_PLACES


def _hooks_file(client: ClientName, machine: Machine, scope: Scope) -> Path | None:
    """Return the file that lists the hooks of a client, or None if it has no hooks."""
    if client == "gemini":
        return server_file(client, machine, scope)
    if client not in HOOK_PLACES:
        return None
    variable, folder, name = HOOK_PLACES[client]
    if scope == "project":
        return machine.cwd / folder / name
    return Path(machine.environ.get(variable) or machine.user_home / folder) / name


def _edit_servers(text: str, name: str, entry: Mapping[str, Any] | None, *, key: str) -> str:
    """Return the JSON with memoriter's server as in `entry`, or without it; `key` is that of the servers."""
    if entry is None and not text.strip():
        return text
    text = text if text.strip() else "{}\n"
    servers = _object_at(_json_text.parse(text, name), key, name)
    if entry is None:
        return _json_text.remove(text, (key, SERVER_NAME))
    if SERVER_NAME not in servers:
        return _json_text.put(text, (key, SERVER_NAME), dict(entry))
    current = _object_at(servers, SERVER_NAME, name)
    for field_name, value in entry.items():  # other keys belong to the owner
        if field_name == "headers" and isinstance(current.get(field_name), dict):
            text = _json_text.put(text, (key, SERVER_NAME, field_name, "Authorization"), value["Authorization"])
        else:
            text = _json_text.put(text, (key, SERVER_NAME, field_name), value)
    for field_name in _superseded_keys(entry) & current.keys():
        text = _json_text.remove(text, (key, SERVER_NAME, field_name))
    return text


def _superseded_keys(entry: Mapping[str, Any]) -> frozenset[str]:
    """Return the keys that an entry of the other kind may have left, including its token."""
    return CONNECT_KEYS if "command" in entry else (START_KEYS | CONNECT_KEYS) - entry.keys()


def _edit_hooks(text: str, name: str, events: Sequence[str], wanted: Mapping[str, dict[str, Any]]) -> str:
    """Return the settings with memoriter's hook for each event as in `wanted`, or without any of them."""
    if not wanted and not text.strip():
        return text
    text = text if text.strip() else "{}\n"
    for event in events:
        groups = _object_at(_json_text.parse(text, name), "hooks", name).get(event, [])
        if not isinstance(groups, list):
            raise _wrong_type_error(name, f"hooks.{event}", "a list")
        own_hooks = _find_own_hooks(cast("list[Any]", groups))
        hook = wanted.get(event)
        if hook is None:
            for group, number, alone in reversed(own_hooks):
                inside = ("hooks", event, group)
                text = _json_text.remove(text, inside if alone else (*inside, "hooks", number))
        elif own_hooks:
            group, number, _ = own_hooks[0]
            current = cast("list[Any]", groups)[group]["hooks"][number]
            text = _update_hook(text, ("hooks", event, group, "hooks", number), current, hook)
        else:
            text = _json_text.append(text, ("hooks", event), {"hooks": [hook]})
    return text


def _update_hook(text: str, place: tuple[str | int, ...], current: dict[str, Any], hook: dict[str, Any]) -> str:
    """Return the settings with a hook of memoriter brought up to date; a timeout that is there stays as it is."""
    for key, value in hook.items():
        if key not in current or (key != "timeout" and current[key] != value):
            text = _json_text.put(text, (*place, key), value)
    for key in ({"command", "server", "tool", "input"} & current.keys()) - hook.keys():
        text = _json_text.remove(text, (*place, key))
    return text


def _find_own_hooks(groups: list[Any]) -> list[tuple[int, int, bool]]:
    """Return the positions of memoriter's hooks: the group, the number in it, and whether it is the only hook there."""
    positions: list[tuple[int, int, bool]] = []
    for group, content in enumerate(groups):
        inner = _list_at(content, "hooks")
        positions += [(group, number, len(inner) == 1) for number, hook in enumerate(inner) if _is_own_hook(hook)]
    return positions


def _is_own_hook(hook: Any) -> bool:
    """Return whether a hook runs memoriter."""
    if not isinstance(hook, dict):
        return False
    fields = cast("dict[str, Any]", hook)
    command = fields.get("command")
    by_tool = fields.get("server") == SERVER_NAME and fields.get("tool") == HOOK_TOOL
    return by_tool or (isinstance(command, str) and OWN_HOOK.search(command) is not None)


def _list_at(value: Any, key: str) -> list[Any]:
    """Return the list under a key of an object, or an empty one."""
    inner = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return cast("list[Any]", inner) if isinstance(inner, list) else []


def _object_at(parent: Mapping[str, Any], key: str, name: str) -> dict[str, Any]:
    """Return the object under a key, or an empty one.

    Raises:
        ConfigError: the value is not an object.
    """
    value = parent.get(key, {})
    if not isinstance(value, dict):
        raise _wrong_type_error(name, key, "an object")
    return cast("dict[str, Any]", value)


def _wrong_type_error(name: str, key: str, kind: str) -> ConfigError:
    return ConfigError(f"{name}: {key} is not {kind}.", remedy="Nothing was written. Correct the file and retry.")


def _edit_codex(text: str, name: str, entry: Mapping[str, Any] | None) -> str:
    """Return Codex' TOML with memoriter's server as in `entry`, or without it."""
    if entry is None:
        return _toml_text.remove(text, name, ("mcp_servers", SERVER_NAME))
    return _toml_text.put(text, name, ("mcp_servers", SERVER_NAME), entry, without=_superseded_keys(entry))


def shown(file: Path, user_home: Path) -> str:
    """Return a path in the form that people write."""
    return f"~{os.sep}{file.relative_to(user_home)}" if file.is_relative_to(user_home) else str(file)
