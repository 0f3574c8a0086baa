"""Locate the transcripts of one agent: its own folder, and the places that its owner configured."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.workspace._transcripts import CITED, SUFFIX, TranscriptFolder, Transcripts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

CLAUDE_CODE, CODEX = "claude-code", "codex"
"""Keywords for the transcripts that Claude Code and Codex keep of the workspace."""


def transcripts_of(
    agent: str,
    paths: Sequence[str],
    *,
    homes: Sequence[Path],
    workspace: Path,
    user_home: Path,
    environ: Mapping[str, str],
) -> Transcripts:
    """Return the transcripts that belong to an agent.

    Args:
        agent: name of the agent, as in file names.
        paths: files, folders, or the keywords `claude-code` and `codex`. Relative paths start at the workspace.
        homes: folders that contain `agents/<agent>/sessions`: memoriter's and perhaps OpenClaw's.
        workspace: the folder of notes. The keywords select sessions that were started in it.
        user_home: home of the user, for `~` and for the default folders of Claude Code and Codex.
        environ: environment variables; `CLAUDE_CONFIG_DIR` and `CODEX_HOME` override those default folders.
    """
    own_folders = [TranscriptFolder(home / "agents" / agent / "sessions") for home in dict.fromkeys(homes)]
    configured_folders = [
        folder
        for path in paths
        if path.strip()
        for folder in _configured_folders(path.strip(), workspace, user_home, environ)
    ]
    return Transcripts((*own_folders, *configured_folders), tuple(home / "agents" for home in homes), agent)


def _configured_folders(
    path: str, workspace: Path, user_home: Path, environ: Mapping[str, str]
) -> Iterator[TranscriptFolder]:
    spellings = tuple(dict.fromkeys((str(workspace), os.path.realpath(workspace))))
    if path == CLAUDE_CODE:
        projects = _program_home(environ, "CLAUDE_CONFIG_DIR", user_home / ".claude") / "projects"
        names = dict.fromkeys(re.sub(r"[^A-Za-z0-9]", "-", spelling) for spelling in spellings)
        for name in names:
            yield TranscriptFolder(projects / name, f"{CITED}/{CLAUDE_CODE}", configured=len(names) == 1)
    elif path == CODEX:
        home = _program_home(environ, "CODEX_HOME", user_home / ".codex")
        for name in ("sessions", "archived_sessions"):
            yield TranscriptFolder(
                home / name,
                f"{CITED}/{CODEX}",
                deep=True,
                configured=name == "sessions",
                prefix="rollout-",
                started_in=spellings,
            )
    else:
        configured_path = (
            user_home / path[2:] if path.startswith(("~/", "~\\")) else user_home if path == "~" else Path(path)
        )
        absolute_path = Path(os.path.abspath(workspace / configured_path))  # noqa: PTH100 - resolving would follow the link
        cited = f"{CITED}/{absolute_path.name}" if absolute_path.name else CITED
        yield TranscriptFolder(absolute_path, cited, deep=not path.endswith(SUFFIX), configured=True)


def _program_home(environ: Mapping[str, str], variable: str, default: Path) -> Path:
    value = environ.get(variable, "").strip()
    return Path(value) if value else default
