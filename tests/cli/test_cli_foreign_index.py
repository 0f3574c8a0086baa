"""A database of another program at the place of the index is never moved, written or read as ours."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from openclaw_home import write_index

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Program

COMMANDS = (
    ("status",),
    ("search", "Omada router"),
    ("index",),
    ("index", "--force"),
    ("status", "--deep"),
    ("doctor",),
    ("compact", "--unused", "--damaged"),
    ("forget", "memory/travel.md", "--yes"),
    ("search", "ledger"),
)


def configure(program: Program, store: str) -> None:
    settings = {"provider": "fake", "store": {"path": store}}
    text = json.dumps({"agents": {"defaults": {"memorySearch": settings}}})
    (program.home / "memoriter.json5").write_text(text, encoding="utf-8")


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_database_of_openclaw_at_store_path_is_left_alone_by_every_command(
    program: Program, tmp_path: Path, journal: str
) -> None:
    theirs = tmp_path / "openclaw" / "main.sqlite"
    write_index(theirs, "main")
    with closing(sqlite3.connect(theirs)) as connection:
        connection.execute(f"PRAGMA journal_mode={journal}")
    before = (hashlib.sha256(theirs.read_bytes()).digest(), theirs.stat().st_mtime_ns, theirs.stat().st_mode)
    configure(program, str(theirs.with_name("{agentId}.sqlite")))
    program("status", "-w", str(program.workspace))
    for words in COMMANDS:
        outcome = program(*words)
        assert outcome.exit_code == 0, (words, outcome.out, outcome.err)
        assert names(theirs.parent) == ["main.sqlite"], words
    assert (hashlib.sha256(theirs.read_bytes()).digest(), theirs.stat().st_mtime_ns, theirs.stat().st_mode) == before
    assert "MEMORY.md" in program("search", "PostgreSQL ledger").out


def test_status_and_doctor_say_where_the_index_is_instead(program: Program, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs" / "main.sqlite"
    write_index(theirs, "main")
    settings = {"provider": "fake", "store": {"path": str(theirs)}}
    tree = {"agents": {"defaults": {"workspace": str(program.workspace), "memorySearch": settings}}}
    (program.home / "memoriter.json5").write_text(json.dumps(tree), encoding="utf-8")
    before = theirs.read_bytes()
    assert program("index").exit_code == 0
    (state,) = program("status", "--json").json
    assert state["index"].startswith(str(program.home))
    (notice,) = state["notices"]
    assert notice["code"] == "index_foreign"
    assert notice["message"].startswith(f"{str(theirs)!r} belongs to another program and is left as it is")
    assert f"because {str(theirs)!r} belongs to another program" in program("status").out
    findings = program("doctor", "--json").json["findings"]
    assert [finding["state"] for finding in findings if finding["check"] == "index_foreign"] == ["note"]
    assert "another program" not in program("search", "ledger").err
    assert (names(theirs.parent), theirs.read_bytes()) == (["main.sqlite"], before)


def test_a_plain_file_at_store_path_is_not_taken_for_a_damaged_index(program: Program) -> None:
    note = program.workspace / "MEMORY.md"
    tree = {"workspace": str(program.workspace), "memorySearch": {"provider": "fake", "store": {"path": str(note)}}}
    (program.home / "memoriter.json5").write_text(json.dumps({"agents": {"defaults": tree}}), encoding="utf-8")
    before = note.read_bytes()
    for words in (("status",), ("index",), ("doctor",)):
        assert program(*words).exit_code == 0
    assert note.read_bytes() == before
    assert names(program.workspace) == ["MEMORY.md", "memory"]


def test_a_database_that_openclaw_is_writing_is_left_alone(program: Program, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs" / "main.sqlite"
    write_index(theirs, "main")
    tree = {"workspace": str(program.workspace), "memorySearch": {"provider": "fake", "store": {"path": str(theirs)}}}
    (program.home / "memoriter.json5").write_text(json.dumps({"agents": {"defaults": tree}}), encoding="utf-8")
    with closing(sqlite3.connect(theirs, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        writer.execute("INSERT INTO meta VALUES ('k', 'v')")
        assert program("search", "Omada router").exit_code == 0
        writer.execute("COMMIT")
    assert names(theirs.parent) == ["main.sqlite"]
    with closing(sqlite3.connect(theirs)) as connection:
        assert connection.execute("SELECT count(*) FROM meta").fetchone() == (2,)
