"""`memoriter store list` and `memoriter store drop` with a PostgreSQL server."""

from __future__ import annotations

import os
import time
from itertools import count
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from memoriter.errors import IndexBusy
from memoriter.extensions.postgres import _driver
from memoriter.extensions.postgres.api import PostgresStore, ServerSettings, drop_space, list_spaces
from memory_env import MemoryEnv
from postgres_server import postgres_dsn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from program import Run

pytestmark = pytest.mark.slow
_NUMBERS = count()


@pytest.fixture
def schema() -> Iterator[str]:
    name = f"catalog_{os.getpid()}_{next(_NUMBERS)}"
    yield name
    with connect() as connection:
        connection.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE'.encode())


def connect(schema: str = "public") -> psycopg.Connection:
    return psycopg.connect(postgres_dsn(), autocommit=True, options=f"-c search_path={schema},public")


def tables_of(schema: str) -> int:
    with connect() as connection:
        row = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = %s", (schema,)).fetchone()
        assert row is not None
        return row[0]


@pytest.fixture
def env(tmp_path: Path, schema: str) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    place = {"dsn": postgres_dsn(), "schema": schema, "workspace": "team"}
    env.configure(provider="fake", store={"driver": "postgres", "postgres": place}, query={"scoring": "rrf"})
    yield env
    env.close()


def test_memories_are_listed_and_one_is_deleted_with_its_tables(env: MemoryEnv, run: Run, schema: str) -> None:
    assert run("store", "list").out == "There is no index.\n"
    began = time.time()
    env.open().sync()
    before = tables_of(schema)
    env.open("work").sync()
    listed: list[dict[str, Any]] = run("store", "list", "--json").json
    assert [each["name"] for each in listed] == ["team/main", "team/work"]
    (state,) = run("status", "--json").json
    for each in listed:
        assert (each["passages"], each["vectors"] >= state["vectors"] > 0) == (state["chunks"], True)
        assert each["bytes"] > 8192
        assert each["changedAt"][:4] >= str(time.gmtime(began).tm_year)
    env.close()
    notes = {file: file.read_bytes() for file in env.notes.rglob("*.md")}
    dropped = run("store", "drop", "team/work", "--yes", "--json")
    assert (dropped.exit_code, dropped.json["dropped"]["name"]) == (0, "team/work"), dropped
    assert [each["name"] for each in run("store", "list", "--json").json] == ["team/main"]
    assert tables_of(schema) == before
    with connect(schema) as connection:
        assert connection.execute("SELECT count(*) FROM editions").fetchone() == (1,)
    assert {file: file.read_bytes() for file in env.notes.rglob("*.md")} == notes
    again = run("store", "drop", "team/work", "--yes")
    assert again.exit_code == 2
    assert "no memory 'team/work' that you may delete" in again.err


def test_a_process_that_still_searches_a_deleted_memory_begins_a_new_one(env: MemoryEnv, run: Run) -> None:
    memory = env.open()
    memory.sync()
    assert run("store", "drop", "team/main", "--yes").exit_code == 0
    memory.search("ledger")
    memory.sync()
    assert memory.search("ledger").hits
    assert len(run("store", "list", "--json").json) == 1


@pytest.mark.parametrize(("right", "doing"), [("lease", "is indexing"), ("watch_lease", "is watching the notes of")])
def test_a_memory_that_a_process_uses_is_not_deleted(schema: str, right: str, doing: str) -> None:
    settings = ServerSettings(dsn=postgres_dsn(), schema=schema)
    store = PostgresStore.open(settings, "team/main", clock=lambda: 0.0)
    try:
        with getattr(store, right)(), pytest.raises(IndexBusy, match=f"Another process {doing} 'team/main'"):
            drop_space(settings, "team/main")
        assert [each.name for each in list_spaces(settings)] == ["team/main"]
        drop_space(settings, "team/main")
        assert list_spaces(settings) == []
    finally:
        store.close()


def test_a_deletion_gives_up_while_other_memories_are_read_all_the_time(
    schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_driver, "LOCK_MILLISECONDS", 20)
    monkeypatch.setattr(_driver, "TRIES", 2)
    settings = ServerSettings(dsn=postgres_dsn(), schema=schema)
    for name in ("one/main", "two/main"):
        PostgresStore.open(settings, name, clock=lambda: 0.0).close()
    with connect(schema) as reading, reading.transaction():
        reading.execute("SELECT count(*) FROM chunks")
        with pytest.raises(IndexBusy, match="could not be deleted") as refused:
            drop_space(settings, "one/main")
    assert "Nothing was deleted" in refused.value.remedy
    assert [each.name for each in list_spaces(settings)] == ["one/main", "two/main"]
    drop_space(settings, "one/main")
    assert [each.name for each in list_spaces(settings)] == ["two/main"]


def test_a_memory_whose_tables_are_locked_is_listed_without_its_counts(
    schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_driver, "READING_MILLISECONDS", 20)
    settings = ServerSettings(dsn=postgres_dsn(), schema=schema)
    for name in ("one/main", "two/main"):
        PostgresStore.open(settings, name, clock=lambda: 0.0).close()
    with connect(schema) as locking, locking.transaction():
        row = locking.execute("SELECT id FROM spaces WHERE name = 'one/main'").fetchone()
        assert row is not None
        locking.execute(f"LOCK TABLE vectors_of_{row[0]} IN ACCESS EXCLUSIVE MODE".encode())
        assert [(each.name, each.vectors, each.size is None) for each in list_spaces(settings)] == [
            ("one/main", None, True),
            ("two/main", 0, False),
        ]
