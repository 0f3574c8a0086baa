"""Requests to one server share the memory: reads and writes never wait for searches, however many there are."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import pytest
from mcp import Client

from mcp_endpoints import LIMIT
from memoriter.mcp_server import server_of
from memoriter.mcp_server._shared import MOST_AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter import Memory
    from memory_env import MemoryEnv

pytestmark = pytest.mark.anyio


class Held:
    """A search that has begun and goes on when it may."""

    def __init__(self) -> None:
        self.begun = Event()
        self.may_go_on = Event()
        self.count = 0
        self.full = Event()
        """Set when as many have begun as there may be at once."""


@pytest.fixture
def memory(env: MemoryEnv) -> Memory:
    return env.open()


@pytest.fixture
def held(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    """Every search of the memory is held."""
    held = Held()
    search = memory.search

    def wait(*arguments: Any, **options: Any) -> Any:
        held.count += 1
        held.begun.set()
        if held.count == MOST_AT_ONCE:
            held.full.set()
        assert held.may_go_on.wait(LIMIT)
        return search(*arguments, **options)

    monkeypatch.setattr(memory, "search", wait)
    yield held
    held.may_go_on.set()


async def test_notes_can_be_read_while_a_search_takes_its_time(memory: Memory, held: Held) -> None:
    async with Client(server_of(memory)) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "memory_search", {"query": "ledger"})
        await anyio.to_thread.run_sync(held.begun.wait, LIMIT)
        note = await client.read_resource("memory://notes/MEMORY.md")
        assert "PostgreSQL" in note.contents[0].text
        assert (await client.list_resources()).resources
        held.may_go_on.set()


@pytest.mark.slow
async def test_an_entry_is_written_while_searches_take_all_the_time_they_may(
    memory: Memory, held: Held, env: MemoryEnv
) -> None:
    async with Client(server_of(memory)) as client, anyio.create_task_group() as tasks:
        for _ in range(2 * MOST_AT_ONCE):
            tasks.start_soon(client.call_tool, "memory_search", {"query": "ledger"})
        await anyio.to_thread.run_sync(held.begun.wait, LIMIT)
        entry = {"text": "Never mind.", "to": "long-term"}
        assert not (await client.call_tool("memory_append", entry)).is_error
        assert "Never mind." in (env.notes / "MEMORY.md").read_text(encoding="utf-8")
        assert not held.may_go_on.is_set()
        held.may_go_on.set()


@pytest.mark.slow
async def test_a_request_that_is_cancelled_while_it_waits_is_never_carried_out(memory: Memory, held: Held) -> None:
    async with Client(server_of(memory)) as client, anyio.create_task_group() as tasks:
        for _ in range(MOST_AT_ONCE):
            tasks.start_soon(client.call_tool, "memory_search", {"query": "ledger"})
        assert await anyio.to_thread.run_sync(held.full.wait, LIMIT)
        with anyio.move_on_after(0.2) as waiting:
            await client.call_tool("memory_search", {"query": "one too many"})
        assert waiting.cancelled_caught
        held.may_go_on.set()
    assert held.count == MOST_AT_ONCE


async def test_the_memory_is_closed_when_the_server_ends(memory: Memory) -> None:
    async with Client(server_of(memory)) as client:
        await client.call_tool("memory_search", {"query": "ledger"})
        assert memory._backend._context._index is not None
    assert memory._backend._context._index is None
