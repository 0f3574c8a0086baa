"""The clients that memoriter can be installed in, and where each keeps its configuration."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from memoriter.errors import UsageError
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

ClientName = Literal[
    "claude-code",
    "codex",
    "gemini",
    "opencode",
    "cursor",
    "claude-desktop",
    "vscode",
    "windsurf",
    "zed",
    "cline",
    "goose",
    "amp",
]
Scope = Literal["user", "project"]

CLIENT_TITLES: dict[ClientName, str] = {
    "claude-code": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "opencode": "opencode",
    "cursor": "Cursor",
    "claude-desktop": "Claude Desktop",
    "vscode": "VS Code",
    "windsurf": "Windsurf",
    "zed": "Zed",
    "cline": "Cline",
    "goose": "Goose",
    "amp": "Amp",
}
"""The names of the clients for people."""
PINNED: frozenset[ClientName] = frozenset({"claude-desktop", "cursor", "vscode", "windsurf", "cline"})
"""Clients that start the servers of a user in a folder that says nothing about the project: the entry names the
workspace. Each of the others starts them in the folder of the project: Claude Code, Codex, Gemini CLI, opencode and Amp
in the folder in which the person works, Zed in the first folder of the window, Goose in the folder of the session."""
PROJECT_VARIABLES: dict[ClientName, str] = {"cursor": "${workspaceFolder}", "vscode": "${workspaceFolder}"}
"""What stands for the project's folder in a project's file, for clients that need not start its servers there."""
PROJECT_FILES: dict[ClientName, str] = {
    "claude-code": ".mcp.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "opencode": "opencode.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
    "zed": ".zed/settings.json",
    "amp": ".amp/settings.json",
}
"""The files of servers in the folder of a project."""
HOOK_PLACES: dict[ClientName, tuple[str, str, str]] = {
    "claude-code": ("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
    "codex": ("CODEX_HOME", ".codex", "hooks.json"),
}
"""The clients with a file of hooks: the variable that moves their folder, its usual name, and the file."""
CLINE_FILE = Path("settings", "cline_mcp_settings.json")
CLINE_IN_VSCODE = Path("globalStorage", "saoudrizwan.claude-dev")
"""The folder of the extension Cline below the user's folder of VS Code."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The environment that locates a person's clients."""

    user_home: Path
    cwd: Path
    environ: Mapping[str, str]
    platform: str
    """The value of `sys.platform`."""


def server_files(client: ClientName, machine: Machine, scope: Scope) -> list[Path]:
    """Return the files that list the servers of a client: one, and for Cline also that of its extension of VS Code.

    Raises:
        UsageError: the client has no file of that scope.
    """
    if scope == "project":
        if client not in PROJECT_FILES:
            title = CLIENT_TITLES[client]
            raise UsageError(
                f"There is no configuration of {title} for a project.", remedy="Leave out --scope project."
            )
        return [_or_with_comments(machine.cwd / PROJECT_FILES[client])]
    file = _or_with_comments(_user_file(client, machine))
    extension = _vscode_folder(machine) / CLINE_IN_VSCODE
    return [file, extension / CLINE_FILE] if client == "cline" and extension.is_dir() else [file]


def _user_file(client: ClientName, machine: Machine) -> Path:
    home = machine.user_home
    environ = machine.environ
    xdg = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    match client:
        case "claude-code":
            return Path(environ.get("CLAUDE_CONFIG_DIR") or home) / ".claude.json"
        case "codex":
            return Path(environ.get("CODEX_HOME") or home / ".codex") / "config.toml"
        case "gemini":
            return Path(environ.get("GEMINI_CLI_HOME") or home) / ".gemini" / "settings.json"
        case "opencode":
            return xdg / "opencode" / "opencode.json"
        case "cursor":
            return home / ".cursor" / "mcp.json"
        case "claude-desktop":
            return _application_folder(machine, "Claude") / "claude_desktop_config.json"
        case "vscode":
            return _vscode_folder(machine) / "mcp.json"
        case "windsurf":
            return home / ".codeium" / "windsurf" / "mcp_config.json"
        case "zed":
            if machine.platform == "win32":
                return _application_folder(machine, "Zed") / "settings.json"
            return (home / ".config" if machine.platform == "darwin" else xdg) / "zed" / "settings.json"
        case "cline":
            return home / ".cline" / "data" / CLINE_FILE
        case "goose":
            if root := environ.get("GOOSE_PATH_ROOT"):
                return Path(root) / "config" / "config.yaml"
            windows = machine.platform == "win32"
            folder = _application_folder(machine, "Block") / "goose" / "config" if windows else xdg / "goose"
            return folder / "config.yaml"
        case "amp":
            return home / ".config" / "amp" / "settings.json"


def _application_folder(machine: Machine, name: str) -> Path:
    """Return the folder of a program with windows: in `Application Support`, `AppData` or `.config`."""
    home = machine.user_home
    environ = machine.environ
    if machine.platform == "darwin":
        return home / "Library" / "Application Support" / name
    configured = environ.get("APPDATA" if machine.platform == "win32" else "XDG_CONFIG_HOME")
    default = home / ("AppData/Roaming" if machine.platform == "win32" else ".config")
    return Path(configured or default) / name


def _vscode_folder(machine: Machine) -> Path:
    return _application_folder(machine, "Code") / "User"


def _or_with_comments(file: Path) -> Path:
    """Return opencode's file with comments, if it is there and the other one is not."""
    other = file.with_suffix(".jsonc")
    return other if file.name == "opencode.json" and other.is_file() and not file.exists() else file


def can_capture(client: ClientName) -> bool:
    """Return whether a client runs hooks after a compaction and at the end of a conversation."""
    return client in HOOK_PLACES


def hooks_file(client: ClientName, machine: Machine, scope: Scope) -> Path | None:
    """Return the file that lists the hooks of a client, or None if it has no hooks."""
    if client == "gemini":
        return server_files(client, machine, scope)[0]
    if client not in HOOK_PLACES:
        return None
    variable, folder, name = HOOK_PLACES[client]
    if scope == "project":
        return machine.cwd / folder / name
    return Path(machine.environ.get(variable) or machine.user_home / folder) / name


def shown(file: Path, user_home: Path) -> str:
    """Return a path in the form that people write."""
    return f"~{os.sep}{file.relative_to(user_home)}" if file.is_relative_to(user_home) else str(file)
