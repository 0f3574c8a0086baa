"""The released command line of Cline with memoriter and a scripted model. Without npm and its registry: skipped."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from memory_env import MemoryEnv
from odd_files import posix_only
from released_clients import SECONDS, released_client, write_program
from servers.agent_model import AgentModel, Step

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PACKAGE = "cline@3.0.65"
QUESTION = "Which database does the ledger use?"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3 * SECONDS), posix_only]


@dataclass
class Cline:
    """The client in a folder of work, with a home of its own and the scripted model."""

    env: MemoryEnv
    model: AgentModel
    work: Path
    program: Path
    environ: dict[str, str]

    @property
    def settings(self) -> Path:
        return self.env.home / ".cline" / "data" / "settings" / "cline_mcp_settings.json"

    def run(self, *command: str) -> str:
        done = subprocess.run(
            command,
            env=self.environ,
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=SECONDS,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def install(self, *words: str) -> None:
        """Install memoriter, and let Cline wait longer for it, as its owner may."""
        self.run(str(self.program), *words, "install", "cline")
        text = self.settings.read_text(encoding="utf-8")
        assert '"timeout": 60' in text
        self.settings.write_text(text.replace('"timeout": 60', f'"timeout": {SECONDS}'), encoding="utf-8")

    def notes(self) -> str:
        return "".join(note.read_text(encoding="utf-8") for note in (self.env.notes / "memory").glob("*.md"))


@pytest.fixture
def model() -> Iterator[AgentModel]:
    with AgentModel() as model:
        yield model


@pytest.fixture
def cline(model: AgentModel, tmp_path: Path) -> Cline:
    released = released_client(PACKAGE, "cline")
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="none")
    (tmp_path / "work").mkdir()
    environ = {
        **env.environment(),
        "PATH": f"{released.parent}{os.pathsep}{os.environ['PATH']}",
        "CLINE_SESSION_BACKEND_MODE": "local",  # otherwise a process that all sessions share goes on after the test
    }
    made = Cline(env, model, tmp_path / "work", write_program(env, tmp_path), environ)
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
