"""What mostly the server over HTTP does: connectors of ChatGPT, and keeping other sites' pages away."""

from __future__ import annotations

import http.client
import json
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from mcp.types import Implementation

from mcp_endpoints import LIMIT, authorised, bearer, over_stdio, served, token_of

if TYPE_CHECKING:
    from memory_env import MemoryEnv

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def post(address: str, **headers: str) -> int:
    """The status of a handshake with these headers."""
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=LIMIT)
    kinds = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    try:
        connection.request("POST", place.path, json.dumps(HELLO), {**kinds, **headers})
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.slow
def test_a_page_of_another_site_or_another_name_for_this_machine_is_refused(env: MemoryEnv) -> None:
    with served(env, "--allow-host", "memory.example") as address:
        assert address.startswith("http://127.0.0.1:")
        token = bearer(token_of(env))
        assert post(address, **token) == 200
        assert post(address, **token, Origin="http://localhost:3000") == 200
        assert post(address, **token, Host="memory.example", Origin="https://memory.example") == 200
        assert post(address, **token, Origin="https://evil.example") == 403
        assert post(address, **token, Origin="http://127.0.0.1.evil.example") == 403
        assert post(address, **token, Host="evil.example") == 421
        assert post(address, **token, Host="127.0.0.1.evil.example:80") == 421


BOTH = "application/json, text/event-stream"


@pytest.mark.slow
def test_requests_are_answered_as_clients_write_them(env: MemoryEnv) -> None:
    with served(env) as address:
        place = urlsplit(address)
        token = bearer(token_of(env))

        def ask(path: str = "/mcp", **headers: str) -> tuple[int, str, Any]:
            connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=LIMIT)
            try:
                connection.request(
                    "POST", path, json.dumps(HELLO), {"Content-Type": "application/json"} | token | headers
                )
                reply = connection.getresponse()
                kind = reply.getheader("Content-Type") or ""
                text = reply.read().decode()
            finally:
                connection.close()
            return reply.status, kind, json.loads(text.rpartition("data: ")[2] or text)

        events = ("text/event-stream", "application/json;q=0.9, text/event-stream;q=0.8")
        for accept in (BOTH, "*/*", "application/*", BOTH.title(), *events):
            status, kind, answer = ask(Accept=accept)
            assert (status, kind, answer["id"]) == (200, "text/event-stream", 1)
        assert ask()[0] == 200
        assert ask("/mcp/", Accept=BOTH)[0] == 200
        for kind in ("Application/JSON", "application/json; charset=utf-8", "APPLICATION/JSON;charset=UTF-8"):
            assert ask(Accept=BOTH, **{"Content-Type": kind})[0] == 200
        for accept in ("application/json", "application/json; charset=utf-8", "text/plain, application/json"):
            status, kind, answer = ask(Accept=accept)
            assert (status, kind) == (200, "application/json")
            assert (answer["id"], answer["result"]["serverInfo"]["name"]) == (1, "memoriter")


@pytest.mark.anyio
async def test_a_connector_searches_and_fetches_documents(env: MemoryEnv) -> None:
    with served(env) as address:
        name = Implementation(name="openai-mcp", version="1.0.0")
        async with authorised(address, env) as other, authorised(address, env, client_info=name) as client:
            listed = [[tool.name for tool in (await each.list_tools()).tools] for each in (client, other)]
            assert [names[3:] for names in listed] == [["search", "fetch"], []]
            found: Any = (await client.call_tool("search", {"query": "train to Osaka"})).structured_content
            first = found["results"][0]
            assert first["id"] == "memory/2026-03-05.md#L1-L3"
            assert first["url"] == "memory://notes/memory/2026-03-05.md"
            assert first["title"].startswith("memory/2026-03-05.md")
            result = await client.call_tool("fetch", {"id": first["id"]})
            (content,) = result.content
            fetched = json.loads(content.text)
            assert fetched == result.structured_content
            assert fetched["id"] == first["id"]
            assert fetched["text"] == (env.notes / "memory/2026-03-05.md").read_text(encoding="utf-8")
            assert fetched["metadata"] == {"path": "memory/2026-03-05.md", "startLine": "1", "endLine": "3"}
            for name, params in [
                ("search", {"query": ""}),
                ("fetch", {"id": "../x"}),
                ("fetch", {"id": "memory/no.md"}),
            ]:
                wrong = await client.call_tool(name, params)
                assert wrong.is_error
                assert wrong.structured_content["error"]


@pytest.mark.slow
def test_a_port_that_is_taken_is_an_error_with_a_remedy(env: MemoryEnv) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        outcome = env.run("mcp", "--http", "--port", port)
    assert (outcome.exit_code, outcome.out) == (2, "")
    assert f"Cannot listen on 127.0.0.1:{port}" in outcome.err
    assert "--port" in outcome.err


def test_the_options_of_http_are_refused_without_it(env: MemoryEnv) -> None:
    outcome = env.run("mcp", "--port", "9000")
    assert (outcome.exit_code, outcome.out) == (2, "")
    assert "--http" in outcome.err


@pytest.mark.slow
@pytest.mark.anyio
async def test_there_are_no_tools_where_memory_search_is_off(env: MemoryEnv) -> None:
    env.configure(provider="fake", enabled=False)
    with served(env) as address:
        async with authorised(address, env) as client:
            assert (await client.list_tools()).tools == []


@pytest.mark.anyio
@pytest.mark.slow
async def test_a_setting_lists_the_tools_of_connectors_for_every_client_over_both_transports(env: MemoryEnv) -> None:
    settings = {"agents": {"defaults": {"memorySearch": {"provider": "none"}}}, "memory": {"connectorTools": True}}
    env.config.write_text(json.dumps(settings), encoding="utf-8")
    with served(env) as address:
        async with authorised(address, env) as over_http, over_stdio(env).connect() as over_pipe:
            for client in (over_http, over_pipe):
                names = [tool.name for tool in (await client.list_tools()).tools]
                assert names == ["memory_search", "memory_get", "memory_append", "search", "fetch"]
                found: Any = (await client.call_tool("search", {"query": "train to Osaka"})).structured_content
                fetched: Any = await client.call_tool("fetch", {"id": found["results"][0]["id"]})
                assert "The train to Osaka leaves at noon" in fetched.structured_content["text"]
