"""Many threads on one memory, and other processes that write meanwhile: every answer is whole."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.index import Index
from memory_env import QUESTION, MemoryEnv, paths

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoriter import Memory

QUESTIONS = [QUESTION, "commits in the imperative mood", "manyword7 beside manything7", "the train to Osaka"]
THREADS = 8
ROUNDS = 20


def hits_of(memory: Memory, question: str) -> list[tuple[str, int]]:
    """The hit with the words of the question; others depend on the notes that change meanwhile."""
    return [(hit.path, hit.start_line) for hit in memory.search(question).results[:1]]


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="fake", sync={"onSearch": False})
    env.many(30)
    yield env
    env.close()


def test_notes_that_are_stored_again_between_any_two_reads_of_a_search_are_found(
    env: MemoryEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = env.open()
    other = env.open()
    memory.sync()
    before = memory.search(QUESTION)
    scoring_rows = Index.scoring_rows
    writer = other._backend.index

    def stored_again(index: Index, ids: Any) -> Any:
        if index is not writer:
            with (env.notes / "MEMORY.md").open("a", encoding="utf-8") as file:
                file.write("\n")
            other.sync()  # the passage stays as it is, and gets a new id
        return scoring_rows(index, ids)

    monkeypatch.setattr(Index, "scoring_rows", stored_again)
    assert paths(memory.search(QUESTION)) == paths(before)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["exact", "codes"])
def test_threads_that_share_a_memory_get_the_answers_of_one_while_notes_change(env: MemoryEnv, engine: str) -> None:
    env.configure(provider="fake", store={"vector": {"engine": engine}})
    memory = env.open()
    other = env.open()
    memory.sync()
    expected = {question: hits_of(memory, question) for question in QUESTIONS}
    done = threading.Event()

    def write() -> None:
        with env.open() as third:
            number = 0
            while not done.is_set():
                number += 1
                env.write("memory/zzz/other.md", f"# Zzz\n\nzzz{number} qqq{number}\n")
                third.sync(force=number % 5 == 0)
                other.compact(unused=number % 2 == 0)

    def ask(thread: int) -> list[str]:
        wrong = list[str]()
        for turn in range(ROUNDS):
            question = QUESTIONS[(thread + turn) % len(QUESTIONS)]
            got = hits_of(memory, question)
            if got != expected[question]:
                wrong.append(f"{question}: {got}")
        return wrong

    with ThreadPoolExecutor(THREADS + 1) as pool:
        writer = pool.submit(write)
        answers = [pool.submit(ask, thread) for thread in range(THREADS)]
        wrong = [each for answer in answers for each in answer.result()]
        done.set()
        writer.result()
    assert wrong == []
