"""The memory that a command selects, found without parsing the configuration, which would take longest."""

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
"""Maximum bytes of a configuration file; a longer one is refused when its settings are loaded."""
BY_SETTINGS = "default"
"""The reason of a `Place` that only the configuration can decide."""


@dataclass(frozen=True, slots=True)
class TargetMemory:
    """The memory that a command selects."""

    workspace: str
    """Absolute path with symbolic links resolved; empty: that of a command that names none and runs in none."""
    agent: str
    """Agent; empty: the default agent."""
    config: str | None
    """Configuration file as given."""
    env: Environment

    def matches(self, server: Announcement) -> bool:
        """Return whether the server has this memory open with the same settings. Raises ConfigError."""
        same_workspace = self.workspace == server.workspace if self.workspace else server.usual
        same_agent = self.agent == server.agent if self.agent else server.default_agent
        return (
            same_workspace
            and same_agent
            and settings_digest(self.config, server.workspace, self.env) == server.settings
        )


def resolve_target(workspace: str | None, config: str | None, agent: str | None, env: Environment) -> TargetMemory:
    """Return the memory that the options of a command, the environment and the current folder select."""
    flag = Path(workspace) if workspace is not None else None
    place = find_workspace(flag, environ=env.environ, cwd=env.cwd, configured=None, home=env.home)
    real_workspace = "" if place.reason == BY_SETTINGS else os.path.realpath(place.workspace)
    return TargetMemory(real_workspace, agent or "", config, env)


def settings_digest(config: str | None, workspace: str, env: Environment) -> str:
    """Return a SHA-256, in hexadecimal, of everything that the settings depend on, unparsed. Raises ConfigError."""
    file = chosen_file(Path(config) if config is not None else None, env.home, env.environ)
    digest = hashlib.sha256(env.environ.get("TZ", "").encode("utf-8", "surrogateescape"))
    for path in (file, Path(workspace, PROJECT_FILE)):
        real_path = os.path.realpath(path) if path is not None else ""
        try:
            content = read_plain(path, LONGEST, follow=path is file) if path is not None else b""
        except OSError:
            real_path, content = "", b""
        digest.update(f"\0{real_path}\0{len(content)}\0".encode("utf-8", "surrogateescape"))
        digest.update(content)
    return digest.hexdigest()
