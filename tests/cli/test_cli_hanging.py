"""Commands beside an embedding service that takes a request and does not answer."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from memory_env import QUESTION, MemoryEnv, compatible
from servers.held import LIMIT, HeldServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

END = 20.0
"""Seconds for an end that should take less than five, on a machine that does much else."""


@pytest.fixture
def service() -> Iterator[HeldServer]:
    with HeldServer() as service:
        yield service


@pytest.fixture
def env(tmp_path: Path, service: HeldServer) -> MemoryEnv:
    env = MemoryEnv.at(tmp_path)
    settings = compatible(service)
    env.configure(**settings, query={"deadlineMs": 1_000}, sync={"watchDebounceMs": 100})
    return env


def found(env: MemoryEnv, query: str) -> list[str]:
    outcome = env.run("search", query, "--json")
    return [hit["path"] for hit in outcome.json["results"]]


def test_a_search_and_the_next_one_find_words_and_the_command_ends(env: MemoryEnv, service: HeldServer) -> None:
    assert found(env, QUESTION)[0] == "MEMORY.md"
    env.write("memory/new.md", "The zebrafish swims.\n")
    assert found(env, "zebrafish") == ["memory/new.md"]
    assert len(service.calls) <= 1  # the second command knows from the first one
    assert not service.let_go.is_set()


def test_a_watcher_indexes_words_and_ends_at_a_signal(env: MemoryEnv, service: HeldServer) -> None:
    command = env.command("-w", str(env.notes), "watch", "--json")
    with subprocess.Popen(
        command, env=env.environment(), cwd=env.notes, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        events: list[Any] = []

        def until(wanted: int) -> None:
            """Read events until so many files are known to have been added."""
            while sum(event.get("report", {}).get("added", 0) for event in events) < wanted:
                line = process.stdout.readline() if process.stdout else ""
                assert line, process.stderr and process.stderr.read()
                events.append(json.loads(line))

        assert service.requested.wait(LIMIT)
        env.write("memory/new.md", "The zebrafish swims.\n")
        until(5)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=END)
        assert process.returncode == 0
    assert not service.let_go.is_set()
    env.configure(provider="none")
    assert found(env, "zebrafish") == ["memory/new.md"]
