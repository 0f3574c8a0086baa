"""Requests to one server take turns with the memory, and what needs no turn does not wait for one."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import pytest
from mcp import Client

from mcp_doors import LIMIT
from memoriter.mcp_server import server_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from desk import Desk
    from memoriter import Memory

pytestmark = pytest.mark.anyio


class Held:
    """A search that has begun and goes on when it may."""

    def __init__(self) -> None:
        self.begun = Event()
        self.may_go_on = Event()


@pytest.fixture
def memory(desk: Desk) -> Memory:
    return desk.open()


@pytest.fixture
def held(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    """Every search of the memory is held."""
    held, search = Held(), memory.search

    def wait(*arguments: Any, **options: Any) -> Any:
        held.begun.set()
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


async def test_a_request_that_is_cancelled_while_it_waits_is_never_carried_out(
    memory: Memory, held: Held, desk: Desk
) -> None:
    before = (desk.notes / "MEMORY.md").read_bytes()
    entry = {"text": "Never mind.", "to": "long-term"}
    async with Client(server_of(memory)) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "memory_search", {"query": "ledger"})
        await anyio.to_thread.run_sync(held.begun.wait, LIMIT)
        with anyio.move_on_after(0.2) as waiting:
            await client.call_tool("memory_append", entry)
        assert waiting.cancelled_caught
        held.may_go_on.set()
        found = await client.call_tool("memory_search", {"query": "Never mind"})
        assert not found.is_error
    assert (desk.notes / "MEMORY.md").read_bytes() == before


async def test_the_memory_is_closed_when_the_server_ends(memory: Memory) -> None:
    async with Client(server_of(memory)) as client:
        await client.call_tool("memory_search", {"query": "ledger"})
        assert memory._backend._parts._index is not None
    assert memory._backend._parts._index is None
