"""An answer that is older than the notes says so."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from desk import NOTES, QUESTION, MemoryEnv, codes
from memoriter.workspace import Scan, Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[MemoryEnv]:
    desk = MemoryEnv.at(tmp_path)
    desk.configure(provider="fake", sync={"onSearch": False})
    yield desk
    desk.close()


def test_where_searches_do_not_look_at_the_files_an_answer_names_what_it_does_not_know(desk: MemoryEnv) -> None:
    memory = desk.open()
    memory.sync()
    assert memory.search(QUESTION).health.ok
    desk.write("memory/fruit.md", "Kiwi is the favourite fruit.\n")
    desk.write("MEMORY.md", "# Decisions\n\nWe chose SQLite for the ledger.\n")
    (desk.notes / "memory" / "2026-03-05.md").unlink()
    desk.wait()
    (reason,) = memory.search(QUESTION).health.reasons
    assert (reason.code, reason.remedy) == ("stale", "Run `memoriter index`.")
    assert "3 notes changed" in reason.message
    assert all(path in reason.message for path in ("memory/fruit.md", "MEMORY.md", "memory/2026-03-05.md"))
    assert codes(memory.status()) == ["stale"]
    memory.sync()
    desk.wait()
    assert memory.search(QUESTION).health.ok


@pytest.mark.slow
def test_every_answer_is_compared_with_the_files(desk: MemoryEnv) -> None:
    memory = desk.open()
    memory.sync()
    for number in range(20):
        assert memory.search(QUESTION).health.ok
        desk.write("memory/fruit.md", f"Kiwi is fruit number {number:03}.\n")
        assert codes(memory.search(QUESTION)) == ["stale"]
        memory.sync()


@pytest.mark.matrix
@pytest.mark.parametrize("path", list(NOTES))
def test_however_old_a_note_is_its_change_is_told(desk: MemoryEnv, path: str) -> None:
    desk.many(30)
    for age, note in enumerate(NOTES):
        os.utime(desk.notes / note, (1_000_000 + age, 1_000_000 + age))
    memory = desk.open()
    memory.sync()
    (desk.notes / path).unlink()
    assert "stale" in codes(memory.search(QUESTION))


def test_a_note_that_memoriter_writes_is_in_the_next_answer_whoever_looks(desk: MemoryEnv) -> None:
    memory = desk.open()
    memory.search(QUESTION)
    assert memory.remember("The heron stands by the lock.").reasons == ()
    for other in (memory, desk.open()):
        result = other.search("heron lock")
        assert "The heron stands by the lock." in result.results[0].snippet
        assert "stale" not in codes(result)


def test_a_status_looks_at_the_files_once(desk: MemoryEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, scans, scan = desk.open(), list["Path"](), Workspace.scan
    memory.sync()

    def counted(self: Workspace) -> Scan:
        scans.append(self.root)
        return scan(self)

    monkeypatch.setattr(Workspace, "scan", counted)
    memory.status()
    assert len(scans) == 1


def test_a_status_counts_no_note_that_was_indexed_right_after_it_was_written(desk: MemoryEnv) -> None:
    memory = desk.open()
    memory.sync()
    for number in range(5):
        desk.write(f"memory/now{number}.md", "# Now\n\nJust written.\n")
        memory.sync()
        assert (memory.status().stale, memory.status().health.ok) == (0, True)
    desk.write("memory/now0.md", "# Now\n\nWritten again.\n")
    assert memory.status().stale == 1
