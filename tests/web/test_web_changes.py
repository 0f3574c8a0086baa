"""The event `changed`: clients of a server learn that another process has indexed."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import psycopg
import pytest

from memoriter import Memory
from memory_env import MemoryEnv
from postgres_server import postgres_dsn
from serving import LIMIT, serving
from web_client import ApiClient, api_of
from web_stream import connected, names_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from serving import Serving
    from web_stream import Stream

pytestmark = pytest.mark.slow

ONLY_NOTIFICATIONS = """
import memoriter.extensions.postgres._changes as changes
changes.RECHECK_SECONDS = 3_600.0
"""
"""Python before the server: nothing but a notification tells it of a change."""


@pytest.fixture
def env(tmp_path: Path) -> MemoryEnv:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="none")
    return env


def index_elsewhere(env: MemoryEnv, name: str) -> str:
    """Write a note, index it as another process does, and return the name of the content."""
    env.many(1, name)
    with Memory.open(env.notes, home=env.home) as memory:
        memory.sync()
        return memory.backend.content_version()


def names_until_changed(stream: Stream, version: str) -> list[str]:
    """Return the names of the events before the one that has the version."""
    names = list[str]()
    while (event := stream.event()) != ("changed", {"version": version}):
        names.append(event[0])
    return names


def test_clients_learn_that_another_process_has_indexed_and_nothing_twice(env: MemoryEnv) -> None:
    with api_of(env, "--no-watch") as (_, owner), connected(owner) as stream:
        for name in ("first", "second"):
            env.many(2, name)
            owner.post("/index")
            assert "changed" not in names_until(stream, "idle")
        assert names_until_changed(stream, index_elsewhere(env, "elsewhere")) == []


def test_clients_learn_that_a_search_of_the_server_has_indexed_a_note(env: MemoryEnv) -> None:
    with api_of(env, "--no-watch") as (_, owner), connected(owner) as stream:
        owner.post("/index")
        names_until(stream, "idle")
        env.write("memory/kettle.md", "# Kettle\n\nIt is descaled on Fridays.\n")
        assert owner.post("/search", query="when is the kettle descaled").json()["results"]
        assert names_until(stream, "changed")[-2:] == ["idle", "changed"]


def test_a_change_before_the_first_client_connects_is_reported_to_it(env: MemoryEnv) -> None:
    with api_of(env, "--no-watch") as (_, owner):
        owner.post("/index")
        version = index_elsewhere(env, "elsewhere")
        with connected(owner) as stream:
            assert names_until_changed(stream, version) == []


def test_what_the_watcher_of_the_server_indexes_is_reported_once(env: MemoryEnv) -> None:
    with api_of(env) as (_, owner), connected(owner) as stream:
        env.many(1, "watched")
        names = names_until(stream, "indexed")
        notes = len([*env.notes.rglob("*.md")])
        while owner.get("/status").json()["files"] < notes:  # that was the first run of the server
            names += names_until(stream, "indexed")
        owner.post("/index")
        assert "changed" not in [*names, *names_until(stream, "indexed")]


@pytest.fixture
def schema() -> Iterator[str]:
    schema = f"web_changes_{os.getpid()}"
    yield schema
    with psycopg.connect(postgres_dsn(), autocommit=True) as connection:
        connection.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE'.encode())


def listeners(server: Serving) -> int:
    """Return how many connections of a server follow changes."""
    statement = (
        "SELECT count(*) FROM pg_stat_activity WHERE query ^@ 'SELECT pg_is_in_recovery(), '"
        f" AND application_name ~ ' {server.process.pid}$'"
    )
    with psycopg.connect(postgres_dsn(), autocommit=True) as connection:
        ((found,),) = connection.execute(statement.encode()).fetchall()
    return int(found)


def test_clients_of_a_server_on_one_host_are_told_at_once_what_another_host_has_indexed(
    env: MemoryEnv, tmp_path: Path, schema: str
) -> None:
    place = {"dsn": postgres_dsn(), "schema": schema, "workspace": "team"}
    host = MemoryEnv(env.notes, tmp_path / "other home")
    host.home.mkdir(mode=0o700)
    for each in (env, host):
        each.configure(provider="none", store={"driver": "postgres", "postgres": place})
    with (
        serving(env, "--no-watch", before=ONLY_NOTIFICATIONS) as server,
        ApiClient(server.url, server.token) as owner,
    ):
        owner.post("/index")
        with connected(owner) as stream:
            assert names_until_changed(stream, index_elsewhere(host, "first")) == []
            assert names_until_changed(stream, index_elsewhere(host, "second")) == []
            assert listeners(server) == 1
        end = time.monotonic() + LIMIT
        while listeners(server) and time.monotonic() < end:
            time.sleep(0.1)
        assert not listeners(server), "a server without clients holds no connection for changes"
        version = index_elsewhere(host, "third")
        with connected(owner, stream.last_id) as stream:
            assert names_until_changed(stream, version) == []
