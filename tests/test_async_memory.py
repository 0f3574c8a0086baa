"""AsyncMemory: the methods of Memory for an event loop, many at once, and cancelled for good."""

from __future__ import annotations

import asyncio
import inspect
import threading
from contextlib import suppress
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from memoriter import AsyncMemory, MemoriterError, Memory
from memory_env import QUESTION, MemoryEnv, compatible
from servers.held import LIMIT, HeldServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoriter.sync import Progress

SYNCHRONOUS = {"backend", "daily_path", "environment", "long_term", "now", "session", "stop", "token", "watching"}
"""What is used on `AsyncMemory.memory`, with `in_thread` where it waits."""


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="none")
    yield env
    env.close()


def names(owner: type) -> set[str]:
    return {name for name in vars(owner) if not name.startswith("_")}


def test_it_has_each_method_with_the_same_parameters_result_and_documentation() -> None:
    assert names(Memory) - names(AsyncMemory) == SYNCHRONOUS
    for name in sorted(names(Memory) & names(AsyncMemory) - {"open", "watch"}):
        method = vars(Memory)[name]
        twin = vars(AsyncMemory)[name]
        if inspect.iscoroutinefunction(twin):
            assert inspect.signature(twin) == inspect.signature(method), name
            assert name == "close" or inspect.getdoc(twin) == inspect.getdoc(method), name


@pytest.mark.slow
def test_notes_are_read_written_and_searched_with_days_as_text(env: MemoryEnv) -> None:
    async def program() -> None:
        async with await AsyncMemory.open(env.notes, home=env.home) as memory:
            written = await memory.remember("The printers moved to VLAN 20.", to="long-term")
            assert written.path == env.notes / "MEMORY.md"
            result = await memory.search("which VLAN for the printers", since="2026-02-01", until="2026-02-28")
            (hit,) = result.hits
            assert hit.date == date(2026, 2, 10)
            assert hit.text == "# Router\n\nThe Omada ER605 keeps VLAN 10 for the printers."
            assert (await memory.read("MEMORY.md")).text.endswith("- The printers moved to VLAN 20.\n")
            assert (await memory.status()).files == 4
            answer = await memory.call_tool("memory_search", {"query": QUESTION})
            assert answer["results"][0]["citation"] == "MEMORY.md#L1-L4"

    asyncio.run(program())


def test_an_error_is_raised_where_it_is_awaited(env: MemoryEnv) -> None:
    async def program() -> None:
        async with await AsyncMemory.open(env.notes, home=env.home) as memory:
            with pytest.raises(MemoriterError, match="empty"):
                await memory.search(" ")

    asyncio.run(program())


@pytest.mark.slow
def test_many_tasks_share_one_memory(env: MemoryEnv) -> None:
    async def program() -> None:
        memory = AsyncMemory(env.open())
        async with memory:
            entries = [memory.remember(f"Entry number {n} is noted.", to="long-term") for n in range(20)]
            searches = [memory.search(QUESTION) for _ in range(20)]
            results: list[Any] = await asyncio.gather(*entries, *searches)
            assert {result.hits[0].path for result in results[20:]} == {"MEMORY.md"}
            text = (await memory.read("MEMORY.md")).text
            assert all(f"- Entry number {n} is noted.\n" in text for n in range(20))

    asyncio.run(program())


@pytest.mark.slow
def test_a_cancelled_search_no_longer_waits_for_a_service_that_hangs(env: MemoryEnv) -> None:
    async def program(server: HeldServer) -> None:
        async with AsyncMemory(env.open()) as memory:
            await memory.sync()
            server.always = server.hold
            search = asyncio.create_task(memory.search("a question that has no vector yet"))
            assert await asyncio.to_thread(server.requested.wait, LIMIT)
            search.cancel()
            await asyncio.wait([search])  # the clock of the test stands still, so no deadline passes
            assert search.cancelled()
            assert not server.let_go.is_set()
            server.let_go.set()
            assert (await memory.search(QUESTION)).hits[0].path == "MEMORY.md"

    with HeldServer() as server:
        server.always = None
        env.configure(**compatible(server))
        asyncio.run(program(server))


def test_cancelled_indexing_ends_and_keeps_what_it_has_done(env: MemoryEnv) -> None:
    async def program() -> None:
        async with AsyncMemory(env.open()) as memory:
            loop = asyncio.get_running_loop()
            reached = asyncio.Event()
            go_on = threading.Event()
            steps = list[int]()

            def report(progress: Progress) -> None:
                steps.append(progress.done)
                if progress.done == 5:
                    loop.call_soon_threadsafe(reached.set)
                    go_on.wait(LIMIT)

            indexing = asyncio.create_task(memory.sync(progress=report))
            await reached.wait()
            indexing.cancel()
            await asyncio.sleep(0)
            go_on.set()
            with suppress(asyncio.CancelledError):
                await indexing
            assert indexing.cancelled()
            assert steps == [1, 2, 3, 4, 5]
            rest = await memory.sync()
            assert (rest.files, rest.added) == (24, 24 - 6)

    env.many(20)
    asyncio.run(program())


def test_a_write_whose_task_is_cancelled_is_complete(env: MemoryEnv) -> None:
    async def program() -> None:
        async with AsyncMemory(env.open()) as memory:
            writing = asyncio.create_task(memory.remember("The office moved to Lisbon.", to="long-term"))
            await asyncio.sleep(0)
            writing.cancel()
            with suppress(asyncio.CancelledError):
                await writing
            begun = "Lisbon" in (env.notes / "MEMORY.md").read_text(encoding="utf-8")
            await asyncio.sleep(0.05)
            assert begun == ("Lisbon" in (env.notes / "MEMORY.md").read_text(encoding="utf-8"))

    asyncio.run(program())


def test_closing_cancels_what_runs(env: MemoryEnv) -> None:
    async def program(server: HeldServer) -> None:
        memory = AsyncMemory(env.open())
        search = asyncio.create_task(memory.search(QUESTION))
        assert await asyncio.to_thread(server.requested.wait, LIMIT)
        await memory.close()
        await asyncio.wait([search])
        assert not server.let_go.is_set()

    with HeldServer() as server:
        env.configure(**compatible(server))
        asyncio.run(program(server))


def test_watching_indexes_changes_until_its_task_is_cancelled(env: MemoryEnv) -> None:
    async def program() -> None:
        loop = asyncio.get_running_loop()
        indexed = asyncio.Event()
        async with await AsyncMemory.open(env.notes, home=env.home) as memory:
            watching = asyncio.create_task(memory.watch(lambda _: loop.call_soon_threadsafe(indexed.set)))
            await asyncio.wait_for(indexed.wait(), LIMIT)
            watching.cancel()
            await asyncio.wait([watching])
            assert watching.cancelled()

    asyncio.run(program())


def test_a_closed_memory_says_so(env: MemoryEnv) -> None:
    async def program() -> None:
        memory = await AsyncMemory.open(env.notes, home=env.home)
        await memory.close()
        with pytest.raises(MemoriterError, match=r"^The memory is closed\.$") as refused:
            await memory.search(QUESTION)
        assert refused.value.remedy == "Open it again with AsyncMemory.open."

    asyncio.run(program())
