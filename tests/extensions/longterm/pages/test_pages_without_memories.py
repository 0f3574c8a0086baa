"""The pages while the memory slot does not name long-term memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from web_client import ApiClient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory_env import MemoryEnv
    from serving import Serving


@pytest.fixture
def owner(server: Serving) -> Iterator[ApiClient]:
    with ApiClient(server.url, server.token) as client:
        yield client


def test_memories_that_are_off_are_one_sentence_and_a_button_that_turns_them_on(
    env: MemoryEnv, owner: ApiClient
) -> None:
    text = owner.http.get("/memories").text
    main, _, details = text.partition("<main")[2].partition("Details")
    assert "They are off." in main
    assert "plugins" not in main
    assert "<code>memoriter config set plugins.slots.memory" in details
    assert "`" not in main + details
    answer = owner.http.post("/memories/turn-on", data={}, follow_redirects=True)
    assert "They work once the server is started again." in answer.text
    assert "memory-lancedb" in env.run("--json", "config", "get", "plugins.slots.memory").json["value"]


def test_a_day_without_long_term_memories_does_not_repeat_that_they_are_off(env: MemoryEnv, owner: ApiClient) -> None:
    env.write("memory/2025-04-01.md", "# Day\n\n- An entry.\n")
    text = owner.http.get("/days", params={"day": "2025-04-01"}).text
    assert "<li>An entry.</li>" in text
    assert "Long-term memories" not in text
