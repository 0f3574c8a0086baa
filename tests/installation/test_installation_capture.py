"""`memoriter install` asks once whether conversations are recorded, and installs the hooks for it only then."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import json5
import pytest
from click.testing import CliRunner

from mcp_endpoints import LIMIT
from memoriter import Memory
from memoriter.cli import main
from memory_env import MemoryEnv, Outcome
from odd_files import posix_only

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RECORDING = {"PostCompact", "SessionEnd"}
HOOKS = {"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json"}


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    env.config.write_text("// mine\n{agents: {defaults: {memorySearch: {provider: 'none'}}}}\n", encoding="utf-8")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "MEMORITER_WORKSPACE", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "USERPROFILE", "MEMORITER_HOME"):
        monkeypatch.setenv(name, str(env.home))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    yield env
    env.close()


def run(env: MemoryEnv, *words: str) -> Outcome:
    done = CliRunner().invoke(main, ["-w", str(env.notes), *words])
    return Outcome(done.exit_code, done.stdout, done.stderr)


def hooks(env: MemoryEnv, client: str) -> dict[str, Any]:
    file = env.home / HOOKS[client]
    return json.loads(file.read_text(encoding="utf-8"))["hooks"] if file.exists() else {}


def settings(env: MemoryEnv) -> Any:
    text = env.config.read_text(encoding="utf-8")
    assert text.startswith("// mine\n")
    return json5.loads(text)


@pytest.mark.parametrize("client", HOOKS)
def test_records_are_off_until_the_owner_wants_them_and_the_hooks_come_and_go_with_them(
    env: MemoryEnv, client: str
) -> None:
    file = env.home / HOOKS[client]
    file.parent.mkdir()
    own = {"hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": "true"}]}]}}
    file.write_text(json.dumps(own, indent=3), encoding="utf-8")
    before = file.read_bytes()
    configured = env.config.read_bytes()
    assert run(env, "install", client).exit_code == 0
    assert env.config.read_bytes() == configured
    assert "memoriter" not in json.dumps([hooks(env, client).get(event) for event in RECORDING])

    on = run(env, "install", client, "--capture")
    assert (on.exit_code, "Conversations are recorded in the day's note" in on.err) == (0, True)
    assert hooks(env, client)["SessionEnd"][0] == own["hooks"]["SessionEnd"][0]
    lines = {event: groups[-1]["hooks"][0] for event, groups in hooks(env, client).items()}
    assert lines["PostCompact"]["command"].endswith(" hook post-compact")
    assert lines["SessionEnd"]["command"].endswith(" hook session-end")
    assert lines["SessionEnd"]["timeout"] == 3
    assert settings(env) == {
        "memory": {"capture": True},
        "agents": {
            "defaults": {
                "memorySearch": {
                    "provider": "none",
                    "sources": ["memory", "sessions"],
                    "experimental": {"sessionMemory": True},
                    "sessionPaths": [f"{client}:all"],
                }
            }
        },
    }
    written = env.config.read_bytes()
    assert run(env, "install", client).exit_code == 0  # without an answer, the settings decide
    assert env.config.read_bytes() == written
    assert set(hooks(env, client)) >= RECORDING

    off = run(env, "install", client, "--no-capture")
    assert "Conversations are not recorded any more" in off.err
    assert "`memoriter config unset memorySearch.sources`" in off.err
    assert settings(env)["memory"] == {"capture": False}
    assert "memoriter" not in json.dumps([hooks(env, client).get(event) for event in RECORDING])
    run(env, "install", client, "--capture")
    assert run(env, "install", client, "--remove").exit_code == 0
    assert file.read_bytes() == before


def test_each_client_adds_its_transcripts_and_a_project_only_its_own(env: MemoryEnv) -> None:
    run(env, "install", "codex", "--capture", "--scope", "project")
    run(env, "install", "claude-code", "--capture")
    search = settings(env)["agents"]["defaults"]["memorySearch"]
    assert search["sessionPaths"] == ["codex", "claude-code:all"]
    run(env, "install", "codex", "--capture")
    run(env, "install", "codex", "--capture", "--scope", "project")
    search = settings(env)["agents"]["defaults"]["memorySearch"]
    assert search["sessionPaths"] == ["claude-code:all", "codex:all"]


@pytest.mark.parametrize(
    "words",
    [
        ("cursor", "--capture"),
        ("claude-code", "--capture", "--no-hooks"),
        ("claude-code", "--capture", "--remove"),
        ("claude-code", "--capture", "--openclaw"),
    ],
)
def test_records_without_hooks_or_settings_of_memoriter_are_refused_and_nothing_is_written(
    env: MemoryEnv, words: tuple[str, ...]
) -> None:
    state = env.home / ".openclaw"
    state.mkdir()
    (state / "openclaw.json").write_text("{}", encoding="utf-8")
    before = {file: file.read_bytes() for file in env.home.rglob("*") if file.is_file()}
    done = run(env, "install", *words)
    assert (done.exit_code, done.out) == (2, "")
    assert "--capture" in done.err
    assert {file: file.read_bytes() for file in env.home.rglob("*") if file.is_file()} == before


@posix_only
@pytest.mark.slow
@pytest.mark.parametrize(("answer", "wanted"), [("y", True), ("n", False), ("", False)])
def test_on_a_terminal_one_question_decides(env: MemoryEnv, answer: str, *, wanted: bool) -> None:
    keyboard, terminal = os.openpty()
    command = env.command("-w", str(env.notes), "install", "claude-code")
    with subprocess.Popen(command, env=env.environment(), stdin=terminal, stdout=terminal, stderr=terminal) as process:
        os.close(terminal)
        os.write(keyboard, f"{answer}\nn\n".encode())  # the second question offers to index the notes
        shown = b""
        with suppress(OSError):  # the program has ended
            while part := os.read(keyboard, 65_536):
                shown += part
        process.wait(LIMIT)
    os.close(keyboard)
    words = " ".join(shown.decode().split())
    assert process.returncode == 0, words
    assert "the summary when Claude Code compacts one" in words
    assert "`memoriter capture undo ID` removes one" in words
    assert "Record conversations, and search past ones? [y/N]" in words
    assert (settings(env).get("memory") == {"capture": True}) is wanted
    assert RECORDING.issubset(hooks(env, "claude-code")) is wanted


def test_transcripts_of_all_folders_are_found_in_the_owners_workspace_and_not_in_a_projects(env: MemoryEnv) -> None:
    env.configure(
        provider="none",
        sources=["memory", "sessions"],
        experimental={"sessionMemory": True},
        sessionPaths=["claude-code:all", "codex:all"],
    )
    line = json.dumps({"type": "user", "message": {"role": "user", "content": "The zebra invoices are on Tuesday."}})
    meta = json.dumps({"type": "session_meta", "payload": {"id": "s", "cwd": "/elsewhere"}})
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "The zebra is in the zoo."}]}
    said = json.dumps({"type": "response_item", "payload": item})
    for file, text in (
        (".claude/projects/-elsewhere/a1.jsonl", line),
        (".codex/sessions/2026/02/10/rollout-1.jsonl", f"{meta}\n{said}"),
    ):
        (env.home / file).parent.mkdir(parents=True)
        (env.home / file).write_text(f"{text}\n", encoding="utf-8")

    def found(workspace: Path | None) -> set[str]:
        with Memory.open(workspace, home=env.home) as memory:
            memory.sync()
            return {hit.path for hit in memory.search("zebra").results if hit.source == "sessions"}

    assert found(env.notes) == {"sessions/claude-code/-elsewhere/a1.jsonl", "sessions/codex/2026/02/10/rollout-1.jsonl"}
    os.chdir(env.notes)
    env.trust()
    assert found(None) == set()
