"""The pages while the memory slot does not name long-term memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memory_env import MemoryEnv
from serving import NOT_BY_ITSELF, hook, serving
from web_client import ApiClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from serving import Serving

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@pytest.fixture
def owner(server: Serving) -> Iterator[ApiClient]:
    with ApiClient(server.url, server.token) as client:
        yield client


def test_memories_that_are_off_are_one_sentence_and_a_button(owner: ApiClient) -> None:
    text = owner.http.get("/memories").text
    main, _, details = text.partition("<main")[2].partition("Details")
    assert "They are off." in main
    assert "plugins" not in main
    assert "<code>memoriter config set plugins.slots.memory" in details
    assert "`" not in main + details


def test_a_day_without_long_term_memories_does_not_repeat_that_they_are_off(env: MemoryEnv, owner: ApiClient) -> None:
    env.write("memory/2025-04-01.md", "# Day\n\n- An entry.\n")
    text = owner.http.get("/days", params={"day": "2025-04-01"}).text
    assert "<li>An entry.</li>" in text
    assert "Long-term memories" not in text


@pytest.mark.slow
def test_the_button_turns_memories_on_at_once_for_pages_agents_and_hooks(tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="fake")
    env.trust()
    other = tmp_path / "other"
    other.mkdir()
    with serving(env, "--also", str(other), "--no-watch") as server, ApiClient(server.url, server.token) as owner:
        assert "memory_store" not in tools_of(owner)
        answer = owner.http.post("/memories/turn-on", data={"workspace": "notes"}, follow_redirects=True)
        assert "Memories are turned on." in answer.text
        assert "They are off." not in answer.text
        added = owner.http.post(
            "/memories/add", data={"text": "Ada likes tea.", "workspace": "notes"}, follow_redirects=True
        )
        assert "Remembered." in added.text
        assert "memory_store" in tools_of(owner)
        assert owner.http.get("/w/other/api/v1/ltm/list").json() == []
        # Commands hand their work to a server only if it has the settings that they would read themselves.
        assert hook(env, "user-prompt", before=NOT_BY_ITSELF, prompt="which tea does Ada like?").err == ""
    assert "memory-lancedb" in env.run("--json", "config", "get", "plugins.slots.memory").json["value"]


def tools_of(owner: ApiClient) -> str:
    """What `tools/list` answers to a new client."""
    headers = {"Accept": "application/json, text/event-stream"}
    opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    opened = owner.http.post("/mcp", json=opening, headers=headers)
    session = {**headers, "mcp-session-id": opened.headers["mcp-session-id"]}
    owner.http.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
    return owner.http.post("/mcp", json={"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, headers=session).text
