"""Lookup of the home, the workspace, the configuration file and the index file."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.errors import ConfigError
from memoriter.layout import VAULT, notes_marker, openclaw_marker
from memoriter.permissions import Owners, owners_of
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from memoriter.config._search import MemorySearch
    from memoriter.types import Diagnostic


HOME_NAME = ".memoriter"
FILE = "memoriter.json5"
PROJECT_FILE = ".memoriter.json5"
OPENCLAW_FILE = "openclaw.json"
DEFAULT_AGENT = "main"
MARKERS = ("MEMORY.md", "memory.md", "memory", PROJECT_FILE, VAULT)
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
    """Diagnostics for folders that would be the workspace if they were trusted, and for one without any marker."""


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
    any_notes: bool = False,
) -> Place:
    """Return the workspace.

    In order of precedence: the flag, the environment, `cwd` or the nearest folder above it with memory, `cwd` or its
    repository if it plainly holds notes, the configuration, the default. A named folder may have any owner; a folder
    that is only found must belong to the user.

    Args:
        flag: The workspace of the caller, relative to `cwd`.
        environ: The environment.
        cwd: The current folder, absolute.
        configured: The workspace of the configuration, if it has one.
        home: Memoriter's home.
        owners: The users whose folders may be found; None: the user of this process.
        any_notes: Whether a folder without a marker may be found because it holds Markdown files. A person who types
            a command may mean it; an agent that works in somebody's repository must not.
    """
    user_home = user_home_of(environ, home)
    if flag is not None:
        return Place(cwd / in_home(str(flag), user_home), "-w")
    if variable := environ.get("MEMORITER_WORKSPACE", "").strip():
        return Place(cwd / in_home(variable, user_home), "MEMORITER_WORKSPACE")
    owners = owners or owners_of(environ)
    refused: list[Diagnostic] = []
    candidates = list(candidate_folders(cwd, user_home))
    found: list[tuple[Path, str]] = [(folder, marker) for folder in candidates if (marker := find_marker(folder))]
    by_notes = not found and any_notes
    if by_notes:
        found = [(folder, marker) for folder in candidates if (marker := find_notes(folder, cwd, user_home))]
    for folder, marker in found:
        if distrusted := distrust_reason(folder, owners):
            refused.append(refusal_diagnostic(folder, *distrusted))
            continue
        relation = "in the current folder" if folder == cwd else "above the current folder"
        reason = f"found {marker} {relation}"
        return Place(folder, reason, (*refused, *([found_diagnostic(folder, reason)] if by_notes else ())))
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


def found_diagnostic(folder: Path, reason: str) -> Diagnostic:
    """Return the diagnostic for a folder that is the workspace only because it holds Markdown files."""
    from shlex import quote

    from memoriter.types import Diagnostic

    return Diagnostic(
        "notes_found",
        f"The memory is the Markdown files of {str(folder)!r}: {reason}.",
        f"To do without this notice, run `memoriter init -w {quote(str(folder))}`. For other notes, give -w DIR.",
    )


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
    """Return the file or folder that makes the folder a workspace, or None."""
    if marker := openclaw_marker(str(folder)):
        return marker
    if (folder / PROJECT_FILE).is_file():
        return PROJECT_FILE
    return f"{VAULT}/" if (folder / VAULT).is_dir() else None


def find_notes(folder: Path, cwd: Path, user_home: Path) -> str | None:
    """Return what shows that the current folder, or the repository around it, holds notes, or None."""
    is_repository = (folder / ".git").exists()
    if folder == user_home or not (is_repository or folder == cwd):
        return None
    return notes_marker(str(folder))


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


@dataclass(frozen=True, slots=True)
class IndexPlace:
    """The file of an index, with the reason for its placement."""

    path: Path
    network: bool = False
    """Whether it is on a network file system, where SQLite must not use a write-ahead log."""
    reason: str = ""
    """Reason for people; empty at the usual path."""
    foreign: Path | None = None
    """The file of another program at the usual path, which is left alone."""


def cache_of(environ: Mapping[str, str], user_home: Path, *, mac: bool) -> Path:
    """Return the cache folder: below `XDG_CACHE_HOME`, else below the cache folder of the system."""
    value = environ.get("XDG_CACHE_HOME", "").strip()
    if value and Path(value).is_absolute():
        return Path(value) / "memoriter"
    return user_home / ("Library/Caches" if mac else ".cache") / "memoriter"


def place_index(
    path: Path, *, chosen: bool, workspace: Path, cache: Path, network_of: Callable[[Path], str]
) -> IndexPlace:
    """Return the place of an index.

    An index on a network file system moves to the local cache, unless its path was chosen or the cache is remote too.

    Args:
        path: The path of the index on a local disk.
        chosen: Whether `store.path` sets this path.
        workspace: The workspace of the index.
        cache: The cache folder.
        network_of: Returns the kind of network file system that holds a folder; empty for a local disk.
    """
    kind = network_of(path.parent)
    if not kind:
        return IndexPlace(path)
    if chosen:
        return IndexPlace(path, network=True, reason=f"on {kind}, as store.path says: without a write-ahead log")
    if network_of(cache):
        why = f"on {kind}, and the cache {str(cache)!r} is remote too: without a write-ahead log"
        return IndexPlace(path, network=True, reason=f"{why}; set XDG_CACHE_HOME or store.path to a local disk")
    reason = f"in the local cache, because {str(path.parent)!r} is on {kind}"
    return IndexPlace(_cache_path(path, workspace=workspace, cache=cache), reason=reason)


def _cache_path(path: Path, *, workspace: Path, cache: Path) -> Path:
    """Return a file in the cache that is unique for the path and the workspace."""
    # The path itself is a symbolic link to the current generation, which must not be resolved.
    names = f"{path.parent.resolve() / path.name}\0{workspace.resolve()}"
    digest = hashlib.sha256(names.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return cache / "index" / f"{path.stem[:64]}-{digest}{path.suffix}"
