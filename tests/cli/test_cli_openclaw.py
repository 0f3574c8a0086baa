"""A home of OpenClaw works as it is, and stays as it is."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from hook_inputs import PROGRAMS, hook_input
from memoriter import Memory
from memoriter.hookspecs import Message
from memoriter.tools import SEARCH
from openclaw_home import SECRETS, OpenClawHome

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Program

UNCHANGING = (
    ("status",),
    ("status", "--json"),
    ("search", "Omada router"),
    ("search", "--query", "Omada router", "--json"),
    ("search", "spare keys", "--source", "sessions"),
    ("index",),
    ("index", "--dry-run"),
    ("index", "--force", "--json"),
    ("status", "--index"),
    ("status", "--deep"),
    ("doctor",),
    ("get", "MEMORY.md"),
    ("cost",),
    ("compact", "--unused", "--damaged"),
    ("config", "show"),
    ("config", "check"),
    ("config", "path"),
    ("forget", "MEMORY.md", "--dry-run"),
    ("install", "claude-code", "--dry-run"),
    ("search", "Omada router", "--agent", "work"),
    ("token",),
    ("token", "--renew"),
)
QUESTION_FOR_EVAL = {
    "id": "router",
    "lang": "en",
    "kind": "fact",
    "question": "Which router do we have?",
    "path": "memory/2026-02-10.md",
    "lines": [3, 3],
    "evidence": "Omada ER605",
}


@pytest.fixture
def claw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenClawHome:
    """Make a home of OpenClaw, in whose user's home the program runs from a folder with other notes."""
    for name in ("OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH", "OPENCLAW_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    return OpenClawHome.make(tmp_path / "user")


def agents(program: Program, *words: str) -> dict[str, str]:
    """Return the workspace, or the error, of each agent that `status` lists."""
    return {
        each["agent"]: each["workspace"] if "workspace" in each else each["error"]["message"]
        for each in program(*words, "status", "--json").json
    }


def changes_nothing(claw: OpenClawHome, before: Any, outcome: Any, words: tuple[str, ...]) -> None:
    """Require that a command succeeded, left the home of OpenClaw as it was, and printed no key of it."""
    assert outcome.exit_code == 0, (words, outcome.out, outcome.err)
    assert claw.fingerprint() == before, words
    assert not [secret for secret in SECRETS if secret in outcome.out + outcome.err], words


@pytest.mark.slow
def test_every_command_leaves_the_home_of_openclaw_as_it_is(
    program: Program, claw: OpenClawHome, tmp_path: Path
) -> None:
    before = claw.fingerprint()
    for words in UNCHANGING:
        changes_nothing(claw, before, program("--openclaw", *words), words)

    hooks = ("session-start", "user-prompt", "stop", "pre-compact")
    for coding_agent, event in itertools.product(PROGRAMS, hooks):
        typed = hook_input(coding_agent, event, cwd=tmp_path, prompt="Omada router ER605: which VLAN?")
        outcome = program("--openclaw", "hook", event, typed=typed)
        changes_nothing(claw, before, outcome, (coding_agent, event))
        assert ("Omada" in outcome.out) == (event == "user-prompt")

    questions = tmp_path / "questions.json"
    questions.write_text(json.dumps([QUESTION_FOR_EVAL]), encoding="utf-8")
    changes_nothing(claw, before, program("--openclaw", "eval", "--questions", str(questions)), ("eval",))


@pytest.mark.slow
def test_a_session_of_a_program_leaves_the_home_of_openclaw_as_it_is(program: Program, claw: OpenClawHome) -> None:
    before = claw.fingerprint()
    question = "Omada router ER605: which VLAN?"
    with Memory.open(config=claw.config, home=program.home) as memory:
        session = memory.session("agent:main:program:1", audience="private")
        session.start()
        recalled = session.recall(question).prepend_context
        found = SEARCH.run(memory, {"query": "Omada router"}, session_key=session.key)
        session.end_turn([Message("user", question), Message("assistant", "An ER605, VLAN 10.")])
        session.end()
    assert claw.fingerprint() == before
    assert "Omada" in recalled
    assert "Omada" in found["results"][0]["snippet"]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["mcp", "serve", "watch"])
def test_a_server_leaves_the_home_of_openclaw_as_it_is(program: Program, claw: OpenClawHome, command: str) -> None:
    assert program.home
    before = claw.fingerprint()
    words = [sys.executable, "-m", "memoriter", "--openclaw", command, *(["--port", "0"] if command == "serve" else [])]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            if command == "mcp":
                process.communicate(timeout=150)
            else:
                assert process.stdout
                assert process.stdout.readline()
        finally:
            process.terminate()
    assert claw.fingerprint() == before


def test_remember_and_forget_change_the_one_note_that_they_name(program: Program, claw: OpenClawHome) -> None:
    before = claw.fingerprint()
    assert program("--openclaw", "remember", "--to", "long-term", "The wifi password is on the fridge.").exit_code == 0
    changed = {name for name, found in claw.fingerprint().items() if before.get(name) != found}
    assert changed == {".openclaw/workspace/MEMORY.md"}
    assert program("--openclaw", "forget", "--match", "wifi password", "--yes").exit_code == 0
    changed = {name for name, (found, *_) in claw.fingerprint().items() if before.get(name, ("",))[0] != found}
    assert changed == set()


def test_the_option_works_before_and_after_the_command_and_as_a_configuration_file(
    program: Program, claw: OpenClawHome
) -> None:
    program("--openclaw", "index")
    answers = [
        program(*words).out
        for words in (
            ("--openclaw", "search", "Omada router"),
            ("search", "--openclaw", "Omada router"),
            ("search", "--config", str(claw.config), "Omada router"),
            ("search", "--config", "~/.openclaw/openclaw.json", "Omada router"),
        )
    ]
    assert len(set(answers)) == 1
    assert "ER605" in answers[0]


def test_the_current_folder_does_not_stand_in_for_openclaws_workspaces(program: Program, claw: OpenClawHome) -> None:
    assert "ACID" in program("search", "PostgreSQL").out
    assert "오사카" not in program("--openclaw", "search", "Osaka 여행", "--min-score", "0").out
    assert agents(program, "--openclaw")["main"] == str(claw.state / "workspace")
    named = program("--openclaw", "-w", str(program.workspace), "--json", "status").json[0]
    assert named["workspace"] == str(program.workspace)


def test_an_agent_without_a_folder_is_reported_and_the_others_work(program: Program, claw: OpenClawHome) -> None:
    found = agents(program, "--openclaw")
    assert [found["main"], found["work"]] == [str(claw.state / "workspace"), str(claw.state / "workspace-work")]
    assert found["ghost"].startswith(f"The path {str(claw.state / 'workspace-ghost')!r} is not a folder")
    status = program("--openclaw", "status")
    index = program("--openclaw", "index")
    for outcome in (status, index):
        assert outcome.exit_code == 0
        assert "! The agent 'ghost' is left out." in outcome.err
        assert "Start the agent once in OpenClaw" in outcome.err
    assert not (claw.state / "workspace-ghost").exists()
    assert program("--openclaw", "--agent", "ghost", "status").exit_code == 2


def test_index_serves_every_agent_unless_one_is_selected(program: Program, claw: OpenClawHome) -> None:
    reports = program("--openclaw", "index", "--json").json
    assert [report["agent"] for report in reports] == ["main", "work", "ghost"]
    assert [report["added"] for report in reports[:2]] == [6, 3]
    assert reports[2]["error"]["code"] == "workspace"
    assert program("--openclaw", "index", "--agent", "work", "--json").json["added"] == 0
    states = program("--openclaw", "status", "--json").json
    assert [state["stale"] for state in states[:2]] == [0, 0]
    indexes = [state["index"] for state in states[:2]]
    assert len(set(indexes)) == 2
    assert all(index.startswith(str(program.home)) for index in indexes)


def test_the_transcripts_are_those_of_the_state_folder_wherever_the_configuration_is(
    program: Program, claw: OpenClawHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = "provider: 'fake', sources: ['memory', 'sessions'], experimental: {sessionMemory: true}"
    other = tmp_path / "claw.json"
    other.write_text(f"{{agents: {{defaults: {{memorySearch: {{{search}}}}}}}}}", encoding="utf-8")
    monkeypatch.setenv("OPENCLAW_CONFIG_PATH", str(other))
    assert claw.state.is_dir()
    assert "blue tin" in program("--openclaw", "search", "spare keys", "--source", "sessions").out


def test_index_in_a_folder_of_notes_is_about_that_folder(program: Program) -> None:
    tree = {"agents": {"defaults": {"memorySearch": {"provider": "fake"}}, "list": [{"id": "a"}, {"id": "b"}]}}
    (program.home / "memoriter.json5").write_text(json.dumps(tree), encoding="utf-8")
    assert program("index", "--json").json["files"] == 3


def test_settings_of_openclaw_that_do_nothing_here_are_named(program: Program, claw: OpenClawHome) -> None:
    store = "agents.defaults.memorySearch.store.path"
    check = program("--openclaw", "config", "check", "--json").json
    assert [warning["message"] for warning in check["warnings"]] == [
        f"{store}: no effect, because it names OpenClaw's own index; memoriter's index is in memoriter's home."
    ]
    assert "gateway" in check["ignored"]
    assert "env" not in check["ignored"]  # its variables hold keys
    assert f"! {store}: no effect" in program("--openclaw", "status").err
    named = program("--openclaw", "config", "show", "store.path").out
    assert f"{claw.state / 'config/defaults.json5'}:7; no effect)" in named


ONLY_OPENCLAW = """{
  $include: "./config/models.json5",
  env: { shellEnv: { enabled: true }, vars: { A: "b" }, C: "d" },
  agents: { defaults: {
    bootstrapTotalMaxChars: 9,
    memorySearch: {
      inputType: "x", queryInputType: "x", documentInputType: "x", outputDimensionality: 7, multimodal: {}, qmd: {},
      rememberAcrossConversations: true,
      store: { fts: { tokenizer: "trigram" } }, local: { contextSize: 7 }, remote: { nonBatchConcurrency: 7 },
      sync: { embeddingBatchTimeoutSeconds: 7, sessions: { postCompactionForce: true } },
      extraPaths: [{ path: "/a", name: "a" }],
    },
    compaction: { keepRecentTokens: 7, memoryFlush: { forceFlushTranscriptBytes: "2mb" } },
  } },
  memory: { qmd: { rerank: true, searchTool: "x", update: { startup: "x", startupDelayMs: 7 } } },
  plugins: {
    deny: ["x"], entries: { "memory-core": { enabled: true }, "memory-lancedb": { config: { dreaming: {} } } },
  },
  tools: { deny: ["memory_search"] },
}"""


def test_every_key_that_only_openclaw_knows_is_named(program: Program, claw: OpenClawHome) -> None:
    claw.config.write_text(ONLY_OPENCLAW, encoding="utf-8")
    check = program("--openclaw", "config", "check", "--json").json
    warned = " ".join(warning["message"] for warning in check["warnings"])
    search = "agents.defaults.memorySearch"
    about_memory = [
        *(f"{search}.{key}" for key in ("inputType", "queryInputType", "documentInputType", "outputDimensionality")),
        *(f"{search}.{key}" for key in ("multimodal", "qmd", "rememberAcrossConversations", "store.fts")),
        *(f"{search}.{key}" for key in ("local.contextSize", "remote.nonBatchConcurrency", "extraPaths.0.name")),
        *(f"{search}.{key}" for key in ("sync.embeddingBatchTimeoutSeconds", "sync.sessions.postCompactionForce")),
        "agents.defaults.compaction.memoryFlush.forceFlushTranscriptBytes",
        *(f"memory.qmd.{key}" for key in ("rerank", "searchTool", "update.startup", "update.startupDelayMs")),
        "plugins.entries.memory-core",
        "plugins.entries.memory-lancedb.config.dreaming",
    ]
    assert [key for key in about_memory if f"{key}," not in warned.replace(":", ",")] == []
    others = ["agents.defaults.bootstrapTotalMaxChars", "agents.defaults.compaction.keepRecentTokens"]
    others += ["env.shellEnv", "plugins.deny", "tools"]
    assert [key for key in others if key not in check["ignored"]] == []
    assert "Without effect here: " in program("--openclaw", "config", "check").err


def test_status_with_index_indexes_first(program: Program) -> None:
    assert program("status", "--json").json[0]["chunks"] == 0
    assert program("status", "--index", "--json").json[0]["chunks"] > 0


def test_the_question_may_be_an_option(program: Program) -> None:
    assert program("search", "--query", "Omada router").out == program("search", "Omada", "router").out
    twice = program("search", "a", "--query", "b")
    none = program("search")
    assert (twice.exit_code, none.exit_code) == (2, 2)
    assert "The question is given twice" in twice.err


def test_the_variables_of_openclaw_move_its_state_and_its_configuration(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claw = OpenClawHome.make(tmp_path / "elsewhere")
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.setenv("OPENCLAW_STATE_DIR", str(claw.state))
    assert agents(program, "--openclaw")["main"] == str(claw.state / "workspace")
    other = tmp_path / "claw.json"
    other.write_text("{agents: {list: [{id: 'work'}], defaults: {memorySearch: {provider: 'fake'}}}}", encoding="utf-8")
    monkeypatch.setenv("OPENCLAW_CONFIG_PATH", str(other))
    assert agents(program, "--openclaw") == {"work": str(claw.state / "workspace")}
    assert "main" in agents(program)  # without the option, memoriter's own configuration holds


def test_a_client_gets_the_variables_of_openclaw_with_its_configuration(
    program: Program, claw: OpenClawHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENCLAW_STATE_DIR", str(claw.state))
    planned = program("--openclaw", "install", "cursor", "--dry-run").out
    assert f'"OPENCLAW_STATE_DIR": "{claw.state}"' in planned
    assert str(claw.config) in planned
    assert "OPENCLAW" not in program("install", "cursor", "--dry-run").out


def test_openclaw_without_a_configuration_file_has_its_defaults(program: Program, claw: OpenClawHome) -> None:
    claw.config.unlink()
    assert agents(program, "--openclaw") == {"main": str(claw.state / "workspace")}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--openclaw", "--config", "x.json5", "status"), "each name a configuration"),
        (("--openclaw", "status"), "There is no OpenClaw here: "),
    ],
)
def test_an_option_that_cannot_hold_is_refused(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    monkeypatch.delenv("OPENCLAW_STATE_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    outcome = program(*words)
    assert outcome.exit_code == 2
    assert message in outcome.err


def test_an_index_of_openclaw_is_not_shared_with_memoriters_own_agent(program: Program, claw: OpenClawHome) -> None:
    assert claw.index().is_file()
    (program.home / "workspace").mkdir()
    (program.home / "workspace" / "MEMORY.md").write_text("# Mine\n\nMy own note.\n", encoding="utf-8")
    own = program("-w", str(program.home / "workspace"), "status", "--json").json[0]["index"]
    theirs = program("--openclaw", "--agent", "main", "status", "--json").json[0]["index"]
    assert own == str(program.home / "memory" / "main.sqlite") != theirs
