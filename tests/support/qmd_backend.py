"""A test environment whose `memory.backend` is `qmd`."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from memory_env import MemoryEnv

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.types import SearchResult

PATHS = {"PATH": os.environ["PATH"]}


def qmd_env(folder: Path, program: Path | str, notes: dict[str, str] | None = None, **qmd: Any) -> MemoryEnv:
    """Notes whose searches QMD answers; `qmd` are settings of `memory.qmd`."""
    env = MemoryEnv.at(folder, notes)
    env.environ |= PATHS
    configure(env, program, **qmd)
    return env


def configure(env: MemoryEnv, program: Path | str, **qmd: Any) -> None:
    """Write settings with QMD as the backend; the builtin engine searches by words, which takes less time."""
    words_only = {"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}
    settings = {**words_only, "memory": {"backend": "qmd", "qmd": {"command": str(program), **qmd}}}
    env.config.write_text(json.dumps(settings), encoding="utf-8")


def engine_of(result: SearchResult) -> str:
    """The engine that answered."""
    return "qmd" if result.provider == "qmd" else "builtin"
