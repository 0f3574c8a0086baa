"""memoriter's home: it must belong to the user, only the user may read it, and it holds the index of each agent."""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.config._places import FILE, HOME_NAME, agent_name, in_home, index_path, place_index
from memoriter.errors import ConfigError
from memoriter.permissions import Exposure, is_loose
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from memoriter.config._configuration import Configuration
    from memoriter.config._places import IndexPlace, Place
    from memoriter.config._schema import MemorySearch
    from memoriter.permissions import Owners

STATE = ("memory", "journal", "uploads", "agents", "models", "serve")
"""The folders of a home in which every file is memoriter's."""
CACHE_NAMES = ("memoriter", "index")
"""The names of the folders in the user's cache that hold indexes."""
NAMES_A_KEY = (b"apiKey", b"api_key", b"headers")
"""Words that occur in a configuration with a secret key."""
REMEDY = "Set MEMORITER_HOME to a folder of your own, or have the owner of these files changed (chown)."
APART = "memoriter's own; OpenClaw's index is left as it is"
"""The reason of an index for an agent of OpenClaw."""


def check_home(home: Path, owners: Owners) -> None:
    """Refuse a home in which another user may have placed state or settings.

    Raises:
        ConfigError: The home, its configuration file or one of its folders belongs to another user.
    """
    for path in (home, home / FILE, *(home / name for name in STATE)):
        if complaint := owners.complaint(path):
            raise ConfigError(f"{str(path)!r} is not used: {complaint}.", remedy=REMEDY)


def notices_of(
    place: Place, configuration: Configuration, *, home: Path, user_home: Path, index: Collection[Path]
) -> tuple[Diagnostic, ...]:
    """Make memoriter's files private, and return the diagnostics about untrusted and exposed files."""
    agents = [agent.id for agent in configuration.settings.agents.list] or [configuration.default_agent]
    workspaces = filter(None, map(configuration.workspace_for, agents))
    excluded = {place.workspace, *(home / in_home(each, user_home) for each in workspaces)}
    exposure = close_home(home, user_home=user_home, keep=excluded, index=index)
    return (*place.notices, *configuration.refused, *_exposure_diagnostics(exposure))


def close_home(home: Path, *, user_home: Path, keep: Collection[Path] = (), index: Collection[Path] = ()) -> Exposure:
    """Remove other users' access to memoriter's files, which an older version may have left open.

    If nothing is open, this costs six `lstat` calls, and one for each file of the index.

    Args:
        home: Memoriter's home.
        user_home: The user's own home, which is never changed.
        keep: Workspaces, whose notes keep their permissions.
        index: The files of the index, which may be outside the home.

    Returns:
        The files that other users could read, and the files and folders that are still open.
    """
    exposure = Exposure()
    file = home / FILE
    closed = [folder for folder in {home, *(path.parent for path in index)} if not is_loose(folder)]
    if is_loose(home) and _is_dedicated(home, user_home):
        exposure.close(home)
    for folder in (home / name for name in STATE):
        if is_loose(folder) and folder not in keep:
            _close_state(folder, keep, exposure)
    if is_loose(file):
        exposure.close(file)
        if not _holds_key(file):
            exposure.mended = [path for path in exposure.mended if path != file]
    for path in (*_cache_folders(index), *index):
        exposure.close(path)
    # Files in a closed folder could not be read, and a folder that others could only list is not worth a diagnostic.
    exposure.mended = [path for path in exposure.mended if not (path.is_dir() or _is_within(path, closed))]
    exposure.open = [path for path in exposure.open if not _is_within(path, closed)]
    return exposure


def _is_within(path: Path, folders: Collection[Path]) -> bool:
    return any(folder in path.parents for folder in folders)


def _cache_folders(index: Collection[Path]) -> Iterator[Path]:
    """Yield the folders of the local cache, if it holds the index of a home on a network file system."""
    for folder in {path.parent for path in index}:
        if (folder.parent.name, folder.name) == CACHE_NAMES:
            yield from (folder.parent, folder)


def _exposure_diagnostics(exposure: Exposure) -> list[Diagnostic]:
    """Return the diagnostics for files that other users could or can read."""
    diagnostics: list[Diagnostic] = []
    if count := len(exposure.mended):
        files = f"{str(exposure.mended[0])!r}" + (f" and {count - 1} more files of memoriter" if count > 1 else "")
        message = f"Other users of this machine could read {files}; now only you can."
        remedy = "If others use this machine, replace the keys and passwords that your notes and settings hold."
        diagnostics.append(Diagnostic("home_was_open", message, remedy))
    if exposure.open:
        others = f" and {len(exposure.open) - 1} more" if len(exposure.open) > 1 else ""
        message = f"Other users of this machine may read {str(exposure.open[0])!r}{others}, and that cannot be changed."
        remedy = "Set MEMORITER_HOME to a folder of your own, on a file system that keeps permissions."
        diagnostics.append(Diagnostic("home_open", message, remedy))
    return diagnostics


def _close_state(folder: Path, keep: Collection[Path], exposure: Exposure) -> None:
    """Make a folder of state private, except notes in a folder that is also a workspace's `memory/`.

    Announcements of servers are left alone too: one that others could write is not trusted, and closing it would make
    it look private.
    """
    if folder.name == "serve":
        exposure.close_tree(folder, keep=keep, but=lambda name: name.endswith(".json"))
        return
    names = _list_names(folder) if folder.name == "memory" else []
    if not any(name.lower().endswith(".md") for name in names):
        exposure.close_tree(folder, keep=keep)
        return
    for name in names:
        path = folder / name
        if path.is_file() and not name.lower().endswith(".md"):
            exposure.close(path)


def _is_dedicated(home: Path, user_home: Path) -> bool:
    """Return whether only memoriter uses the folder, judged by its name or its content."""
    try:
        status = os.lstat(home)
    except OSError:
        return False
    shared = bool(status.st_mode & stat.S_ISVTX)
    if shared or not stat.S_ISDIR(status.st_mode) or home in {user_home, Path(home.anchor)}:
        return False
    own_names = {FILE, *STATE}
    return home.name == HOME_NAME or all(
        name in own_names or name.startswith("workspace") for name in _list_names(home)
    )


def _list_names(folder: Path) -> list[str]:
    with suppress(OSError):
        return os.listdir(folder)  # noqa: PTH208 (names are all that is needed)
    return []


def _holds_key(file: Path) -> bool:
    with suppress(OSError):
        return any(word in file.read_bytes() for word in NAMES_A_KEY)
    return True


def locate_index(
    configuration: Configuration,
    agent: str,
    workspace: Path,
    *,
    home: Path,
    user_home: Path,
    cache: Path,
    network_of: Callable[[Path], str],
    is_foreign: Callable[[Path], bool],
) -> IndexPlace:
    """Return the place of the index of an agent and a workspace.

    With a configuration of OpenClaw, `store.path` names OpenClaw's own index, so the index is in memoriter's home. A
    file that belongs to another program is left alone, and the index gets another name in memoriter's home.
    """
    settings = configuration.search_for(agent)
    if configuration.state is not None:
        settings = replace(settings, store=replace(settings.store, path=None))
    path = usual_index_path(configuration, settings, agent, workspace, home=home, user_home=user_home)
    plain = index_path(settings, agent, workspace=workspace, own_workspace=workspace, home=home, user_home=user_home)
    foreign = next((file for file in {path: None, plain: None} if is_foreign(file)), None)
    if foreign is not None:
        path = _other_path(foreign, agent, workspace, home)
    place = place_index(
        path,
        chosen=settings.store.path is not None and foreign is None,
        workspace=workspace,
        cache=cache,
        network_of=network_of,
    )
    if foreign is None:
        return place if configuration.state is None or place.reason else replace(place, reason=APART)
    why = f"because {str(foreign)!r} belongs to another program"
    return replace(place, reason=f"{place.reason}, {why}" if place.reason else why, foreign=foreign)


def usual_index_path(
    configuration: Configuration, settings: MemorySearch, agent: str, workspace: Path, *, home: Path, user_home: Path
) -> Path:
    """Return the path of an index on a local disk where no other program has a file of this name."""
    # The plain name belongs to the agent of memoriter's own configuration.
    written = configuration.workspace_for(agent) if configuration.state is None else None
    own = home / in_home(written, user_home) if written else home / "workspace"
    return index_path(settings, agent, workspace=workspace, own_workspace=own, home=home, user_home=user_home)


def foreign_diagnostics(place: IndexPlace) -> tuple[Diagnostic, ...]:
    """Return the diagnostic for a file of another program at the usual path of an index."""
    if place.foreign is None:
        return ()
    files = f"{str(place.foreign)!r} belongs to another program and is left as it is; the index is {str(place.path)!r}"
    remedy = "To choose another place, set memorySearch.store.path, or remove it."
    return (Diagnostic("index_foreign", f"{files}.", remedy),)


def _other_path(foreign: Path, agent: str, workspace: Path, home: Path) -> Path:
    """Return a file in memoriter's home that is unique for the refused path and the workspace."""
    names = f"{foreign}\0{workspace.resolve()}".encode("utf-8", "surrogateescape")
    return home / "memory" / f"{agent_name(agent)}-{hashlib.sha256(names).hexdigest()[:12]}.sqlite"
