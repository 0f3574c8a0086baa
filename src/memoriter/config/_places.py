"""Lookup of the home, the workspace, the configuration file and the index file."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.errors import ConfigError
from memoriter.permissions import Owners, owners_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memoriter.config._search import MemorySearch
    from memoriter.types import Diagnostic

HOME_NAME = ".memoriter"
FILE = "memoriter.json5"
PROJECT_FILE = ".memoriter.json5"
OPENCLAW_FILE = "openclaw.json"
DEFAULT_AGENT = "main"
MARKERS = ("MEMORY.md", "memory", PROJECT_FILE)
"""Files and folders that mark a folder as a workspace."""


@dataclass(frozen=True, slots=True)
class Place:
    """A workspace, with the reason why it was selected."""

    workspace: Path
    """Absolute path, which may not exist yet."""
    reason: str
    """Reason for people: `-w`, `MEMORITER_WORKSPACE`, `found MEMORY.md above the current folder`, `configured`,
    `default`.
    """
    refused: tuple[Diagnostic, ...] = ()
    """Diagnostics for folders that would have been the workspace if they were trusted."""


def home_of(environ: Mapping[str, str], user_home: Path) -> Path:
    """Return the folder of memoriter's own files: `MEMORITER_HOME`, or `.memoriter` in the user's home."""
    value = environ.get("MEMORITER_HOME", "").strip()
    return in_home(value, user_home).absolute() if value else user_home / HOME_NAME


def in_home(path: str, user_home: Path) -> Path:
    """Return the path with a leading `~` replaced by the user's home."""
    if path == "~":
        return user_home
    return user_home / path[2:] if path.startswith(("~/", "~\\")) else Path(path)


def chosen_file(path: Path | None, home: Path, environ: Mapping[str, str]) -> Path | None:
    """Return the configuration file in force: `path`, `MEMORITER_CONFIG`, or the usual one; None if there is none.

    Raises:
        ConfigError: The named file does not exist, or the usual one belongs to another user.
    """
    chosen = path or (Path(environ["MEMORITER_CONFIG"]) if environ.get("MEMORITER_CONFIG", "").strip() else None)
    if chosen is None:
        usual = home / FILE
        if complaint := owners_of(environ, root=True).complaint(usual):
            raise ConfigError(
                f"{str(usual)!r} is not obeyed: {complaint}.",
                remedy="Remove it, or name it with --config FILE if you trust it.",
            )
        return usual if os.path.lexists(usual) else None
    chosen = in_home(str(chosen), user_home_of(environ, home))
    if not (chosen.is_file() or is_openclaw_default(chosen)):
        source = "" if path else " (named by MEMORITER_CONFIG)"
        raise ConfigError(
            f"There is no configuration file {str(chosen)!r}{source}.", remedy="Give the path of a JSON5 file."
        )
    return chosen


def is_openclaw_default(file: Path) -> bool:
    """Return whether a missing file is OpenClaw's configuration in a state folder, where OpenClaw runs on defaults."""
    return (
        file.name == OPENCLAW_FILE
        and not os.path.lexists(file)
        and any((file.parent / name).is_dir() for name in ("agents", "workspace"))
    )


def user_home_of(environ: Mapping[str, str], home: Path) -> Path:
    """Return the user's home from the environment, else the parent folder of memoriter's home."""
    value = environ.get("HOME") or environ.get("USERPROFILE")
    return Path(value) if value else home.parent


def find_workspace(
    flag: Path | None,
    *,
    environ: Mapping[str, str],
    cwd: Path,
    configured: str | None,
    home: Path,
    owners: Owners | None = None,
) -> Place:
    """Return the workspace.

    In order of precedence: the flag, the environment, `cwd` or the nearest folder above it with memory, the
    configuration, the default. A named folder may have any owner; a folder that is only found must belong to the user.

    Args:
        flag: The workspace of the caller, relative to `cwd`.
        environ: The environment.
        cwd: The current folder, absolute.
        configured: The workspace of the configuration, if it has one.
        home: Memoriter's home.
        owners: The users whose folders may be found; None: the user of this process.
    """
    user_home = user_home_of(environ, home)
    if flag is not None:
        return Place(cwd / in_home(str(flag), user_home), "-w")
    if variable := environ.get("MEMORITER_WORKSPACE", "").strip():
        return Place(cwd / in_home(variable, user_home), "MEMORITER_WORKSPACE")
    owners = owners or owners_of(environ)
    refused: list[Diagnostic] = []
    for folder in candidate_folders(cwd, user_home):
        if not (marker := find_marker(folder)):
            continue
        if distrusted := distrust_reason(folder, owners):
            refused.append(refusal_diagnostic(folder, *distrusted))
            continue
        relation = "in the current folder" if folder == cwd else "above the current folder"
        return Place(folder, f"found {marker} {relation}", tuple(refused))
    if configured:
        return Place(home / in_home(configured, user_home), "configured", tuple(refused))
    return Place(home / "workspace", "default", tuple(refused))


def distrust_reason(folder: Path, owners: Owners) -> tuple[Path, str] | None:
    """Return the path that makes a workspace untrusted and the reason, or None if the folder is trusted.

    In a folder where every user may create files, such as `/tmp`, another user can add notes at any time.
    """
    for path in (folder, *(folder / name for name in MARKERS)):
        if complaint := owners.complaint(path):
            return path, complaint
    return (folder, "every user of this machine can put files there") if owners.open_to_all(folder) else None


def refusal_diagnostic(folder: Path, path: Path, complaint: str) -> Diagnostic:
    """Return the diagnostic for a folder that is not trusted."""
    from shlex import quote

    from memoriter.types import Diagnostic

    message = f"{str(path)!r} is not used: {complaint}."
    return Diagnostic("workspace_refused", message, f"If you trust it, name the folder with `-w {quote(str(folder))}`.")


def candidate_folders(cwd: Path, user_home: Path) -> Iterator[Path]:
    """Yield the current folder and its parents, up to the repository's root or the user's home.

    The root folder of the disk is never included.
    """
    for folder in (cwd, *cwd.parents):
        if folder == folder.parent:
            return
        yield folder
        if (folder / ".git").exists() or folder == user_home:
            return


def find_marker(folder: Path) -> str | None:
    if (folder / "MEMORY.md").is_file():
        return "MEMORY.md"
    if (folder / "memory").is_dir():
        return "memory/"
    return PROJECT_FILE if (folder / PROJECT_FILE).is_file() else None


def agent_name(agent_id: str) -> str:
    """Return the agent's id in the form for file names: lower case, `[a-z0-9_-]`, at most 64 characters."""
    cleaned = re.sub(r"[^a-z0-9_-]+", "-", agent_id.strip().lower()).strip("-")[:64]
    return cleaned or DEFAULT_AGENT


def index_path(
    search: MemorySearch, agent_id: str, *, workspace: Path, own_workspace: Path, home: Path, user_home: Path
) -> Path:
    """Return the index file for an agent and a workspace. Two workspaces never share one.

    Args:
        search: The agent's settings; `store.path` takes precedence.
        agent_id: The agent.
        workspace: The workspace in use.
        own_workspace: The agent's configured or default workspace, whose index has the plain name.
        home: Memoriter's home.
        user_home: The user's home, for `~`.
    """
    name = agent_name(agent_id)
    template = search.store.path or ""
    path = (
        home / in_home(template.replace("{agentId}", name), user_home)
        if template
        else home / "memory" / f"{name}.sqlite"
    )
    real = workspace.resolve()
    if real == own_workspace.resolve():
        return path
    digest = hashlib.sha256(str(real).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return path.with_name(f"{path.stem}-{digest}{path.suffix}")
