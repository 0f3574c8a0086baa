"""A clock that jumps: what was indexed stays indexed, what is new is found, and nothing waits for the time to come."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from faults import contents
from memory_env import QUESTION, MemoryEnv, paths

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

YEAR = 365.25 * 86_400
JUMPS = (-1.0, -3_600.0, -YEAR, -50 * YEAR, 3_600.0, YEAR, 50 * YEAR)


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="fake", query={"hybrid": {"temporalDecay": {"enabled": True}}})
    yield env
    env.close()


@pytest.mark.matrix
@pytest.mark.parametrize("jump", JUMPS)
@pytest.mark.parametrize("between", ["runs", "questions"])
def test_whatever_the_clock_does_everything_is_found_and_nothing_is_embedded_twice(
    env: MemoryEnv, jump: float, between: str
) -> None:
    before = contents(env.notes)
    memory = env.open()
    assert paths(memory.search(QUESTION))[0] == "MEMORY.md"
    env.seconds += jump
    if between == "runs":
        memory.close()
        memory = env.open()
    report = memory.sync()
    assert (report.added, report.changed, report.embedded) == (0, 0, 0)
    assert paths(memory.search(QUESTION))[0] == "MEMORY.md"
    assert contents(env.notes) == before
    env.write("memory/new.md", "# New\n\nThe zanzibar key is under the mat.\n")
    env.wait()
    assert paths(memory.search("zanzibar key"))[0] == "memory/new.md"
    memory.sync(force=True)
    memory.compact()
    env.seconds -= 2 * jump
    assert paths(memory.search("zanzibar key"))[0] == "memory/new.md"
    assert memory.status().health.ok


def test_an_entry_is_kept_under_the_day_that_the_clock_says_and_never_over_another(env: MemoryEnv) -> None:
    memory = env.open()
    first = memory.remember("The first entry.")
    env.seconds -= 10 * YEAR
    second = memory.remember("An entry of the past.")
    env.seconds += 10 * YEAR
    third = memory.remember("The third entry.")
    assert (first.path, second.path == first.path) == (third.path, False)
    assert first.path.read_text(encoding="utf-8") == (
        "# 2026-03-10\n\n- 12:00 The first entry.\n- 12:00 The third entry.\n"
    )
    assert {hit.path for hit in memory.search("entry", min_score=0.0).results} >= {
        f"memory/{first.path.name}",
        f"memory/{second.path.name}",
    }


@pytest.mark.matrix
@pytest.mark.parametrize("stamp", [0, 1, 4_102_444_800, 32_503_680_000])
def test_a_note_with_any_time_of_change_is_read_again_when_it_changes(env: MemoryEnv, stamp: int) -> None:
    file = env.notes / "memory/odd.md"
    env.write("memory/odd.md", "The first words.\n")
    os.utime(file, (stamp, stamp))
    memory = env.open()
    assert paths(memory.search("first words"))[0] == "memory/odd.md"
    env.write("memory/odd.md", "Quite other sentences.\n")
    os.utime(file, (stamp, stamp))
    env.wait()
    assert paths(memory.search("other sentences"))[0] == "memory/odd.md"


def test_a_service_is_asked_again_although_the_clock_went_back(env: MemoryEnv) -> None:
    """What is remembered of today's spending is of that day, by date: another day has its own account."""
    memory = env.open()
    memory.sync()
    env.seconds = datetime(1971, 1, 1, tzinfo=UTC).timestamp()
    env.write("memory/old.md", "The zanzibar key is under the mat.\n")
    env.wait()
    result = memory.search("zanzibar key")
    assert (paths(result)[0], result.health.pending) == ("memory/old.md", 0)
