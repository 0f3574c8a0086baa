"""`memoriter store list` and `memoriter store drop` with files of SQLite."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from filelock import FileLock

if TYPE_CHECKING:
    from conftest import Program


def listed(program: Program) -> list[dict[str, Any]]:
    return program("store", "list", "--json").json


@pytest.fixture
def index(program: Program) -> Path:
    """The index of the program's notes."""
    program("index")
    (state,) = program("status", "--json").json
    return Path(state["index"])


def test_the_list_names_the_indexes_of_a_folder_and_no_file_of_another_program(program: Program, index: Path) -> None:
    with closing(sqlite3.connect(index.with_name("foreign.sqlite"))) as foreign:
        foreign.execute("CREATE TABLE chunks(id)")
    index.with_name("notes.sqlite").write_text("no database", encoding="utf-8")
    program("index", "--force")
    (state,) = program("status", "--json").json
    (only,) = listed(program)
    assert (only["name"], only["owner"], only["passages"]) == (index.name, None, state["chunks"])
    assert only["vectors"] >= state["vectors"] > 0
    assert only["bytes"] >= index.resolve().stat().st_size
    assert only["changedAt"].startswith("20")
    line = program("store", "list").out
    assert line.startswith(f"{index.name}  {only['passages']} passages, {only['vectors']} vectors, ")


def test_a_dropped_index_goes_with_all_its_files_and_the_notes_stay(program: Program, index: Path) -> None:
    foreign = index.with_name("foreign.sqlite")
    with closing(sqlite3.connect(foreign)) as connection:
        connection.execute("CREATE TABLE chunks(id)")
    notes = {file: file.read_bytes() for file in program.workspace.rglob("*.md")}
    outcome = program("store", "drop", index.name, "--yes")
    assert (outcome.exit_code, outcome.out) == (0, f"{index.name} was deleted. No note was changed.\n"), outcome
    assert [file.name for file in index.parent.iterdir() if file.name.startswith(index.stem)] == []
    assert foreign.exists()
    assert {file: file.read_bytes() for file in program.workspace.rglob("*.md")} == notes
    assert listed(program) == []
    assert program("store", "list").out == "There is no index.\n"
    assert program("search", "ledger").exit_code == 0


def test_nothing_is_dropped_without_a_confirmation(program: Program, index: Path) -> None:
    outcome = program("store", "drop", index.name)
    assert outcome.exit_code == 2
    assert "Confirmation is needed" in outcome.err
    assert len(listed(program)) == 1


@pytest.mark.parametrize("name", ["none.sqlite", "foreign.sqlite", "../notes/MEMORY.md", "ledger.sqlite"])
def test_only_an_index_of_the_list_can_be_dropped(program: Program, index: Path, name: str) -> None:
    with closing(sqlite3.connect(index.with_name("foreign.sqlite"))) as foreign:
        foreign.execute("CREATE TABLE chunks(id)")
    files = sorted(index.parent.iterdir())
    outcome = program("store", "drop", name, "--yes")
    assert outcome.exit_code == 2
    assert f"has no index {name!r}" in outcome.err
    assert "memoriter store list" in outcome.err
    assert sorted(index.parent.iterdir()) == files


@pytest.mark.parametrize(("lock", "doing"), [("lease", "index"), ("watch", "is watching")])
def test_an_index_that_a_process_uses_is_not_dropped(program: Program, index: Path, lock: str, doing: str) -> None:
    with FileLock(index.with_name(f"{index.name}.{lock}")):
        outcome = program("store", "drop", index.name, "--yes")
    assert outcome.exit_code != 0
    assert doing in outcome.err
    assert len(listed(program)) == 1
