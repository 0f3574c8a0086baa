"""The memory that a command selects, found without parsing the configuration, which would take longest."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.config import (
    LONGEST_FILE,
    PROJECT_FILE,
    chosen_file,
    find_workspace,
    secret_files,
    state_of,
    user_home_of,
)
from memoriter.plain_file import read_plain
from memoriter.providers import KEY_VARIABLES
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.config import Place
    from memoriter.discovery._announcement import Announcement
    from memoriter.environment import Environment

VARIABLES = {
    *("HOME", "USERPROFILE", "SUDO_UID", "XDG_CACHE_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"),
    *("HF_ENDPOINT", "HF_TOKEN", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *KEY_VARIABLES,
}
"""Environment variables that a search depends on, besides those that `TargetMemory` resolves."""
WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
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
    exact: bool = False
    """Whether the server must also be the same program with the same environment variables."""

    def matches(self, server: Announcement) -> bool:
        """Return whether the server has this memory open with the same settings. Raises ConfigError."""
        same_workspace = self.workspace == server.workspace if self.workspace else server.usual
        same_agent = self.agent == server.agent if self.agent else server.default_agent
        return (
            same_workspace
            and same_agent
            and settings_digest(self.config, server.workspace, self.env) == server.settings
            and (not self.exact or conditions_digest(self.config, server.workspace, self.env) == server.conditions)
        )


def resolve_target(
    workspace: str | None,
    config: str | None,
    agent: str | None,
    env: Environment,
    *,
    exact: bool = False,
    place: Place | None = None,
) -> TargetMemory:
    """Return the memory that the options of a command, the environment and the current folder select."""
    flag = Path(workspace) if workspace is not None else None
    if place is None:
        place = find_workspace(flag, environ=env.environ, cwd=env.cwd, configured=None, home=env.home, by_person=exact)
    by_settings = place.reason == BY_SETTINGS or (flag is None and uses_openclaw(config, env))
    real_workspace = "" if by_settings else os.path.realpath(place.workspace)
    return TargetMemory(real_workspace, agent or "", config, env, exact)


def settings_digest(config: str | None, workspace: str, env: Environment) -> str:
    """Return a SHA-256, in hexadecimal, of everything that the settings depend on, unparsed. Raises ConfigError."""
    digest = hashlib.sha256(env.environ.get("TZ", "").encode("utf-8", "surrogateescape"))
    for real_path, content in _settings_files(config, workspace, env):
        digest.update(f"\0{real_path}\0{len(content)}\0".encode("utf-8", "surrogateescape"))
        digest.update(content)
    return digest.hexdigest()


def conditions_digest(config: str | None, workspace: str, env: Environment) -> str:
    """Return a SHA-256, in hexadecimal, of the installed program and the environment variables of a search.

    These are the variables in `VARIABLES` and those that a configuration file names. Raises ConfigError.
    """
    words = {word for _, content in _settings_files(config, workspace, env) for word in WORD.findall(content)}
    named = {word.decode("ascii") for word in words} | VARIABLES
    values = sorted((name, value) for name, value in env.environ.items() if name in named)
    package = Path(__file__).parents[1]
    status = os.stat(package / "__init__.py")  # noqa: PTH116 - a file that each installation writes anew
    program = (str(package), sys.prefix, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return hashlib.sha256(repr((program, values)).encode("utf-8", "surrogateescape")).hexdigest()


def uses_openclaw(config: str | None, env: Environment) -> bool:
    """Return whether the configuration is OpenClaw's, whose agents have folders of their own. Raises ConfigError."""
    file = chosen_file(Path(config) if config is not None else None, env.home, env.environ)
    return state_of(file, env.environ, user_home_of(env.environ, env.home)) is not None


def _settings_files(config: str | None, workspace: str, env: Environment) -> Iterator[tuple[str, bytes]]:
    """Yield the real path and the content of both configuration files; both are empty if there is no such file."""
    file = chosen_file(Path(config) if config is not None else None, env.home, env.environ)
    for path in (file, Path(workspace, PROJECT_FILE)):
        real_path = os.path.realpath(path) if path is not None else ""
        try:
            content = read_plain(path, LONGEST_FILE, follow=path is file) if path is not None else b""
        except OSError:
            real_path = ""
            content = b""
        yield real_path, content
        if b"$include" in content:
            yield "", str(os.getpid()).encode()  # included files may change unseen, so no server has these settings
    state = state_of(file, env.environ, user_home_of(env.environ, env.home))
    for path in secret_files(state) if state is not None else ():
        status = path.stat()
        yield str(path), repr((status.st_size, status.st_mtime_ns)).encode()
