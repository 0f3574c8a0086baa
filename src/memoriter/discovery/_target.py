"""Which memory a command means, as far as it can be told without reading a configuration, which takes longest."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.config import PROJECT_FILE, chosen_file, find_workspace
from memoriter.plain_file import read_plain

if TYPE_CHECKING:
    from memoriter.discovery._announcement import Announcement
    from memoriter.environment import Environment

LONGEST = 1 << 20
"""Bytes of a configuration file; a longer one is refused when it is read for its settings."""
BY_SETTINGS = "default"
"""Why a workspace is the one it is, where only the configuration can say."""


@dataclass(frozen=True, slots=True)
class TargetMemory:
    """The memory that a command means."""

    workspace: str
    """Absolute, with links followed; empty: the one of those who name none and stand in none."""
    agent: str
    """Empty: the default one."""
    config: str | None
    """As it was given."""
    around: Environment

    def is_of(self, server: Announcement) -> bool:
        """Whether the server has this memory open, with the same settings. Raises ConfigError."""
        here = self.workspace == server.workspace if self.workspace else server.usual
        mine = self.agent == server.agent if self.agent else server.default_agent
        return here and mine and settings_digest(self.config, server.workspace, self.around) == server.settings


def resolve_target(workspace: str | None, config: str | None, agent: str | None, around: Environment) -> TargetMemory:
    """Return the memory that the options of a command, the environment and the current folder select."""
    flag = Path(workspace) if workspace is not None else None
    place = find_workspace(flag, environ=around.environ, cwd=around.cwd, configured=None, home=around.home)
    found = "" if place.reason == BY_SETTINGS else os.path.realpath(place.workspace)
    return TargetMemory(found, agent or "", config, around)


def settings_digest(config: str | None, workspace: str, around: Environment) -> str:
    """One string for all that the settings depend on, without understanding any of it. Raises ConfigError."""
    file = chosen_file(Path(config) if config is not None else None, around.home, around.environ)
    digest = hashlib.sha256(around.environ.get("TZ", "").encode("utf-8", "surrogateescape"))
    for path in (file, Path(workspace, PROJECT_FILE)):
        named = os.path.realpath(path) if path is not None else ""
        try:
            content = read_plain(path, LONGEST, follow=path is file) if path is not None else b""
        except OSError:
            named, content = "", b""
        digest.update(f"\0{named}\0{len(content)}\0".encode("utf-8", "surrogateescape"))
        digest.update(content)
    return digest.hexdigest()
