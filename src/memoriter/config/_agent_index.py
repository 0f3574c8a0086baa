"""The index file of an agent: never a file that another program owns."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.config._places import agent_name, in_home, index_path, place_index
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoriter.config._configuration import Configuration
    from memoriter.config._places import IndexPlace

APART = "memoriter's own; OpenClaw's index is left as it is"
"""The reason of an index for an agent of OpenClaw."""


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

    Args:
        configuration: The settings in force.
        agent: The agent.
        workspace: The workspace in use.
        home: Memoriter's home.
        user_home: The user's home, for `~`.
        cache: The local cache folder.
        network_of: Returns the kind of network file system that holds a folder; empty for a local disk.
        is_foreign: Returns whether another program owns a file.
    """
    settings = configuration.search_for(agent)
    if configuration.state is not None:
        settings = replace(settings, store=replace(settings.store, path=None))
    written = configuration.workspace_for(agent)
    own_workspace = home / in_home(written, user_home) if written else home / "workspace"
    # The plain name belongs to the agent of memoriter's own configuration.
    own_workspace = own_workspace if configuration.state is None else home / "workspace"
    path, plain = (
        index_path(settings, agent, workspace=workspace, own_workspace=own, home=home, user_home=user_home)
        for own in (own_workspace, workspace)
    )
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
