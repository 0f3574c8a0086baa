"""The released Codex with memoriter and a scripted model. Without npm and its registry, the test is skipped."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from hostile_repository import contents, hostile_repository
from memory_env import MemoryEnv
from odd_files import posix_only
from released_clients import (
    HANGING_SECONDS,
    SECONDS,
    foreign_key,
    give_time,
    hanging_program,
    released_client,
    unfinished_index,
    write_program,
)
from servers.agent_model import AgentModel, Step
from terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = "@openai/codex@0.169.0"
FULL = 250_000
"""Tokens, of a window of 258,400."""
CONFIGURATION = """
model = "scripted"
model_provider = "scripted"
model_context_window = 258400
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
"""
QUESTION = "Which VLAN does the Omada router keep for the printers?"
DOWN = "\x1b[B"
"""The key that goes to the next answer of a question."""
pytestmark = [pytest.mark.slow, pytest.mark.timeout(2 * SECONDS)]


@pytest.fixture(scope="module")
def codex() -> Path:
    """The released program; without npm and its registry, the tests are skipped."""
    return released_client(PACKAGE, "codex")


@pytest.mark.skipif(os.name == "nt", reason="the program is started by its first line")
def test_codex_searches_and_writes_notes_runs_the_hooks_and_prints_its_own_last_answer(
    codex: Path, model: AgentModel, tmp_path: Path
) -> None:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="none")
    config = env.home / ".codex" / "config.toml"
    hooks = env.home / ".codex" / "hooks.json"
    config.parent.mkdir()
    config.write_text(CONFIGURATION.format(url=model.root), encoding="utf-8")
    own = {"hooks": [{"type": "command", "command": f"touch {tmp_path / 'mine'}"}]}
    hooks.write_text(json.dumps({"hooks": {"Stop": [own]}}), encoding="utf-8")
    before = hooks.read_bytes()
    program = write_program(env, tmp_path)
    environ = {**env.environment(), "PATH": f"{codex.parent}{os.pathsep}{os.environ['PATH']}"}

    def run(*command: str) -> str:
        done = subprocess.run(
            command, env=environ, cwd=env.home, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8"
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(str(program), "-w", str(env.notes), "install", "codex")
    assert json.loads(hooks.read_text(encoding="utf-8"))["hooks"]["Stop"][0] == own
    model.play(
        Step(
            tool="memory_search",
            arguments={"query": "which database for the ledger", "maxResults": None, "source": "all"},
        ),
        Step(tool="memory_append", arguments={"text": "The ledger is audited in May."}),
        Step("The result.", tokens=FULL),
        Step("NO_REPLY", tokens=FULL),
    )
    bypass = "--dangerously-bypass-hook-trust"
    result = run("codex", "exec", bypass, "--skip-git-repo-check", "Which database does the ledger use?")
    assert result == "The result.\n"  # and no NO_REPLY after it, although the conversation is full
    assert "<memoriter-recall>" in json.dumps(model.requests[0]["input"])
    results = [str(item["output"]) for item in model.requests[-1]["input"] if item["type"] == "function_call_output"]
    assert '"citation":"MEMORY.md#L1-L3"' in results[-2]
    assert "The ledger is audited in May." in "".join(
        note.read_text(encoding="utf-8") for note in (env.notes / "memory").glob("*.md")
    )
    assert (tmp_path / "mine").exists()
    run(str(program), "-w", str(env.notes), "install", "codex", "--remove")
    assert hooks.read_bytes() == before
    assert "memoriter" not in config.read_text(encoding="utf-8")
    env.close()


@posix_only
def test_a_hostile_repository_and_a_memoriter_that_hangs_leave_codex_alone(
    codex: Path, model: AgentModel, tmp_path: Path
) -> None:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="none")
    own = env.home / "workspace"
    own.mkdir()
    (own / "MEMORY.md").write_text("# Own\n\n- The zeppelin ledger is kept in the safe.\n", encoding="utf-8")
    work = hostile_repository(tmp_path / "work")
    before = contents(work)
    config = env.home / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text(CONFIGURATION.format(url=model.root), encoding="utf-8")
    program = write_program(env, tmp_path)
    environ = {
        **env.environment(),
        "PATH": f"{codex.parent}{os.pathsep}{os.environ['PATH']}",
        "MEMORITER_HOOK_SECONDS": "4.5",  # on a busy machine, as its owner may
    }

    def run(*command: str) -> str:
        done = subprocess.run(
            command, env=environ, cwd=work, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8"
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ask() -> str:
        return run("codex", "exec", "--dangerously-bypass-hook-trust", "Where is the zeppelin ledger kept?")

    run(str(program), "install", "codex")
    model.play(
        Step(tool="memory_search", arguments={"query": "Where is the zeppelin ledger kept?"}),
        Step(tool="memory_append", arguments={"text": "My door code is 4711."}),
        Step("The result."),
    )
    assert ask() == "The result.\n"
    seen = model.seen()
    assert "The zeppelin ledger is kept in the safe." in seen
    assert "evil.example" not in seen
    assert contents(work) == before
    assert "4711" in "".join(note.read_text(encoding="utf-8") for note in own.rglob("*.md"))

    give_time(config.with_name("hooks.json"), HANGING_SECONDS)
    model.play(Step("Another result."))
    with hanging_program(program, tmp_path) as started:
        assert ask() == "Another result.\n"
    assert {"session-start", "user-prompt", "stop"} <= set(started)
    env.close()


@posix_only
def test_an_unfinished_index_and_a_key_of_the_agent_leave_codex_quick_silent_and_safe(
    codex: Path, model: AgentModel, tmp_path: Path
) -> None:
    env = MemoryEnv.at(tmp_path)
    unfinished_index(env)
    (tmp_path / "work").mkdir()
    config = env.home / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text(CONFIGURATION.format(url=model.root), encoding="utf-8")
    environ = {
        **env.environment(),
        "PATH": f"{codex.parent}{os.pathsep}{os.environ['PATH']}",
    }

    def run(*command: str) -> str:
        done = subprocess.run(
            command,
            env=environ,
            cwd=tmp_path / "work",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(str(write_program(env, tmp_path)), "-w", str(env.notes), "install", "codex")
    give_time(config.with_name("hooks.json"))
    model.play(Step("The result."))
    with foreign_key() as (variables, requests):
        environ |= variables
        shown = run("codex", "exec", "--dangerously-bypass-hook-trust", "--skip-git-repo-check", QUESTION)
    assert shown == "The result.\n"
    seen = model.seen(0)
    assert "We chose PostgreSQL for the ledger" in seen
    assert "The Omada ER605 keeps VLAN 10 for the printers." in seen
    assert [request for request in requests if "openai" in request] == []
    assert env.run("--json", "status").json[0]["vectors"] == 0
    env.close()


@posix_only
def test_in_its_terminal_codex_runs_the_hooks_only_after_the_owner_has_trusted_them(
    codex: Path, model: AgentModel, tmp_path: Path
) -> None:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="none")
    work = tmp_path / "work"
    work.mkdir()
    config = env.home / ".codex" / "config.toml"
    config.parent.mkdir()
    trusted = f'\n[projects."{work}"]\ntrust_level = "trusted"\n'
    config.write_text(CONFIGURATION.format(url=model.root) + trusted, encoding="utf-8")
    environ = {
        **env.environment(),
        "PATH": f"{codex.parent}{os.pathsep}{os.environ['PATH']}",
        "MEMORITER_HOOK_SECONDS": "4.5",  # on a busy machine, as its owner may
    }
    command = [str(write_program(env, tmp_path)), "-w", str(env.notes), "install", "codex"]
    done = subprocess.run(command, env=environ, cwd=work, capture_output=True, encoding="utf-8", check=True)
    assert "only after you accept them" in done.stderr

    def ask(keys: str) -> str:
        """Start Codex, answer its question about hooks if there is one, and return the first request to the model."""
        model.play(Step("The result."))
        with Terminal(["codex", "--no-daemon"], env=environ, cwd=work, seconds=SECONDS) as terminal:
            if keys:
                terminal.wait("hooks are new or changed")
                terminal.settle()
                terminal.press(keys)
                terminal.settle()
                terminal.press("\r")
            terminal.wait("for shortcuts")
            terminal.settle()
            terminal.press("Which database does the ledger use?")
            terminal.settle()
            terminal.enter(lambda: not model.steps)
        return json.dumps(model.requests[0]["input"])

    assert "<memoriter-recall>" not in ask(2 * DOWN)  # continue without trusting
    for request in (ask(DOWN), ask("")):  # trust all, and no question after it
        assert "<memoriter-recall>" in request
        assert "We chose PostgreSQL for the ledger because of ACID." in request
    env.close()
