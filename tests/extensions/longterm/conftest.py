"""Memories with long-term memories, for the tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from long_term import long_term_env

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from memoriter import Memory
    from memory_env import MemoryEnv

Call = "Callable[..., dict[str, Any]]"


@pytest.fixture(scope="session", autouse=True)
def lancedb_is_imported() -> None:
    """Import LanceDB before any test is timed; that takes seconds."""
    import lancedb  # noqa: F401


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = long_term_env(tmp_path)
    yield env
    env.close()


@pytest.fixture
def memory(env: MemoryEnv) -> Memory:
    return env.open()


@pytest.fixture
def call(memory: Memory) -> Callable[..., dict[str, Any]]:
    """Return what runs a tool of the memory by its name."""
    tools = {tool.name: tool for tool in memory.tools}

    def run(name: str, **params: Any) -> dict[str, Any]:
        return tools[name].run(memory, params, session_key="agent:main:direct")

    return run
