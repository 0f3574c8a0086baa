"""The programs that memoriter can be installed in: where each keeps its configuration, and what belongs there."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from memoriter.errors import ConfigError, UsageError
from memoriter.integrations import _json_text, _toml_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ClientName = Literal["claude-code", "codex", "cursor", "claude-desktop"]
Scope = Literal["user", "project"]

SERVER = "memoriter"
"""The name of the server in every client."""
HOOKS = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "user-prompt",
    "Stop": "stop",
    "PreCompact": "pre-compact",
}
"""The events of Claude Code and of Codex, and our words for them."""
VARIABLE = "MEMORITER_TOKEN"
"""What a project's file names in place of the token, since such files are shared."""
STARTS = frozenset({"command", "args", "env"})
"""Keys of an entry that starts a server."""
CONNECTS = frozenset({"url", "headers", "http_headers", "bearer_token_env_var"})
"""Keys of an entry that connects to one that runs."""
OURS = re.compile(r"\bmemoriter\b.*\bhook (?:session-start|user-prompt|stop|pre-compact)\s*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Machine:
    """Where the clients of a person are."""

    user_home: Path
    cwd: Path
    environ: Mapping[str, str]
    platform: str
    """As `sys.platform` says."""


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server over HTTP, which a client connects to instead of starting one of its own."""

    url: str
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Launch:
    """How a client starts memoriter, or reaches it."""

    program: tuple[str, ...]
    """Absolute path, and what must follow it."""
    options: tuple[str, ...] = ()
    """Global options: which workspace, which configuration."""
    environ: Mapping[str, str] | None = None
    """What the client may not pass on by itself."""
    remote: HttpServer | None = None
    """None: the client starts the program; hooks are started in either case."""

    @property
    def entry(self) -> dict[str, Any]:
        """The server in the configuration of a client."""
        command, *rest = self.program
        entry: dict[str, Any] = {"command": command, "args": [*rest, *self.options, "mcp"]}
        return entry | ({"env": dict(self.environ)} if self.environ else {})

    def hook(self, event: str, *, windows: bool) -> str:
        """The command line of a hook."""
        words = [*self.program, *self.options, "hook", event]
        return " ".join(f'"{word}"' if " " in word else word for word in words) if windows else shlex.join(words)


@dataclass(frozen=True, slots=True)
class FileEdit:
    """What installing or removing makes of one file."""

    file: Path
    edit: Callable[[str], str]
    """The new text; raises ConfigError where the old one is malformed. A file that is missing has the text ""."""
    holds_token: bool = False
    """Whether the new text holds the token of a server, so that nobody else may read the file."""


def changes(
    client: ClientName, launch: Launch, machine: Machine, *, scope: Scope, install: bool, hooks: bool
) -> list[FileEdit]:
    """The files of a client, with what becomes of each.

    Args:
        client: which program.
        launch: how it starts memoriter.
        machine: where its files are.
        scope: for every project of this person, or for the current folder.
        install: False: remove.
        hooks: whether memoriter is also called at the events of the client, where it has any.

    Raises:
        UsageError: the client has no configuration of that scope, or cannot connect to a server that runs.
    """
    file = place_of(client, machine, scope)
    entry = _entry(client, launch, scope) if install else None
    holds_token = install and launch.remote is not None and scope == "user"
    edit = _codex if client == "codex" else _server
    made = [FileEdit(file, lambda text: edit(text, str(file), entry), holds_token)]
    settings = _hooks_place(client, machine, scope)
    if settings is not None and (hooks or not install):
        windows = machine.platform == "win32"
        lines = {event: launch.hook(word, windows=windows) for event, word in HOOKS.items()} if install else {}
        made.append(FileEdit(settings, lambda text: _hooks(text, str(settings), lines)))
    return made


def _entry(client: ClientName, launch: Launch, scope: Scope) -> dict[str, Any]:
    """The server in the form of a client. Raises UsageError where the client cannot connect to one that runs."""
    if launch.remote is None:
        return {"type": "stdio", **launch.entry} if client == "claude-code" else launch.entry
    url, token = launch.remote.url, launch.remote.token
    shared = scope == "project"
    match client:
        case "claude-code":
            return {"type": "http", "url": url, "headers": _bearer(f"${{{VARIABLE}}}" if shared else token)}
        case "cursor":
            return {"url": url, "headers": _bearer(f"${{env:{VARIABLE}}}" if shared else token)}
        case "codex":
            return {"url": url} | ({"bearer_token_env_var": VARIABLE} if shared else {"http_headers": _bearer(token)})
        case "claude-desktop":
            message = "The configuration file of Claude Desktop only names programs to start."
            raise UsageError(message, remedy="Leave out --http.")


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def place_of(client: ClientName, machine: Machine, scope: Scope) -> Path:
    """The file with the servers of a client. Raises UsageError where there is none of that scope."""
    home, environ = machine.user_home, machine.environ
    if scope == "project":
        names = {"claude-code": ".mcp.json", "codex": ".codex/config.toml", "cursor": ".cursor/mcp.json"}
        if client not in names:
            raise UsageError("Claude Desktop knows no projects.", remedy="Leave out --scope project.")
        return machine.cwd / names[client]
    if client == "claude-code":
        return Path(environ.get("CLAUDE_CONFIG_DIR") or home) / ".claude.json"
    if client == "codex":
        return Path(environ.get("CODEX_HOME") or home / ".codex") / "config.toml"
    if client == "cursor":
        return home / ".cursor" / "mcp.json"
    if machine.platform == "darwin":
        return home / "Library" / "Application Support" / "Claude" / "claude_desktop_config.json"
    named = environ.get("APPDATA") if machine.platform == "win32" else environ.get("XDG_CONFIG_HOME")
    usual = home / ("AppData/Roaming" if machine.platform == "win32" else ".config")
    return Path(named or usual) / "Claude" / "claude_desktop_config.json"


def _hooks_place(client: ClientName, machine: Machine, scope: Scope) -> Path | None:
    """The file with the hooks of a client; None where it has none."""
    places = {
        "claude-code": ("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
        "codex": ("CODEX_HOME", ".codex", "hooks.json"),
    }
    if client not in places:
        return None
    variable, folder, name = places[client]
    if scope == "project":
        return machine.cwd / folder / name
    return Path(machine.environ.get(variable) or machine.user_home / folder) / name


def _server(text: str, name: str, entry: Mapping[str, Any] | None) -> str:
    """A JSON file with our server, or without it."""
    if entry is None and not text.strip():
        return text
    text = text if text.strip() else "{}\n"
    servers = _inside(_json_text.parse(text, name), "mcpServers", name)
    if entry is None:
        return _json_text.remove(text, ("mcpServers", SERVER))
    if SERVER not in servers:
        return _json_text.put(text, ("mcpServers", SERVER), dict(entry))
    held = _inside(servers, SERVER, name)
    for key, value in entry.items():  # others are the owner's
        if key == "headers" and isinstance(held.get(key), dict):
            text = _json_text.put(text, ("mcpServers", SERVER, key, "Authorization"), value["Authorization"])
        else:
            text = _json_text.put(text, ("mcpServers", SERVER, key), value)
    for key in _superseded(entry) & held.keys():
        text = _json_text.remove(text, ("mcpServers", SERVER, key))
    return text


def _superseded(entry: Mapping[str, Any]) -> frozenset[str]:
    """The keys that an entry of the other kind may have left, its token among them."""
    return (STARTS | CONNECTS) - entry.keys() if "url" in entry else CONNECTS


def _hooks(text: str, name: str, lines: Mapping[str, str]) -> str:
    """Settings with our command lines for each event, or without any of ours."""
    if not lines and not text.strip():
        return text
    text = text if text.strip() else "{}\n"
    for event in HOOKS:
        groups = _inside(_json_text.parse(text, name), "hooks", name).get(event, [])
        if not isinstance(groups, list):
            raise _not(name, f"hooks.{event}", "a list")
        held = _hooks_of(cast("list[Any]", groups))
        line = lines.get(event)
        if line is None:
            for group, number, alone in reversed(held):
                inside = ("hooks", event, group)
                text = _json_text.remove(text, inside if alone else (*inside, "hooks", number))
        elif held:
            group, number, _ = held[0]
            text = _json_text.put(text, ("hooks", event, group, "hooks", number, "command"), line)
        else:
            text = _json_text.prepend(text, ("hooks", event), {"hooks": [{"type": "command", "command": line}]})
    return text


def _hooks_of(groups: list[Any]) -> list[tuple[int, int, bool]]:
    """Where our command lines are: group, number in it, whether it is the only one there."""
    found: list[tuple[int, int, bool]] = []
    for group, content in enumerate(groups):
        inner = _listed(content, "hooks")
        found += [(group, number, len(inner) == 1) for number, hook in enumerate(inner) if _is_ours(hook)]
    return found


def _is_ours(hook: Any) -> bool:
    command = cast("dict[str, Any]", hook).get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and OURS.search(command) is not None


def _listed(value: Any, key: str) -> list[Any]:
    """The list that an object has under a key, or an empty one."""
    inner = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return cast("list[Any]", inner) if isinstance(inner, list) else []


def _inside(parent: Mapping[str, Any], key: str, name: str) -> dict[str, Any]:
    """The object under a key, or an empty one. Raises ConfigError where something else is there."""
    value = parent.get(key, {})
    if not isinstance(value, dict):
        raise _not(name, key, "an object")
    return cast("dict[str, Any]", value)


def _not(name: str, key: str, kind: str) -> ConfigError:
    return ConfigError(f"{name}: {key} is not {kind}", remedy="Nothing was written. Mend the file, and try again.")


def _codex(text: str, name: str, entry: Mapping[str, Any] | None) -> str:
    """Codex' TOML with our server, or without it."""
    if entry is None:
        return _toml_text.remove(text, name, ("mcp_servers", SERVER))
    return _toml_text.put(text, name, ("mcp_servers", SERVER), entry, without=_superseded(entry))


def shown(file: Path, user_home: Path) -> str:
    """A path as people write it."""
    return f"~{os.sep}{file.relative_to(user_home)}" if file.is_relative_to(user_home) else str(file)
