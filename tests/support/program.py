"""A folder of notes, a home of its own, and the program to run on them or on a memory of a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from memoriter.cli import main
from memory_env import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memory_env import MemoryEnv

    Run = Callable[..., Outcome]

NOTES = {
    "MEMORY.md": "# Decisions\n\n- We chose PostgreSQL for the ledger because of ACID.\n- Coffee: flat white.\n",
    "memory/2026-02-10.md": "# 2026-02-10\n\n- Router: Omada ER605, VLAN 10 for IoT devices.\n",
    "memory/travel.md": "# Travel\n\n오사카 여행은 4월 12일에 출발한다.\n",
}


class Program:
    """`memoriter`, run in this process."""

    def __init__(self, workspace: Path, home: Path) -> None:
        self.workspace = workspace
        self.home = home

    def __call__(self, *words: str, typed: str | bytes | None = None) -> Outcome:
        done = CliRunner().invoke(main, list(words), input=typed)
        return Outcome(done.exit_code, done.stdout, done.stderr)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    workspace = tmp_path / "notes"
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    for name, text in NOTES.items():
        file = workspace / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (home / "memoriter.json5").write_text('{agents: {defaults: {memorySearch: {provider: "fake"}}}}', encoding="utf-8")
    for name in ("MEMORITER_WORKSPACE", "MEMORITER_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MEMORITER_HOME", str(home))
    monkeypatch.chdir(workspace)
    return Program(workspace, home)


@pytest.fixture
def run(env: MemoryEnv, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The program, in this process, with the memory of the test."""
    for name, value in {"MEMORITER_HOME": str(env.home), "HOME": str(env.home), **env.environ}.items():
        monkeypatch.setenv(name, value)

    def run(*words: str) -> Outcome:
        done = CliRunner().invoke(main, ["-w", str(env.notes), *words])
        return Outcome(done.exit_code, done.stdout, done.stderr)

    return run
