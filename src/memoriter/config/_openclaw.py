"""OpenClaw's own files: its state folder, its configuration file, and the workspaces of its agents.

memoriter only reads them. Its own index, logs and transcripts stay in its own home.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.config._places import OPENCLAW_FILE, in_home, is_openclaw_default
from memoriter.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

STATE_NAME = ".openclaw"
START = "Start OpenClaw once, or set OPENCLAW_STATE_DIR or OPENCLAW_CONFIG_PATH."


def openclaw_state(environ: Mapping[str, str], user_home: Path) -> Path:
    """Return OpenClaw's state folder: `OPENCLAW_STATE_DIR`, or `.openclaw` in the user's home."""
    written = environ.get("OPENCLAW_STATE_DIR", "").strip()
    return in_home(written, user_home).absolute() if written else user_home / STATE_NAME


def openclaw_file(environ: Mapping[str, str], user_home: Path) -> Path:
    """Return OpenClaw's configuration file: `OPENCLAW_CONFIG_PATH`, or `openclaw.json` in its state folder.

    The file may be missing if the state folder exists, because OpenClaw runs with its defaults then.

    Raises:
        ConfigError: There is neither a file nor a state folder.
    """
    written = environ.get("OPENCLAW_CONFIG_PATH", "").strip()
    state = openclaw_state(environ, user_home)
    file = in_home(written, user_home).absolute() if written else state / OPENCLAW_FILE
    if file.is_file() or is_openclaw_default(file):
        return file
    if written:
        raise ConfigError(
            f"There is no configuration file {str(file)!r} (named by OPENCLAW_CONFIG_PATH).",
            remedy="Correct the variable, or remove it.",
        )
    raise ConfigError(f"There is no OpenClaw here: {str(state)!r} has no configuration and no agents.", remedy=START)


def state_of(file: Path | None, environ: Mapping[str, str], user_home: Path) -> Path | None:
    """Return the state folder of OpenClaw if a configuration file is OpenClaw's, else None.

    The file is OpenClaw's if it is the one that OpenClaw itself uses here, or is called `openclaw.json`; then the
    folder around it is the state folder.
    """
    if file is None:
        return None
    file = file.absolute()
    state = openclaw_state(environ, user_home)
    written = environ.get("OPENCLAW_CONFIG_PATH", "").strip()
    if file == (in_home(written, user_home).absolute() if written else state / OPENCLAW_FILE):
        return state
    return file.parent if file.name == OPENCLAW_FILE else None


def workspace_in(state: Path, environ: Mapping[str, str], user_home: Path) -> Path:
    """Return the folder of the default agent if no workspace is configured.

    It is `workspace` in the state folder, or the one that OpenClaw has in the user's home if only that exists.
    """
    profile = environ.get("OPENCLAW_PROFILE", "").strip()
    usual = f"workspace-{profile}" if profile and profile.lower() != "default" else "workspace"
    candidates = (state / usual, user_home / STATE_NAME / usual)
    return next((folder for folder in candidates if folder.is_dir()), candidates[0])


def secret_files(state: Path) -> list[Path]:
    """Return the existing files in OpenClaw's state folder, besides its configuration, that may hold keys."""
    files = [state / ".env", *sorted(state.glob("agents/*/agent/auth-profiles.json"))]
    return [file for file in files if file.is_file()]
