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


def test_pages_without_long_term_memories_say_what_to_do(owner: ApiClient) -> None:
    for page in ("/inbox", "/memories"):
        answer = owner.http.get(page)
        assert (answer.status_code, "<code>memoriter config set plugins.slots.memory" in answer.text) == (200, True)
        assert "`" not in answer.text.partition("<main")[2]


def test_a_day_says_that_long_term_memories_are_not_shown(env: MemoryEnv, owner: ApiClient) -> None:
    env.write("memory/2025-04-01.md", "# Day\n\n- An entry.\n")
    text = owner.http.get("/timeline", params={"day": "2025-04-01"}).text
    assert "Nothing that was captured on this day is stored." in text
    assert "Long-term memories are not shown: Long-term memories are off" in text
