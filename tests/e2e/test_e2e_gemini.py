"""The released Gemini CLI with memoriter and a scripted model. Without npm and its registry, the tests are skipped."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hook_inputs import FOLDER as RECORDED
from hostile_repository import contents, hostile_repository
from odd_files import posix_only
from released_clients import (
    SECONDS,
    Client,
    foreign_key,
    give_time,
    hanging_program,
    released_client,
    unfinished_index,
)
from servers.agent_model import AgentModel, Step
from terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = "@google/gemini-cli@0.61.0"
SETTINGS: dict[str, Any] = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"enableAutoUpdate": False},
}
EVENTS = {"session-start": "SessionStart", "user-prompt": "BeforeAgent", "stop": "AfterAgent"}
QUESTION = "Which VLAN does the Omada router keep for the printers?"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3 * SECONDS), posix_only]


class Gemini(Client):
    @property
    def settings(self) -> Path:
        return self.env.home / ".gemini" / "settings.json"

    def install(self, *words: str) -> None:
        """Install memoriter without questions about its tools, and with time for a busy machine, as its owner may."""
        self.run(str(self.program), *words, "install", "gemini")
        settings = json.loads(self.settings.read_text(encoding="utf-8"))
        settings["mcpServers"]["memoriter"] |= {"trust": True, "timeout": SECONDS * 1_000}
        self.settings.write_text(json.dumps(settings), encoding="utf-8")
        give_time(self.settings, SECONDS * 1_000)

    def ask(self, prompt: str) -> str:
        """Let the client answer once and print the answer."""
        return self.run("gemini", "-p", prompt, "-m", "gemini-2.5-flash").strip()

    def said(self, request: int = 0) -> str:
        """Return the last message of a request, without the instructions that Gemini CLI puts first."""
        parts = self.model.requests[request]["contents"][-1]["parts"]
        return "\n".join(part.get("text", "") for part in parts if "<session_context>" not in part.get("text", ""))


@pytest.fixture(scope="module")
def released() -> Path:
    return released_client(PACKAGE, "gemini")


@pytest.fixture
def gemini(released: Path, model: AgentModel, tmp_path: Path) -> Gemini:
    made = Gemini.at(
        tmp_path,
        released,
        model,
        GOOGLE_GEMINI_BASE_URL=model.root,
        GEMINI_API_KEY="scripted",
        GEMINI_CLI_TRUST_WORKSPACE="true",
    )
    made.settings.parent.mkdir()
    made.settings.write_text(json.dumps(SETTINGS), encoding="utf-8")
    return made


def test_a_session_has_the_notes_recalls_and_appends_and_the_file_comes_back(gemini: Gemini, tmp_path: Path) -> None:
    own = {
        event: [{"hooks": [{"type": "command", "command": f"cat > {tmp_path / word}"}]}]
        for word, event in EVENTS.items()
    }
    gemini.settings.write_text(json.dumps({**SETTINGS, "hooks": own}), encoding="utf-8")
    before = gemini.settings.read_bytes()
    gemini.install("-w", str(gemini.env.notes))
    gemini.model.play(
        Step(tool="memory_append", arguments={"text": "The printers moved to VLAN 20.", "to": None}),
        Step("The result."),
    )
    assert gemini.ask(QUESTION) == "The result."  # and nothing after it
    said = gemini.said()
    assert "<hook_context>&lt;memoriter-recall&gt;" in said
    assert said.index("We chose PostgreSQL for the ledger") < said.index(QUESTION)
    assert said.index(QUESTION) < said.index("The Omada ER605 keeps VLAN 10 for the printers.")
    assert said.count("The Omada ER605") == 1
    written = "".join(note.read_text(encoding="utf-8") for note in (gemini.env.notes / "memory").glob("*.md"))
    assert "The printers moved to VLAN 20." in written
    recorded = json.loads((RECORDED / "gemini.json").read_text(encoding="utf-8"))
    for word in EVENTS:
        given = json.loads((tmp_path / word).read_text(encoding="utf-8"))
        assert given.keys() == recorded[word].keys(), word

    gemini.run(str(gemini.program), "install", "gemini", "--remove")
    assert gemini.settings.read_bytes() == before


def test_in_its_terminal_gemini_runs_the_same_hooks_for_each_message(gemini: Gemini) -> None:
    gemini.install("-w", str(gemini.env.notes))
    command = ["gemini", "-m", "gemini-2.5-flash"]
    with Terminal(command, env=gemini.environ, cwd=gemini.work, seconds=SECONDS) as terminal:
        terminal.wait("Type your message")
        terminal.settle()
        for question, words in (
            (QUESTION, "The Omada ER605 keeps VLAN 10 for the printers."),
            ("When does the train to Osaka leave?", "The train to Osaka leaves at noon"),
        ):
            gemini.model.play(Step("The result."))
            terminal.press(question)
            terminal.settle()
            terminal.enter(lambda: not gemini.model.steps)
            terminal.settle()
            assert words in gemini.said()
    assert "We chose PostgreSQL for the ledger" in gemini.model.seen()


def test_a_repository_that_is_not_trusted_is_neither_read_nor_written(gemini: Gemini) -> None:
    own = gemini.env.home / "workspace"
    own.mkdir()
    (own / "MEMORY.md").write_text("# Own\n\n- The zeppelin ledger is kept in the safe.\n", encoding="utf-8")
    gemini.install()
    hostile_repository(gemini.work)
    before = contents(gemini.work)
    gemini.model.play(
        Step(tool="memory_search", arguments={"query": "Where is the zeppelin ledger kept?"}),
        Step(tool="memory_append", arguments={"text": "My door code is 4711."}),
        Step("The result."),
    )
    assert gemini.ask("Where is the zeppelin ledger kept?") == "The result."
    assert "The zeppelin ledger is kept in the safe." in gemini.said()
    assert "evil.example" not in gemini.model.seen()
    assert contents(gemini.work) == before
    assert "4711" in "".join(note.read_text(encoding="utf-8") for note in (own / "memory").glob("*.md"))


def test_a_memoriter_that_hangs_does_not_keep_the_agent_from_its_answer(gemini: Gemini, tmp_path: Path) -> None:
    gemini.run(str(gemini.program), "-w", str(gemini.env.notes), "install", "gemini")
    settings = json.loads(gemini.settings.read_text(encoding="utf-8"))
    settings["mcpServers"]["memoriter"]["timeout"] = 5_000
    gemini.settings.write_text(json.dumps(settings), encoding="utf-8")
    gemini.model.play(Step("The result."))
    with hanging_program(gemini.program, tmp_path) as started:
        assert gemini.ask("Which database does the ledger use?") == "The result."  # within SECONDS
    assert {"session-start", "user-prompt", "mcp"} <= set(started)


def test_an_unfinished_index_and_a_key_of_the_agent_leave_it_quick_silent_and_safe(gemini: Gemini) -> None:
    unfinished_index(gemini.env)
    gemini.install("-w", str(gemini.env.notes))
    gemini.model.play(Step("The result."))
    with foreign_key() as (variables, requests):
        gemini.environ |= variables
        assert gemini.ask(QUESTION) == "The result."
    said = gemini.said()
    assert "We chose PostgreSQL for the ledger" in said
    assert "The Omada ER605 keeps VLAN 10 for the printers." in said
    assert [request for request in requests if "openai" in request] == []
    assert gemini.env.run("--json", "status").json[0]["vectors"] == 0
