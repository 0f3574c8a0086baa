"""The released command line of Cline with memoriter and a scripted model. Without npm and its registry: skipped."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from odd_files import posix_only
from released_clients import SECONDS, Client, released_client
from servers.agent_model import AgentModel, Step

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = "cline@3.0.65"
QUESTION = "Which database does the ledger use?"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3 * SECONDS), posix_only]


class Cline(Client):
    @property
    def settings(self) -> Path:
        return self.env.home / ".cline" / "data" / "settings" / "cline_mcp_settings.json"

    def install(self, *words: str) -> None:
        """Install memoriter, and let Cline wait longer for it, as its owner may."""
        self.run(str(self.program), *words, "install", "cline")
        text = self.settings.read_text(encoding="utf-8")
        assert '"timeout": 60' in text
        self.settings.write_text(text.replace('"timeout": 60', f'"timeout": {SECONDS}'), encoding="utf-8")

    def notes(self) -> str:
        return "".join(note.read_text(encoding="utf-8") for note in (self.env.notes / "memory").glob("*.md"))


@pytest.fixture
def cline(model: AgentModel, tmp_path: Path) -> Cline:
    released = released_client(PACKAGE, "cline")
    made = Cline.at(
        tmp_path,
        released,
        model,
        CLINE_SESSION_BACKEND_MODE="local",  # otherwise a process that all sessions share goes on after the test
    )
    scripted = ("-p", "openai-compatible", "-k", "scripted", "-m", "scripted", "-b", f"{model.root}/v1")
    made.run("cline", "auth", *scripted)
    return made


def test_the_agent_searches_and_appends_and_the_file_comes_back(cline: Cline) -> None:
    cline.settings.parent.mkdir(parents=True, exist_ok=True)
    cline.settings.write_text('{\n  "mcpServers": {}\n}\n', encoding="utf-8")
    before = cline.settings.read_bytes()
    cline.install("-w", str(cline.env.notes))
    nothing = dict.fromkeys(("maxResults", "minScore", "source", "since", "until", "path", "tag"))
    cline.model.play(
        Step(tool="memory_search", arguments={"query": "which database for the ledger", **nothing}),
        Step(tool="memory_append", arguments={"text": "The ledger is audited in May.", "to": None}),
        Step("The result."),
    )

    answer = cline.run("cline", "--json", "--compaction", "off", QUESTION)

    assert '"The result."' in answer, answer
    assert "We chose PostgreSQL for the ledger because of ACID." in cline.model.seen()
    assert "The ledger is audited in May." in cline.notes()
    entry = json.loads(cline.settings.read_text(encoding="utf-8"))["mcpServers"]["memoriter"]
    cline.run(str(cline.program), "install", "cline", "--remove")
    assert str(cline.env.notes) in json.dumps(entry)
    assert cline.settings.read_bytes() == before
