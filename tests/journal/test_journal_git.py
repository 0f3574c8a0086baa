"""The commits of the repository around the notes are read as history, and nothing of it is run or changed."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from memory_env import MemoryEnv

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.skipif(shutil.which("git") is None, reason="needs Git")
def test_commits_are_history_and_the_repository_runs_and_changes_nothing(tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path)

    def git(*words: str) -> str:
        names = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        return subprocess.run(
            ["git", "-C", env.notes, *names, *words], check=True, capture_output=True, text=True
        ).stdout

    git("init", "-q")
    (env.notes / ".gitattributes").write_text("*.md diff=evil\n")
    git("add", ".")
    git("commit", "-qm", "first")
    git("config", "diff.evil.textconv", f"touch {tmp_path / 'run'};cat")
    git("config", "core.fsmonitor", f"touch {tmp_path / 'run'}")
    head = git("rev-parse", "--short", "HEAD").strip()
    memory = env.open()
    memory.remember("The ferry is blue.", to="long-term")

    changes = memory.history("MEMORY.md").changes
    assert {each.act for each in changes} == {"append", "commit", "found"}
    assert [(each.id, each.who) for each in changes if each.act == "commit"] == [(head, "Ada")]
    origin = memory.line_origin("MEMORY.md", 3)
    assert origin is not None
    assert (origin.change.act, origin.change.who) == ("commit", "Ada")
    assert git("log", "--format=%s") == "first\n"
    assert not (tmp_path / "run").exists()
    env.close()
