"""The released opencode with memoriter and a scripted model. Without npm and its registry, the tests are skipped."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from hostile_repository import contents, hostile_repository
from odd_files import posix_only
from released_clients import (
    SECONDS,
    Client,
    foreign_key,
    hanging_program,
    released_client,
    released_folder,
    unfinished_index,
)
from servers.agent_model import AgentModel, Step

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = "opencode-ai@1.18.33"
PLUGIN = "@opencode-ai/plugin@" + PACKAGE.partition("@")[2]
"""opencode installs it into each folder that has a plugin."""
QUESTION = "Which VLAN does the Omada router keep for the printers?"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3 * SECONDS), posix_only]


class OpenCode(Client):
    @property
    def settings(self) -> Path:
        return self.env.home / ".config" / "opencode" / "opencode.json"

    def install(self, *words: str, seconds: int = SECONDS) -> None:
        """Install memoriter, and let opencode wait so long for it, as its owner may."""
        self.run(str(self.program), *words, "install", "opencode")
        settings = json.loads(self.settings.read_text(encoding="utf-8"))
        settings["mcp"]["memoriter"]["timeout"] = seconds * 1_000
        self.settings.write_text(json.dumps(settings), encoding="utf-8")
        plugin = self.settings.with_name("plugins") / "memoriter.js"
        limit = "const MILLISECONDS = 5000\n"
        text = plugin.read_text(encoding="utf-8")
        assert limit in text
        plugin.write_text(text.replace(limit, f"const MILLISECONDS = {seconds * 1_000}\n"), encoding="utf-8")

    def ask(self, prompt: str, *options: str) -> str:
        """Let the client answer once and print the answer."""
        return self.run("opencode", "run", *options, "-m", "scripted/scripted", prompt).strip()

    def said(self, request: int = 0) -> list[str]:
        """Return the texts of the person's messages in a request."""
        messages = [message for message in self.model.requests[request]["messages"] if message["role"] == "user"]
        return [
            message["content"]
            if isinstance(message["content"], str)
            else "\n".join(part["text"] for part in message["content"])
            for message in messages
        ]


@pytest.fixture(scope="module")
def released() -> Path:
    return released_client(PACKAGE, "opencode")


@pytest.fixture(scope="module")
def plugin() -> Path:
    return released_folder(PLUGIN, [PLUGIN], ["--save-exact"])


def put_plugin(plugin: Path, folder: Path) -> None:
    """Put there what opencode would install first."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(plugin / name, folder)
    (folder / "node_modules").symlink_to(plugin / "node_modules")


@pytest.fixture
def opencode(released: Path, plugin: Path, model: AgentModel, tmp_path: Path) -> OpenCode:
    made = OpenCode.at(
        tmp_path,
        released,
        model,
        OPENCODE_DISABLE_MODELS_FETCH="1",
        OPENCODE_DISABLE_LSP_DOWNLOAD="1",
    )
    put_plugin(plugin, made.settings.parent)
    made.settings.write_text(json.dumps(configuration(model.root)), encoding="utf-8")
    return made


def configuration(url: str) -> dict[str, Any]:
    scripted = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": "scripted"},
        "models": {"scripted": {}},
    }
    return {"autoupdate": False, "share": "disabled", "provider": {"scripted": scripted}}


def test_a_session_has_the_notes_recalls_and_appends_and_the_files_come_back(opencode: OpenCode) -> None:
    before = opencode.settings.read_bytes()
    opencode.install("-w", str(opencode.env.notes))
    opencode.model.play(
        Step(tool="memory_append", arguments={"text": "The printers moved to VLAN 20.", "to": None}),
        Step("The result."),
    )
    assert opencode.ask(QUESTION) == "The result."
    (said,) = opencode.said()
    assert said.count("<memoriter-recall>") == 2
    assert said.index("We chose PostgreSQL for the ledger") < said.index("The Omada ER605 keeps VLAN 10")
    assert "The printers moved to VLAN 20." in "".join(
        note.read_text(encoding="utf-8") for note in (opencode.env.notes / "memory").glob("*.md")
    )
    opencode.model.play(Step("Another result."))
    assert opencode.ask("When does the train to Osaka leave?", "--continue") == "Another result."
    first, second = opencode.said()
    assert first == said  # what was recalled once stays where it was
    assert "The train to Osaka leaves at noon" in second
    assert "We chose PostgreSQL for the ledger" not in second

    opencode.run(str(opencode.program), "install", "opencode", "--remove")
    left = json.loads(opencode.settings.read_text(encoding="utf-8"))
    left.pop("$schema", None)  # which opencode adds
    assert left == json.loads(before)
    assert not (opencode.settings.parent / "plugins" / "memoriter.js").exists()
    assert list(opencode.env.home.rglob("*.memoriter-backup")) == []
    opencode.env.close()


def test_after_a_compaction_the_next_message_has_the_session_context_again(opencode: OpenCode) -> None:
    settings = json.loads(opencode.settings.read_text(encoding="utf-8"))
    settings["provider"]["scripted"]["models"]["scripted"] = {"limit": {"context": 20_000, "output": 1_000}}
    opencode.settings.write_text(json.dumps(settings), encoding="utf-8")
    opencode.install("-w", str(opencode.env.notes))
    opencode.model.play(Step("The result.", tokens=19_800))
    opencode.ask(QUESTION)  # and the client compacts the conversation at once
    opencode.model.play(Step("Another result."), Step("A third result."))
    assert opencode.ask("When does the train to Osaka leave?", "--continue") == "Another result."
    assert opencode.ask("Is the ferry to Naoshima on time?", "--continue") == "A third result."

    second = opencode.said(0)[-1]
    third = opencode.said(1)[-1]
    assert "We chose PostgreSQL for the ledger" in second
    assert "The train to Osaka leaves at noon" in second
    assert "We chose PostgreSQL for the ledger" not in third


def test_an_installation_for_the_user_and_one_for_the_project_recall_once(opencode: OpenCode, plugin: Path) -> None:
    put_plugin(plugin, opencode.work / ".opencode")
    opencode.install("-w", str(opencode.env.notes))
    opencode.run(str(opencode.program), "-w", str(opencode.env.notes), "install", "opencode", "--scope", "project")
    assert (opencode.work / ".opencode" / "plugins" / "memoriter.js").is_file()
    opencode.model.play(Step("The result."))
    assert opencode.ask(QUESTION) == "The result."
    (said,) = opencode.said()
    assert said.count("<memoriter-recall>") == 2  # the session context and the passages, each once


def test_a_repository_that_is_not_trusted_is_neither_read_nor_written(opencode: OpenCode) -> None:
    own = opencode.env.home / "workspace"
    own.mkdir()
    (own / "MEMORY.md").write_text("# Own\n\n- The zeppelin ledger is kept in the safe.\n", encoding="utf-8")
    opencode.install()
    hostile_repository(opencode.work)
    before = contents(opencode.work)
    opencode.model.play(
        Step(tool="memory_search", arguments={"query": "Where is the zeppelin ledger kept?"}),
        Step(tool="memory_append", arguments={"text": "My door code is 4711."}),
        Step("The result."),
    )
    assert opencode.ask("Where is the zeppelin ledger kept?") == "The result."
    assert "The zeppelin ledger is kept in the safe." in opencode.said()[0]
    assert "evil.example" not in opencode.model.seen()
    assert contents(opencode.work) == before
    assert "4711" in "".join(note.read_text(encoding="utf-8") for note in (own / "memory").glob("*.md"))


def test_a_memoriter_that_hangs_does_not_keep_the_agent_from_its_answer(opencode: OpenCode, tmp_path: Path) -> None:
    opencode.install("-w", str(opencode.env.notes), seconds=5)
    opencode.model.play(Step("The result."))
    with hanging_program(opencode.program, tmp_path) as started:
        assert opencode.ask("Which database does the ledger use?") == "The result."  # within SECONDS
    assert {"session-start", "mcp"} <= set(started)


def test_an_unfinished_index_and_a_key_of_the_agent_leave_it_quick_silent_and_safe(opencode: OpenCode) -> None:
    unfinished_index(opencode.env)
    opencode.install("-w", str(opencode.env.notes))
    opencode.model.play(Step("The result."))
    with foreign_key() as (variables, requests):
        opencode.environ |= variables
        assert opencode.ask(QUESTION) == "The result."
    (said,) = opencode.said()
    assert "We chose PostgreSQL for the ledger" in said
    assert "The Omada ER605 keeps VLAN 10 for the printers." in said
    assert [request for request in requests if "openai" in request] == []
    assert opencode.env.run("--json", "status").json[0]["vectors"] == 0
