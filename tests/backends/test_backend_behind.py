"""An answer that is older than the notes says so."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from memoriter.workspace import Scan, Workspace
from memory_env import NOTES, QUESTION, MemoryEnv, codes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="fake", sync={"onSearch": False})
    yield env
    env.close()


def test_where_searches_do_not_look_at_the_files_an_answer_names_what_it_does_not_know(env: MemoryEnv) -> None:
    memory = env.open()
    memory.sync()
    assert memory.search(QUESTION).health.ok
    env.write("memory/fruit.md", "Kiwi is the favourite fruit.\n")
    env.write("MEMORY.md", "# Decisions\n\nWe chose SQLite for the ledger.\n")
    (env.notes / "memory" / "2026-03-05.md").unlink()
    env.wait()
    (reason,) = memory.search(QUESTION).health.reasons
    assert (reason.code, reason.remedy) == ("stale", "Run `memoriter index`.")
    assert "3 notes changed" in reason.message
    assert all(path in reason.message for path in ("memory/fruit.md", "MEMORY.md", "memory/2026-03-05.md"))
    assert codes(memory.status()) == ["stale"]
    memory.sync()
    env.wait()
    assert memory.search(QUESTION).health.ok


@pytest.mark.slow
def test_every_answer_is_compared_with_the_files(env: MemoryEnv) -> None:
    memory = env.open()
    memory.sync()
    for number in range(20):
        assert memory.search(QUESTION).health.ok
        env.write("memory/fruit.md", f"Kiwi is fruit number {number:03}.\n")
        assert codes(memory.search(QUESTION)) == ["stale"]
        memory.sync()


@pytest.mark.parametrize("path", list(NOTES))
def test_however_old_a_note_is_its_change_is_told(env: MemoryEnv, path: str) -> None:
    env.many(30)
    for age, note in enumerate(NOTES):
        os.utime(env.notes / note, (1_000_000 + age, 1_000_000 + age))
    memory = env.open()
    memory.sync()
    (env.notes / path).unlink()
    assert "stale" in codes(memory.search(QUESTION))


def test_a_note_that_memoriter_writes_is_in_the_next_answer_whoever_looks(env: MemoryEnv) -> None:
    memory = env.open()
    memory.search(QUESTION)
    assert memory.remember("The heron stands by the lock.").reasons == ()
    for other in (memory, env.open()):
        result = other.search("heron lock")
        assert "The heron stands by the lock." in result.results[0].snippet
        assert "stale" not in codes(result)


def test_a_status_looks_at_the_files_once(env: MemoryEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = env.open()
    scans = list["Path"]()
    scan = Workspace.scan
    memory.sync()

    def counted(self: Workspace) -> Scan:
        scans.append(self.root)
        return scan(self)

    monkeypatch.setattr(Workspace, "scan", counted)
    memory.status()
    assert len(scans) == 1


def test_a_status_counts_no_note_that_was_indexed_right_after_it_was_written(env: MemoryEnv) -> None:
    memory = env.open()
    memory.sync()
    for number in range(5):
        env.write(f"memory/now{number}.md", "# Now\n\nJust written.\n")
        memory.sync()
        assert (memory.status().stale, memory.status().health.ok) == (0, True)
    env.write("memory/now0.md", "# Now\n\nWritten again.\n")
    assert memory.status().stale == 1
