"""A home on a network file system: where the index is then, and that no write-ahead log is ever kept there."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoriter import Memory
from memoriter.api_json import status_json
from memoriter.app import Environment, assemble
from memoriter.cli._status import status_rows
from memoriter.embedding_setup import ledger_of
from memory_env import NOTES, QUESTION, MemoryEnv

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoriter.types import Status


class Machine:
    """An environment with its home, and other named folders, on a network file system."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mounts = folder / "mounts"
        self.env = MemoryEnv.at(folder, NOTES)
        self.env.configure(provider="fake")
        self.cache = folder / "user" / ".cache"
        self.opened: list[Memory] = []

    def mount(self, *remote: Path, kind: str = "nfs4") -> None:
        lines = ["/dev/vda / ext4 rw 0 0", *(f"server:/x {folder.resolve()} {kind} rw 0 0" for folder in remote)]
        self.mounts.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def environment(self, home: Path | None = None, **environ: str) -> Environment:
        variables = {"MEMORITER_HOME": str(home or self.env.home), **environ}
        clock: Callable[[], float] = lambda: self.env.seconds  # noqa: E731
        return Environment(variables, self.folder / "user", self.env.notes, clock, time.monotonic, self.mounts)

    def memory(self, notes: Path | None = None, home: Path | None = None, **environ: str) -> Memory:
        self.opened.append(Memory(assemble(notes or self.env.notes, env=self.environment(home, **environ))))
        return self.opened[-1]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path)
    machine.mount(machine.env.home)
    yield machine
    for memory in machine.opened:
        memory.close()


def logs(folder: Path) -> list[str]:
    """Everything below the folder that belongs to a write-ahead log."""
    return sorted(file.name for file in folder.rglob("*") if file.name.endswith(("-wal", "-shm")))


def row(status: Status, name: str) -> str:
    return dict(status_rows(status))[name]


def test_the_index_of_a_remote_home_is_in_the_local_cache_and_status_says_where_and_why(machine: Machine) -> None:
    memory = machine.memory()
    result = memory.search(QUESTION)
    assert (result.results[0].path, result.health.ok) == ("MEMORY.md", True)
    status = memory.status()
    assert Path(status.index).parent == machine.cache / "memoriter" / "index"
    assert status.index_reason == f"in the local cache, because {str(machine.env.home / 'memory')!r} is on nfs4"
    assert status_json(status)["indexReason"] == status.index_reason
    assert status.index_reason in row(status, "index")
    assert logs(machine.cache)
    assert [file for file in machine.env.home.rglob("*") if ".sqlite" in file.name] == []


def test_a_local_home_keeps_its_index_and_says_nothing(machine: Machine) -> None:
    machine.mount()
    status = machine.memory().status()
    assert Path(status.index).is_relative_to(machine.env.home)
    assert (status.index_reason, "indexReason" in status_json(status)) == ("", False)


def test_xdg_cache_home_names_the_cache(machine: Machine, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    assert Path(machine.memory(XDG_CACHE_HOME=str(elsewhere)).status().index).is_relative_to(elsewhere / "memoriter")
    # As the standard has it, a relative path means nothing.
    assert Path(machine.memory(XDG_CACHE_HOME="relative").status().index).is_relative_to(machine.cache)


@pytest.mark.slow
def test_two_workspaces_and_two_homes_never_share_an_index_in_the_cache(machine: Machine, tmp_path: Path) -> None:
    other = tmp_path / "other" / "notes"
    home = tmp_path / "second"
    other.mkdir(parents=True)
    home.mkdir()
    (home / "memoriter.json5").write_text(machine.env.config.read_text(encoding="utf-8"), encoding="utf-8")
    (other / "MEMORY.md").write_text("# Other\n\nThe password of the shed is on the shelf.\n", encoding="utf-8")
    machine.mount(machine.env.home, home)
    memories = [
        machine.memory(notes, where) for notes in (machine.env.notes, other) for where in (machine.env.home, home)
    ]
    indexes = {memory.status().index for memory in memories}
    assert len(indexes) == 4
    for memory, path in zip(memories, ["MEMORY.md", "MEMORY.md", "MEMORY.md", "MEMORY.md"], strict=True):
        assert memory.search("PostgreSQL shed").results[0].path == path
    assert [memory.status().files for memory in memories] == [4, 4, 1, 1]
    again = machine.memory()
    assert again.status().index == memories[0].status().index
    assert again.status().files == 4


def test_where_the_cache_is_remote_too_the_index_stays_without_a_log_and_status_names_the_way_out(
    machine: Machine, tmp_path: Path
) -> None:
    machine.mount(tmp_path, kind="cifs")
    memory = machine.memory()
    assert memory.search(QUESTION).results[0].path == "MEMORY.md"
    status = memory.status()
    assert Path(status.index).is_relative_to(machine.env.home)
    assert "on cifs" in status.index_reason
    assert "set XDG_CACHE_HOME or store.path to a local disk" in status.index_reason
    assert logs(tmp_path) == []

    local = tmp_path / "local"
    machine.mounts.write_text(
        machine.mounts.read_text(encoding="utf-8") + f"/dev/vdb {local} ext4 rw 0 0\n", encoding="utf-8"
    )
    moved = machine.memory(XDG_CACHE_HOME=str(local))
    assert moved.search(QUESTION).results[0].path == "MEMORY.md"
    assert Path(moved.status().index).is_relative_to(local)


def test_a_path_that_was_chosen_is_kept_without_a_log(machine: Machine, tmp_path: Path) -> None:
    machine.env.configure(provider="fake", store={"path": str(tmp_path / "share" / "{agentId}.sqlite")})
    machine.mount(tmp_path / "share")
    memory = machine.memory()
    assert memory.search(QUESTION).results[0].path == "MEMORY.md"
    status = memory.status()
    assert Path(status.index).parent == tmp_path / "share"
    assert "as store.path says" in status.index_reason
    assert logs(tmp_path / "share") == []


def test_the_ledger_of_a_remote_home_has_no_log(machine: Machine) -> None:
    ledger = ledger_of(machine.environment())
    ledger.add("openai", "small", 7, 0.1)
    assert logs(machine.env.home) == []
    ledger.close()
    file = sqlite3.connect(machine.env.home / "memory" / "ledger.sqlite")
    assert file.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    file.close()
