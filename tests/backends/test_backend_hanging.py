"""A service that takes a request and does not answer: words never wait for its vectors."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.environment import Deadline
from memoriter.sync import Task
from memory_env import NOTES, QUESTION, MemoryEnv, codes, compatible, paths
from servers.compatible import texts_of
from servers.held import LIMIT, HeldServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoriter import Memory

HASTY = 1_500
"""Milliseconds for a search: half of them is how long it waits for a vector."""


@pytest.fixture
def server() -> Iterator[HeldServer]:
    with HeldServer() as server:
        yield server


@pytest.fixture
def env(tmp_path: Any, server: HeldServer) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    env.configure(**compatible(server))
    yield env
    server.let_go.set()
    env.close()


@pytest.fixture
def indexed(env: MemoryEnv, server: HeldServer) -> MemoryEnv:
    """The same, with all vectors there, before the service began to hang."""
    server.let_go.set()
    env.open().sync()
    server.let_go.clear()
    server.requested.clear()
    return env


def beside(act: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """Something done in a thread, and what came of it."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(act()), daemon=True)
    thread.start()
    return thread, results


def ended(server: HeldServer, memory: Memory) -> None:
    """Wait until the service has answered all that it was asked, and the calls of this memory have received it."""
    until = time.monotonic() + LIMIT
    while server.busy and time.monotonic() < until:
        threading.Event().wait(0.01)
    assert not server.busy
    assert memory._backend.embedding.calls.await_others(lambda _: True, Deadline(time.monotonic, until)) is None


def test_the_first_search_of_a_workspace_finds_words(env: MemoryEnv) -> None:
    result = env.open().search(QUESTION, deadline_ms=HASTY)
    assert (result.mode, paths(result)[0]) == ("keyword", "MEMORY.md")
    assert "transient" in codes(result)
    assert not result.health.ok
    assert not result.health.legs["vector"]


@pytest.mark.slow
def test_each_new_note_is_found_by_the_next_search_and_the_service_is_left_alone(
    env: MemoryEnv, server: HeldServer
) -> None:
    memory = env.open()
    for number in range(7):
        env.write(f"memory/new{number}.md", f"The zebrafish{number} swims.\n")
        env.wait()
        result = memory.search(f"zebrafish{number}", deadline_ms=HASTY)
        assert paths(result) == [f"memory/new{number}.md"]
        assert "transient" in codes(result)
    assert len(server.calls) <= 2


@pytest.mark.slow
def test_an_entry_is_found_by_the_next_search(env: MemoryEnv) -> None:
    memory = env.open()
    memory.search(QUESTION, deadline_ms=HASTY)
    for number in range(3):
        assert not memory.remember(f"The heron{number} nests.").reasons
        assert paths(memory.search(f"heron{number}", deadline_ms=HASTY))


@pytest.mark.slow
def test_a_question_waits_once_and_then_no_more_in_any_process_of_the_home(
    indexed: MemoryEnv, server: HeldServer
) -> None:
    before = len(server.calls)
    for number in range(6):
        result = indexed.open().search(f"{QUESTION} {number}", deadline_ms=HASTY)
        assert (result.mode, paths(result)[0]) == ("keyword", "MEMORY.md")
        assert "transient" in codes(result)
    assert len(server.calls) - before == 2  # one that may just have been slow, and one more
    status = indexed.open().status()
    assert not status.health.ok
    assert "transient" in codes(status)


@pytest.mark.slow
def test_it_is_asked_again_after_a_while_or_when_somebody_says_so(indexed: MemoryEnv, server: HeldServer) -> None:
    memory = indexed.open()
    for number in range(2):
        memory.search(f"{QUESTION} {number}", deadline_ms=HASTY)
    server.let_go.set()
    ended(server, memory)
    assert memory.search(f"{QUESTION} 3").mode == "hybrid"  # the late answer says that it is there again
    server.let_go.clear()
    for number in range(4, 6):
        memory.search(f"{QUESTION} {number}", deadline_ms=HASTY)
    server.always = server.down = None
    indexed.wait(700)
    assert indexed.open().search(f"{QUESTION} 6").mode == "hybrid"


@pytest.mark.slow
def test_a_batch_that_comes_late_is_used_and_not_sent_again(env: MemoryEnv, server: HeldServer) -> None:
    server.let_go.set()
    env.open().search("anything")  # makes the model known
    server.let_go.clear()
    env.many(5)
    env.wait()
    memory = env.open()
    memory.search("manyword1", deadline_ms=3 * HASTY)
    assert memory.status().pending == 5
    server.let_go.set()
    ended(server, memory)
    env.wait(700)
    result = memory.search("manyword2", deadline_ms=60_000)
    assert (result.mode, memory.status().pending) == ("hybrid", 0)
    documents = [text for text in server.texts if "manything" in text]
    assert len(documents) == len(set(documents)) == 5


@pytest.mark.slow
def test_while_one_search_waits_for_vectors_others_of_the_same_memory_answer(
    env: MemoryEnv, server: HeldServer
) -> None:
    memory = env.open()
    first, _ = beside(lambda: memory.search(QUESTION))
    assert server.requested.wait(LIMIT)
    assert paths(memory.search("train to Osaka", deadline_ms=HASTY))[0] == "memory/2026-03-05.md"
    env.write("memory/new.md", "The zebrafish swims.\n")
    env.wait()
    assert paths(memory.search("zebrafish", deadline_ms=HASTY)) == ["memory/new.md"]
    assert memory.status().files == len(NOTES) + 1
    assert first.is_alive()
    server.let_go.set()
    first.join(LIMIT)


@pytest.mark.slow
def test_words_are_indexed_while_another_process_computes_vectors(indexed: MemoryEnv, server: HeldServer) -> None:
    indexed.many(3)
    indexed.wait()
    computing = indexed.open()
    other = indexed.open()
    thread, reports = beside(computing.sync)
    assert server.requested.wait(LIMIT)
    indexed.write("memory/new.md", "The zebrafish swims.\n")
    assert paths(other.search("zebrafish", deadline_ms=HASTY)) == ["memory/new.md"]
    assert thread.is_alive()
    server.let_go.set()
    thread.join(LIMIT)
    assert reports[0].embedded >= 3


@pytest.mark.slow
def test_vectors_that_arrive_after_a_rebuild_are_kept_and_not_asked_for_again(
    indexed: MemoryEnv, server: HeldServer
) -> None:
    indexed.many(3)
    indexed.wait()
    computing = indexed.open()
    other = indexed.open()
    thread, _ = beside(computing.sync)
    assert server.requested.wait(LIMIT)
    generation = other.status().health.generation
    other._backend._indexing.new_sync(other._backend.index).read(Task(force=True))
    assert other.status().health.generation > generation
    server.let_go.set()
    thread.join(LIMIT)
    status = indexed.open().status()
    assert (status.pending, status.vectors) == (0, status.chunks)
    documents = [text for text in server.texts if "manything" in text and not text.startswith("query: ")]
    assert len(documents) == len(set(documents)) == 3


@pytest.mark.slow
def test_a_vector_that_arrives_after_its_text_was_forgotten_is_not_kept(indexed: MemoryEnv, server: HeldServer) -> None:
    indexed.many(1)
    indexed.wait()
    computing = indexed.open()
    other = indexed.open()
    thread, _ = beside(computing.sync)
    assert server.requested.wait(LIMIT)
    receipt = other.forget(other.plan_forget("memory/many/000.md"))
    assert not receipt.left
    server.let_go.set()
    thread.join(LIMIT)
    status = indexed.open().status()
    with other._backend.index._file.reading() as connection:
        kept = connection.execute("SELECT count(*) FROM embedding_cache").get
    assert kept == status.chunks == len(NOTES)


def test_a_memory_that_is_told_to_stop_answers_by_words_at_once(indexed: MemoryEnv, server: HeldServer) -> None:
    memory = indexed.open()
    thread, results = beside(lambda: memory.search(QUESTION))
    assert server.requested.wait(LIMIT)
    memory.stop()
    thread.join(LIMIT)
    assert (results[0].mode, paths(results[0])[0]) == ("keyword", "MEMORY.md")
    assert texts_of(server.calls[-1])
