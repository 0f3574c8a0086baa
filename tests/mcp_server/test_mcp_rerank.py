"""A client gets the reranked hits, or the engine's order with a reason; without consent, nothing is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client

from memoriter.mcp_server import server_of
from servers import KEY, CohereServer, html_page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory_env import MemoryEnv

pytestmark = pytest.mark.anyio
QUESTION = {"query": "which database for the ledger", "minScore": 0}


@pytest.fixture
def server(env: MemoryEnv) -> Iterator[CohereServer]:
    with CohereServer() as running:
        running.judge = lambda _, passage: float("Omada" in passage)
        remote = {"baseUrl": running.base_url, "apiKey": KEY}
        env.configure(provider="fake", query={"rerank": {"provider": "cohere", "remote": remote}})
        yield running


async def search(env: MemoryEnv) -> dict[str, Any]:
    async with Client(server_of(env.open())) as client:
        answer = await client.call_tool("memory_search", QUESTION)
    assert not answer.is_error
    return answer.structured_content


async def test_a_client_gets_the_order_of_the_reranker(env: MemoryEnv, server: CohereServer) -> None:
    answer = await search(env)
    assert answer["results"][0]["citation"].startswith("memory/2026-02-10.md#")
    assert answer["results"][0]["score"] < answer["results"][1]["score"]
    assert len(server.calls) == 1


async def test_when_the_service_talks_nonsense_a_client_gets_the_engines_order_and_the_reason(
    env: MemoryEnv, server: CohereServer
) -> None:
    server.always = html_page(404)
    answer = await search(env)
    assert answer["results"][0]["citation"].startswith("MEMORY.md#")
    (reason,) = answer["health"]["reasons"]
    assert reason["code"] == "not_reranked"
    assert reason["remedy"]


@pytest.mark.slow
async def test_the_server_of_a_program_sends_nothing_before_a_person_saw_the_notice(
    env: MemoryEnv, server: CohereServer
) -> None:
    from mcp import StdioServerParameters

    far = "import memoriter.embed.remote as remote; remote.is_loopback = lambda _: False"
    env.trust()
    words = env.command("-w", str(env.notes), "mcp", before=far)
    program = StdioServerParameters(command=words[0], args=words[1:], env=env.environment(), cwd=str(env.notes))
    async with Client(program, read_timeout_seconds=60) as client:
        answer = await client.call_tool("memory_search", QUESTION)
        (reason,) = answer.structured_content["health"]["reasons"]
        assert (reason["code"], server.calls) == ("not_reranked", [])
        assert "you have not seen the notice" in reason["message"]
        env.run("index", before=far)
        answer = await client.call_tool("memory_search", QUESTION)
        assert "health" not in answer.structured_content
    assert len(server.calls) == 1
