"""What coding agents remember by themselves is searched if the owner wants it, under its source, and never written."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from hook_inputs import hook_input
from memoriter.workspace._paths import project_name
from memory_env import trust

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Program

QUESTION = "When are the invoices of the zeppelin ledger printed?"
CLAUDE = "The invoices of the zeppelin ledger are printed on Tuesdays."
CODEX = "The toner of the zeppelin ledger is in the cellar."
OTHER = "The zeppelin of another project has two engines."


@pytest.fixture
def configure(program: Program, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Write the settings, and what the clients remember into the home of the person."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "CLAUDE_CODE_ENTRYPOINT"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(program.home))

    def write(*clients: str) -> None:
        search = {"provider": "none", "clientMemories": list(clients)}
        settings = {"agents": {"defaults": {"memorySearch": search}}}
        (program.home / "memoriter.json5").write_text(json.dumps(settings), encoding="utf-8")

    projects = program.home / ".claude" / "projects"
    for file, text in (
        (projects / project_name(str(program.workspace)) / "memory" / "MEMORY.md", CLAUDE),
        (projects / "-other" / "memory" / "topics" / "air.md", OTHER),
        (projects / "-other" / "session.jsonl", "zeppelin"),
        (program.home / ".codex" / "memories" / "MEMORY.md", CODEX),
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# Zeppelin\n\n- {text}\n", encoding="utf-8")
    write("claude-code", "codex")
    return write


def files(program: Program) -> dict[Path, bytes]:
    folders = (program.home / ".claude", program.home / ".codex")
    return {file: file.read_bytes() for folder in folders for file in folder.rglob("*") if file.is_file()}


def hits(program: Program, *words: str) -> dict[str, str]:
    outcome = program("-w", str(program.workspace), "search", "zeppelin", "--json", *words)
    return {hit["path"]: hit["text"] for hit in outcome.json["results"]}


def test_memories_of_clients_are_found_under_their_source_if_the_owner_wants_it(
    program: Program, configure: Callable[..., None]
) -> None:
    own = f"claude-code:{project_name(str(program.workspace))}/MEMORY.md"
    found = hits(program)
    assert set(found) == {own, "claude-code:-other/topics/air.md", "codex:memories/MEMORY.md"}
    assert CLAUDE in found[own]
    assert program("-w", str(program.workspace), "get", f"{own}#L3").out == f"- {CLAUDE}\n"
    assert set(hits(program, "--path", "codex:*")) == {"codex:memories/MEMORY.md"}
    configure("codex")
    assert set(hits(program)) == {"codex:memories/MEMORY.md"}
    configure()
    assert hits(program) == {}
    assert program("-w", str(program.workspace), "get", f"{own}#L3").exit_code == 2


@pytest.mark.parametrize(
    "path", ["claude-code:-other/../../../secret.md", "codex:memories/../config.md", "codex:../memoriter.md", "codex:"]
)
def test_a_citation_of_a_client_leads_nowhere_else(program: Program, configure: Callable[..., None], path: str) -> None:
    (program.home / "secret.md").write_text("secret", encoding="utf-8")
    (program.home / ".codex" / "config.md").write_text("secret", encoding="utf-8")
    outcome = program("-w", str(program.workspace), "get", path)
    assert (outcome.exit_code, outcome.out) == (2, "")


def test_nothing_writes_into_the_memory_of_a_client(program: Program, configure: Callable[..., None]) -> None:
    here = ("-w", str(program.workspace))
    before = files(program)
    for words in (
        ("forget", "codex:memories/MEMORY.md", "--yes"),
        ("forget", "codex:memories/MEMORY.md#L3", "--yes"),
        ("forget", str(program.home / ".codex" / "memories" / "MEMORY.md"), "--yes"),
    ):
        outcome = program(*here, *words)
        assert (outcome.exit_code, outcome.out) == (2, "")
        assert "memoriter does not write there" in outcome.err
    program(*here, "remember", "The zeppelin is in the hangar.")
    done = program(*here, "forget", "--match", "zeppelin", "--yes")
    assert "Gone: 1 line of memory/" in done.out
    assert "codex:memories/MEMORY.md is kept by another program and holds it" in done.out
    assert files(program) == before


def test_recall_quotes_what_a_client_remembers_as_the_words_of_an_agent(
    program: Program, configure: Callable[..., None]
) -> None:
    def recalled(*words: str, session: str) -> str:
        question = "Where is the toner of the zeppelin ledger in the cellar?"
        typed = hook_input("claude-code", "user-prompt", cwd=program.workspace, prompt=question, session_id=session)
        return program("-w", str(program.workspace), "hook", "user-prompt", *words, typed=typed).out

    private = json.loads(recalled(session="private"))["hookSpecificOutput"]["additionalContext"]
    assert "codex:memories/MEMORY.md" in private
    assert "\n> Written by agent (its own memory), 20" in private
    assert f"\n> - {CODEX}" in private
    assert CODEX not in recalled("--shared", session="shared")


def test_in_the_folder_of_a_project_only_what_belongs_to_it_is_found(
    program: Program, configure: Callable[..., None]
) -> None:
    trust(program.home, program.workspace)
    typed = hook_input("claude-code", "user-prompt", cwd=program.workspace, prompt=QUESTION)
    recalled = program("hook", "user-prompt", typed=typed).out
    assert CLAUDE in recalled
    assert CODEX not in recalled
    assert OTHER not in recalled
    for path in ("codex:memories/MEMORY.md", "claude-code:-other/topics/air.md"):
        assert program("get", path).exit_code == 2


@pytest.mark.parametrize(("started", "found"), [("", True), ("/inner", True), ("-other", False)])
def test_the_sessions_beside_a_memory_tell_whose_it_is(
    program: Program, configure: Callable[..., None], started: str, *, found: bool
) -> None:
    trust(program.home, program.workspace)
    folder = program.home / ".claude" / "projects" / project_name(str(program.workspace))
    line = {"type": "user", "cwd": f"{program.workspace}{started}", "message": {"role": "user", "content": "Hello"}}
    (folder / "session.jsonl").write_text(f"{json.dumps(line)}\n", encoding="utf-8")
    typed = hook_input("claude-code", "user-prompt", cwd=program.workspace, prompt=QUESTION)
    assert (CLAUDE in program("hook", "user-prompt", typed=typed).out) is found


def test_a_client_without_a_memory_is_reported(program: Program, configure: Callable[..., None]) -> None:
    shutil.rmtree(program.home / ".codex")
    shutil.rmtree(program.home / ".claude")
    status = program("-w", str(program.workspace), "status", "--json").json
    skipped = (status[0] if isinstance(status, list) else status)["skipped"]
    missing = {each["path"].partition(":")[0] for each in skipped if each["reason"] == "missing"}
    assert missing == {"claude-code", "codex"}
