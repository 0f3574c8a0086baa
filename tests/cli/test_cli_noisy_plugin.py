"""A plugin that prints while it is loaded: stdout carries only what the client of the program expects."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from memory_env import MemoryEnv

if TYPE_CHECKING:
    from pathlib import Path

NOISY = """\
import os
import sys
from memoriter.hookspecs import hookimpl

print("printed at the import")
os.write(1, b"written at the import\\n")

@hookimpl
def listeners(context):
    os.write(1, b"written later\\n")
    sys.exit(4)
"""
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@pytest.fixture
def noisy(tmp_path: Path) -> MemoryEnv:
    """An environment in which such a plugin is installed."""
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="fake")
    package = tmp_path / "site" / "noisy-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: noisy\nVersion: 1.0\n", encoding="utf-8")
    (package / "entry_points.txt").write_text("[memoriter.plugins]\nnoisy = noisy\n", encoding="utf-8")
    (package.parent / "noisy.py").write_text(NOISY, encoding="utf-8")
    env.environ["PYTHONPATH"] = os.pathsep.join([env.environment()["PYTHONPATH"], str(package.parent)])
    return env


def test_a_hook_prints_its_answer_alone_and_no_trace(noisy: MemoryEnv) -> None:
    given = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "1", "cwd": str(noisy.notes)}
    done = noisy.run("hook", "session-start", typed=json.dumps(given))
    answer = json.loads(done.out)
    assert done.exit_code == 0
    assert "PostgreSQL" in answer["hookSpecificOutput"]["additionalContext"]
    assert "The plugin 'noisy' is left out: RuntimeError: it raised SystemExit(4)." in answer["systemMessage"]
    assert "written later" in done.err
    assert "Traceback" not in done.err


def test_a_server_over_stdio_sends_the_protocol_alone(noisy: MemoryEnv) -> None:
    requests = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}},
    ]
    done = subprocess.run(
        noisy.command("-w", str(noisy.notes), "mcp"),
        input="".join(f"{json.dumps(request)}\n" for request in requests),
        capture_output=True,
        encoding="utf-8",
        env=noisy.environment(),
        cwd=noisy.notes,
        timeout=100,
    )
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]
    assert "printed at the import" in done.stderr
