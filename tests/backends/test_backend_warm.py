"""A model that takes its time to load: words answer meanwhile, and say so."""

from __future__ import annotations

from contextlib import ExitStack
from threading import Event, Timer
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.backends import _builtin, _embedding, _indexing
from memoriter.errors import ProviderUnavailable
from memory_env import QUESTION, MemoryEnv, codes, paths

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LIMIT = 150.0
"""Seconds that a thread may take on a busy machine."""


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="fake")
    yield env
    env.close()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """No model is loaded before it is open."""
    gate = Event()
    load = _embedding.open_choice

    def slow(*arguments: Any, **options: Any) -> Any:
        assert gate.wait(LIMIT)
        return load(*arguments, **options)

    monkeypatch.setattr(_embedding, "open_choice", slow)
    yield gate
    gate.set()


@pytest.mark.slow
def test_words_answer_while_the_model_is_loaded_and_both_legs_afterwards(env: MemoryEnv, gate: Event) -> None:
    memory = env.open()
    memory.warm()
    first = memory.search(QUESTION)
    assert (paths(first)[0], first.mode) == ("MEMORY.md", "keyword")
    assert "warming" in codes(first)
    assert "warming" in codes(memory.status())
    gate.set()
    memory._backend.embedding.await_model(LIMIT)
    env.wait()
    second = memory.search(QUESTION)
    assert (paths(second)[0], second.mode, codes(second)) == ("MEMORY.md", "hybrid", [])


def test_the_first_search_of_all_waits_for_the_model(
    env: MemoryEnv, gate: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_builtin, "WARMING_SECONDS", 0.0)
    monkeypatch.setattr(_indexing, "FIRST_VECTORS_SECONDS", LIMIT)
    memory = env.open()
    memory.warm()
    Timer(0.3, gate.set).start()
    first = memory.search(QUESTION)
    assert (paths(first)[0], first.mode, codes(first)) == ("MEMORY.md", "hybrid", [])


def test_a_search_without_any_vectors_waits_for_a_process_that_computes_them(
    env: MemoryEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_indexing, "WAIT_SECONDS", 0.0)
    other = env.open()
    memory = env.open()
    for seconds, mode in ((0.0, "keyword"), (LIMIT, "hybrid")):
        monkeypatch.setattr(_indexing, "FIRST_VECTORS_SECONDS", seconds)
        with ExitStack() as stack:
            stack.enter_context(other._backend.index.embedding_lease(wait=LIMIT))  # type: ignore[attr-defined]
            if seconds:
                Timer(0.3, stack.pop_all().close).start()
            assert memory.search(QUESTION).mode == mode


def test_a_model_that_cannot_be_loaded_is_told_by_the_next_search(
    env: MemoryEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: Any, **options: Any) -> Any:
        raise ProviderUnavailable("The model is gone.", remedy="Fetch it again.")

    monkeypatch.setattr(_embedding, "open_choice", broken)
    memory = env.open()
    memory.warm()
    found = memory.search(QUESTION)
    assert (paths(found)[0], found.mode) == ("MEMORY.md", "keyword")
    assert "provider_unavailable" in codes(found)


@pytest.mark.parametrize("provider", ["none", "openai"])
def test_where_there_is_nothing_to_load_nothing_happens(env: MemoryEnv, provider: str) -> None:
    env.configure(provider=provider, remote={"apiKey": "sk-test", "baseUrl": "http://127.0.0.1:9/v1"})
    memory = env.open()
    memory.warm()
    assert not memory._backend.embedding.warming
