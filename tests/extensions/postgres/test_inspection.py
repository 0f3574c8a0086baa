"""A look at a memory on PostgreSQL: it changes nothing on the server, and says what is wrong there."""

from __future__ import annotations

import socket
from os import getpid
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from memory_env import MemoryEnv
from postgres_server import postgres_dsn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCHEMA = f"inspected_{getpid()}"


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    use(env, postgres_dsn())
    with psycopg.connect(postgres_dsn(), autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE".encode())
    yield env
    env.close()


def use(env: MemoryEnv, dsn: str) -> None:
    env.configure(provider="none", store={"driver": "postgres", "postgres": {"dsn": dsn, "schema": SCHEMA}})


def rows_of_server() -> list[tuple[Any, ...]]:
    """Return every table of the schema with its rows, and the transactions that wrote them."""
    with psycopg.connect(postgres_dsn(), autocommit=True) as connection:
        tables = connection.execute(
            "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE nspname = %s AND relkind = 'r' ORDER BY relname",
            (SCHEMA,),
        ).fetchall()
        return [
            (name, sorted(map(str, connection.execute(f"SELECT xmin, * FROM {SCHEMA}.{name}".encode()))))
            for (name,) in tables
        ]


@pytest.mark.slow
def test_status_of_a_memory_that_is_not_on_the_server_creates_nothing_there(env: MemoryEnv) -> None:
    status = env.open().status()
    assert (status.files, status.chunks, status.vectors) == (0, 0, 0)
    assert "not_indexed" in [reason.code for reason in status.health.reasons]
    with psycopg.connect(postgres_dsn()) as connection:
        assert connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname = %s", (SCHEMA,)).fetchone() == (0,)


@pytest.mark.slow
def test_looks_at_an_index_change_nothing_on_the_server(env: MemoryEnv) -> None:
    env.open().sync()
    before = rows_of_server()
    memory = env.open()
    assert memory.status().files == 4
    assert memory.estimate().files == 4
    assert env.open(agent="another").status().files == 0
    (shown,) = env.run("status", "--json").json
    assert (shown["files"], SCHEMA in shown["index"], shown["indexBytes"] > 10_000) == (4, True, True)
    assert rows_of_server() == before


@pytest.mark.slow
def test_a_server_that_is_down_is_named_with_a_remedy_by_every_command(env: MemoryEnv) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        use(env, f"postgresql://someone:secret-word@127.0.0.1:{unused.getsockname()[1]}/postgres")
        for words in (("status",), ("search", "ledger"), ("index",), ("status", "--json")):
            shown = env.run(*words)
            assert shown.exit_code == 1, shown
            assert "127.0.0.1" in shown.err + shown.out
            assert "Check that it runs and that memorySearch.store.postgres names it" in shown.err + shown.out
            assert not {"Traceback", "secret-word"} & set((shown.err + shown.out).split())
        checked = env.run("doctor", "--json")
        broken = [each for each in checked.json["findings"] if each["state"] == "broken"]
        assert checked.exit_code == 1
        assert any("127.0.0.1" in each["message"] and "store.postgres" in each["remedy"] for each in broken), broken
