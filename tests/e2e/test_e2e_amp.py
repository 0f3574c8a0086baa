"""The released Amp with an installed memoriter. Without npm and its registry, the tests are skipped."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from memory_env import MemoryEnv
from odd_files import posix_only
from released_clients import SECONDS, released_client, write_program

if TYPE_CHECKING:
    from pathlib import Path

AMP = "@ampcode/cli@0.0.1790142911-g7618fb"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3 * SECONDS), posix_only]


def run(env: MemoryEnv, work: Path, *command: str, **environ: str) -> str:
    done = subprocess.run(
        command,
        env={**env.environment(), "PATH": os.environ["PATH"], "CI": "1", **environ},
        cwd=work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def env(tmp_path: Path) -> MemoryEnv:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="none")
    (tmp_path / "work").mkdir()
    return env


def test_amp_lists_the_server_in_a_file_with_comments(env: MemoryEnv, tmp_path: Path) -> None:
    released = released_client(AMP, "amp")
    program = str(write_program(env, tmp_path))
    work = tmp_path / "work"
    settings = env.home / ".config" / "amp" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{\n  // mine\n  "amp.showCosts": false,\n}\n', encoding="utf-8")
    before = settings.read_bytes()
    run(env, work, program, "-w", str(env.notes), "install", "amp")
    shown = run(env, work, str(released), "mcp", "list")
    assert "memoriter" in shown
    assert str(env.notes) in shown
    run(env, work, program, "install", "amp", "--remove")
    assert settings.read_bytes() == before
