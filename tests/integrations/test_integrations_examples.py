"""The examples of `examples/agents`, as a user runs them, with a model that talks as a script says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from servers import KEY
from servers.talk import Calls, OpenAITalk, Reply

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "agents"
QUESTION = "Which database has the ledger?"
SEARCH = Calls("memory_search", {"query": QUESTION})
ANSWER = Reply("It is PostgreSQL.")


class Folder:
    """A folder of notes in which an example runs."""

    def __init__(self, folder: Path) -> None:
        self.notes = folder / "notes"
        self.home = folder / "home"
        self.notes.mkdir()
        (self.notes / "MEMORY.md").write_text("- The ledger database is PostgreSQL.\n", encoding="utf-8")

    def run(self, name: str, words: str, *steps: Any) -> OpenAITalk:
        """Run an example with the replies of its model."""
        with OpenAITalk(*steps) as server:
            environ = {each: os.environ[each] for each in ("PATH", "MEMORITER_BACKGROUND") if each in os.environ}
            environ |= {
                "HOME": str(self.home),
                "MEMORITER_HOME": str(self.home),
                "PYTHONPATH": str(ROOT / "src"),
                "OPENAI_API_KEY": KEY,
                "OPENAI_BASE_URL": server.base_url,
            }
            command = [sys.executable, str(EXAMPLES / f"{name}.py"), words]
            done = subprocess.run(command, env=environ, cwd=self.notes, capture_output=True, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == ANSWER.text
        assert not server.steps
        return server


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.mark.parametrize("name", ["pydantic_ai_agent", "openai_agents_agent", "langchain_agent"])
def test_an_agent_searches_its_notes(folder: Folder, name: str) -> None:
    server = folder.run(name, QUESTION, SEARCH, ANSWER)
    assert "memory_append" in server.received[0].tools
    who, found = server.received[-1].messages[-1]
    assert who == "tool"
    assert "MEMORY.md#L1" in found
    assert '"outcome"' in found
    assert '"health"' in found


def test_the_agent_of_langgraph_keeps_memories_as_notes(folder: Folder) -> None:
    content = "The user prefers green tea."
    keep = Calls("manage_memory", {"content": content, "action": "create"})
    folder.run("langgraph_agent", "Remember that I prefer green tea.", keep, ANSWER)
    (note,) = (folder.notes / "memory" / "langgraph" / "memories").iterdir()
    assert f"- content: {content}\n" in note.read_text(encoding="utf-8")
    find = Calls("search_memory", {"query": "which tea does the user prefer?"})
    server = folder.run("langgraph_agent", "Which tea do I like?", find, ANSWER)
    assert content in server.received[-1].last


def test_a_conversation_with_llama_index_begins_with_what_is_noted(folder: Folder) -> None:
    server = folder.run("llama_index_agent", QUESTION, ANSWER)
    assert "[MEMORY.md#L1]" in server.received[0].system


def test_a_session_of_the_example_goes_on_where_it_ended(folder: Folder) -> None:
    folder.run("openai_agents_agent", QUESTION, ANSWER)
    server = folder.run("openai_agents_agent", "Are you sure?", ANSWER)
    assert server.received[0].messages == [("user", QUESTION), ("assistant", ANSWER.text), ("user", "Are you sure?")]
