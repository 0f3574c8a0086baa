"""Real servers beside a service that does not answer: words are found, reads never wait, and the end comes in time."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import anyio
import anyio.to_thread
import pytest

from mcp_endpoints import LIMIT, authorised, bearer, over_stdio
from memoriter.mcp_server._server import END_SECONDS
from memory_env import QUESTION, MemoryEnv, compatible
from servers.held import HeldServer
from serving import Serving, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcp import Client

pytestmark = pytest.mark.anyio
END = 20.0
"""Seconds for an end that should take less than five, on a machine that does much else."""


@pytest.fixture
def service() -> Iterator[HeldServer]:
    with HeldServer() as service:
        yield service


@pytest.fixture
def env(tmp_path: Path, service: HeldServer) -> MemoryEnv:
    env = MemoryEnv.at(tmp_path)
    env.configure(**compatible(service), query={"deadlineMs": 3_000})
    return env


@contextmanager
def connected(env: MemoryEnv, *words: str) -> Iterator[tuple[Serving, Client]]:
    with serving(env, *words) as server:
        yield server, authorised(f"{server.url}/mcp", env)


def health(server: Serving) -> Any:
    with urlopen(Request(f"{server.url}/health", headers=bearer(server.token)), timeout=LIMIT) as answer:
        return json.load(answer)


async def found(client: Client, query: str) -> tuple[dict[str, Any], list[str]]:
    """The first result and the reasons."""
    answer: Any = (await client.call_tool("memory_search", {"query": query})).structured_content
    return answer["results"][0], [reason["code"] for reason in answer.get("health", {"reasons": []})["reasons"]]


async def finds_words(client: Client, env: MemoryEnv) -> None:
    """A new workspace, then new notes: each is found by the next search."""
    first, reasons = await found(client, QUESTION)
    assert first["citation"] == "MEMORY.md#L1-L3"
    assert {"transient", "vectors_pending"} & {*reasons}
    for number in range(3):
        text = f"The zebrafish{number} swims."
        written: Any = (await client.call_tool("memory_append", {"text": text})).structured_content
        assert not written.get("error")
        first, _ = await found(client, f"zebrafish{number}")
        assert first["citation"].startswith(written["citation"].partition("#")[0])
        assert text in first["snippet"]


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("--no-watch",)])
async def test_a_server_finds_words_while_the_service_hangs(env: MemoryEnv, words: tuple[str, ...]) -> None:
    with connected(env, *words) as (_, client):
        async with client:
            await finds_words(client, env)


@pytest.mark.slow
async def test_a_server_over_stdio_finds_words_too(env: MemoryEnv) -> None:
    async with over_stdio(env).connect() as client:
        await finds_words(client, env)


@pytest.mark.slow
async def test_reads_lists_and_health_are_answered_during_a_first_index(env: MemoryEnv, service: HeldServer) -> None:
    env.configure(**compatible(service), query={"deadlineMs": 600_000})
    with connected(env, "--no-watch") as (server, client):
        async with client, anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "memory_search", {"query": QUESTION})
            assert await anyio.to_thread.run_sync(service.requested.wait, LIMIT)
            note: Any = (await client.call_tool("memory_get", {"path": "MEMORY.md"})).structured_content
            assert "PostgreSQL" in note["text"]
            assert (await client.list_tools()).tools
            assert (await anyio.to_thread.run_sync(health, server))["legs"] == {"keyword": True, "vector": False}
            assert not service.let_go.is_set()
            service.let_go.set()


@pytest.mark.slow
async def test_a_signal_ends_the_server_while_a_search_waits_for_the_service(
    env: MemoryEnv, service: HeldServer
) -> None:
    env.configure(**compatible(service), query={"deadlineMs": 600_000})
    answers: list[Any] = []

    async def ask(client: Client) -> None:
        answers.append((await client.call_tool("memory_search", {"query": QUESTION})).structured_content)

    with connected(env, "--no-watch") as (server, client):
        async with client, anyio.create_task_group() as tasks:
            await client.list_tools()  # by which the client checks the answer
            tasks.start_soon(ask, client)
            assert await anyio.to_thread.run_sync(service.requested.wait, LIMIT)
            server.process.send_signal(signal.SIGTERM)
            assert await anyio.to_thread.run_sync(server.process.wait, END) == 0
        assert not service.let_go.is_set()
        assert list(server.folder.iterdir()) == []
    assert answers[0]["results"][0]["citation"] == "MEMORY.md#L1-L3"  # whoever waited was answered first


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_the_server_while_its_watcher_waits_for_the_service(
    env: MemoryEnv, service: HeldServer, number: signal.Signals
) -> None:
    with serving(env) as server:
        assert await anyio.to_thread.run_sync(service.requested.wait, LIMIT)
        server.process.send_signal(number)
        assert await anyio.to_thread.run_sync(server.process.wait, END) == 0
        assert not service.let_go.is_set()
        assert list(server.folder.iterdir()) == []


STUCK = """
import memoriter.memory, time
def close(self):
    print("closing", flush=True)
    time.sleep(600)
memoriter.memory.Memory.close = close
"""
"""Python before the program: a memory that cannot be let go of."""


@pytest.mark.slow
async def test_a_second_signal_ends_the_server_at_once(env: MemoryEnv) -> None:
    before = f"import memoriter.mcp_server._server as server\nserver.END_SECONDS = 600.0\n{STUCK}"
    with serving(env, before=before) as server:
        server.process.send_signal(signal.SIGTERM)
        assert server.process.stdout
        assert await anyio.to_thread.run_sync(server.process.stdout.readline) == "closing\n"
        server.process.send_signal(signal.SIGTERM)
        assert await anyio.to_thread.run_sync(server.process.wait, END) == 128 + signal.SIGTERM
        assert list(server.folder.iterdir()) == []


@pytest.mark.slow
async def test_the_server_ends_in_time_even_where_a_thread_never_does(env: MemoryEnv) -> None:
    assert END_SECONDS < 5
    before = f"import memoriter.mcp_server._server as server\nserver.END_SECONDS = 0.5\n{STUCK}"
    with serving(env, before=before) as server:
        server.process.send_signal(signal.SIGTERM)
        assert await anyio.to_thread.run_sync(server.process.wait, END) == 0
        assert list(server.folder.iterdir()) == []


@pytest.mark.slow
def test_a_server_over_stdio_ends_when_its_input_does(env: MemoryEnv, service: HeldServer) -> None:
    env.configure(**compatible(service), query={"deadlineMs": 600_000})
    command = env.command("-w", str(env.notes), "mcp")
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    search = {"name": "memory_search", "arguments": {"query": QUESTION}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": search},
    ]
    with subprocess.Popen(
        command, env=env.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin
        process.stdin.write("".join(json.dumps(message) + "\n" for message in messages).encode())
        process.stdin.flush()
        reading = threading.Thread(target=process.stdout.read if process.stdout else int, daemon=True)
        reading.start()
        assert service.requested.wait(LIMIT)
        process.stdin.close()
        assert process.wait(END) == 0
    assert not service.let_go.is_set()
