"""The plugins in the released clients, with a scripted model. Without npm and its registry, the tests are skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from memory_env import MemoryEnv
from odd_files import posix_only
from released_clients import SECONDS, give_time, released_client, write_program
from servers.agent_model import AgentModel, Step

ROOT = Path(__file__).parents[2]
CLAUDE_CODE = "@anthropic-ai/claude-code@2.1.330"
CODEX = "@openai/codex@0.169.0"
GEMINI = "@google/gemini-cli@0.61.0"
QUIET = (
    "DISABLE_TELEMETRY",
    "DISABLE_ERROR_REPORTING",
    "DISABLE_AUTOUPDATER",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
)
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3 * SECONDS), posix_only]


@pytest.fixture
def env(tmp_path: Path) -> MemoryEnv:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="none")
    (tmp_path / "work").mkdir()
    write_program(env, tmp_path)
    return env


def run(env: MemoryEnv, folder: Path, *command: str, **environ: str) -> str:
    """Run a client that finds `memoriter` on its PATH."""
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    quiet = dict.fromkeys(QUIET, "1")
    done = subprocess.run(
        command,
        env={**env.environment(), **quiet, "PATH": path, **environ},
        cwd=folder / "work",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_claude_code_installs_the_plugin_and_recalls_with_it(env: MemoryEnv, tmp_path: Path) -> None:
    claude = str(released_client(CLAUDE_CODE, "claude"))
    assert "Validation passed" in run(
        env, tmp_path, claude, "plugin", "validate", str(ROOT / "plugins" / "claude-code")
    )
    assert "Validation passed" in run(env, tmp_path, claude, "plugin", "validate", str(ROOT))
    market = tmp_path / "market"
    plugin = tmp_path / "market" / "plugins" / "claude-code"
    shutil.copytree(ROOT / ".claude-plugin", market / ".claude-plugin")
    shutil.copytree(ROOT / "plugins" / "claude-code", plugin)
    give_time(plugin / "hooks" / "hooks.json")
    run(env, tmp_path, claude, "plugin", "marketplace", "add", str(market))
    run(env, tmp_path, claude, "plugin", "install", "memoriter@memoriter")
    with AgentModel() as model:
        model.play(Step("The result."))
        variables = {
            "ANTHROPIC_BASE_URL": model.root,
            "ANTHROPIC_API_KEY": "sk-ant-scripted-0123456789abcdef",
            "MEMORITER_WORKSPACE": str(env.notes),
            "MEMORITER_HOOK_SECONDS": "60",
            "MCP_TIMEOUT": str(SECONDS * 1_000),
        }
        question = "Which VLAN does the Omada router keep for the printers?"
        shown = run(env, tmp_path, claude, "-p", question, "--model", "claude-sonnet-4-6", **variables)
        assert shown == "The result.\n"
        assert "memoriter:memory" in model.seen(0)  # the skill
        assert "We chose PostgreSQL for the ledger" in model.seen(0)
        assert "The Omada ER605 keeps VLAN 10 for the printers." in model.seen(0)
        servers = run(env, tmp_path, claude, "mcp", "list", **variables)
    assert "plugin:memoriter:memoriter" in servers
    assert "Connected" in servers


def test_codex_installs_the_plugin_and_lists_its_server(env: MemoryEnv, tmp_path: Path) -> None:
    codex = str(released_client(CODEX, "codex"))
    run(env, tmp_path, codex, "plugin", "marketplace", "add", str(ROOT))
    run(env, tmp_path, codex, "plugin", "add", "memoriter@memoriter")
    assert "installed, enabled" in run(env, tmp_path, codex, "plugin", "list")
    assert "codex-plugin@" in run(env, tmp_path, codex, "mcp", "list")


def test_gemini_accepts_the_extension(env: MemoryEnv, tmp_path: Path) -> None:
    gemini = str(released_client(GEMINI, "gemini"))
    run(env, tmp_path, gemini, "extensions", "validate", str(ROOT / "plugins" / "gemini"))
