"""Processes that learn from the server that another one has indexed."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest

from breakable_postgres import BreakableServer, new_server
from followed_changes import PATIENCE_SECONDS, followed
from memoriter.extensions.postgres._schema import quoted
from memoriter.extensions.postgres.api import PostgresStore, ServerSettings
from memoriter.ids import vector_key
from memoriter.records import ChunkRecord
from memoriter.types import Chunk, Source
from memory_env import MemoryEnv
from server_faults import real_memory, schema_of
from watched_workspace import until

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter import Memory

pytestmark = pytest.mark.slow
pytest_plugins = ["server_fault_fixtures"]


@pytest.fixture(autouse=True)
def no_slow_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing but a notification wake up a process that listens."""
    monkeypatch.setattr("memoriter.extensions.postgres._changes.RECHECK_SECONDS", 3_600.0)


def configure(env: MemoryEnv, server: BreakableServer, schema: str = "") -> None:
    """Let a memory have words only, on a server."""
    place = {"dsn": server.dsn(), "schema": schema or schema_of(env), "workspace": "team"}
    env.configure(provider="none", store={"driver": "postgres", "postgres": place})


@pytest.fixture
def words(env: MemoryEnv, server: BreakableServer) -> MemoryEnv:
    configure(env, server)
    return env


def index(env: MemoryEnv, memory: Memory, name: str) -> str:
    """Write a note, index it, and return the name of the content."""
    env.write(f"memory/{name}.md", f"# {name}\n\nA note about {name}.\n")
    assert memory.sync().added == 1
    return memory.backend.content_version()


def listeners(server: BreakableServer) -> list[int]:
    """The processes of the server whose clients follow changes."""
    statement = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'SELECT pg_is_in_recovery(), %' ORDER BY pid"
    return [pid for (pid,) in server.run(statement)]


def put(store: PostgresStore, folder: Path, *names: str) -> None:
    with store.lease():
        for name in names:
            chunk = Chunk(1, 1, f"a secret about {name}")
            record = ChunkRecord(chunk, vector_key(chunk), name, 1, b"", 1)
            store.put_file(Source(f"{name}.md", "memory", folder / f"{name}.md", 1, 0), "hash", [record])


def test_a_process_that_reads_nothing_is_woken_up_by_another_one_and_by_a_rebuild(words: MemoryEnv) -> None:
    writer = real_memory(words)
    reader = real_memory(words)
    writer.sync()
    with followed(reader.backend) as names:
        names.until(index(words, writer, "kettle"))
        writer.sync(force=True)
        names.until(writer.backend.content_version())
        names.until(index(words, writer, "teapot"))
    assert reader.backend.content_version() == writer.backend.content_version()


def test_one_notification_is_sent_for_a_whole_run_and_it_contains_numbers_only(
    env: MemoryEnv, server: BreakableServer, tmp_path: Path
) -> None:
    settings = ServerSettings(dsn=server.dsn(), schema=schema_of(env))
    with (
        psycopg.connect(server.dsn(), autocommit=True) as listening,
        closing(PostgresStore.open(settings, "a/main", clock=time.time)) as store,
        closing(PostgresStore.open(settings, "b/main", clock=time.time)) as other,
    ):
        listening.execute(f"LISTEN {quoted(schema_of(env))}".encode())
        put(store, tmp_path, "kettle", "teapot", "cup")
        put(other, tmp_path, "kettle")
        with store.lease():
            store.set_meta("nothing that is searched", "1")
        put(store, tmp_path, "spoon")
        received = [each.payload for each in listening.notifies(timeout=PATIENCE_SECONDS, stop_after=3)]
        spaces = dict(server.run(f"SELECT name, id FROM {quoted(schema_of(env))}.spaces"))
        assert received[0].endswith("-3")
        assert received[1] == f"{spaces['b/main']} {other.content_version()}"
        assert received[2] == f"{spaces['a/main']} {store.content_version()}"


def test_a_listener_hears_again_after_the_server_started_anew_or_ended_its_connection(
    words: MemoryEnv, server: BreakableServer
) -> None:
    writer = real_memory(words)
    reader = real_memory(words)
    writer.sync()
    with followed(reader.backend) as names:
        names.until(index(words, writer, "kettle"))
        server.restart()
        names.until(index(words, writer, "teapot"))
        names.until(index(words, writer, "cup"))
        until(lambda: len(listeners(server)) == 1)
        (listener,) = listeners(server)
        server.run(f"SELECT pg_terminate_backend({listener}, 5000)")
        names.until(index(words, writer, "spoon"))
        names.until(index(words, writer, "fork"))
    until(lambda: not listeners(server))  # the server ends the process of a closed connection a little later


def test_on_a_replica_changes_are_noticed_and_after_it_took_over_they_are_heard(tmp_path: Path) -> None:
    primary = new_server()
    env = MemoryEnv.at(tmp_path / "writer")
    replica = None
    try:
        replica = primary.replica()
        other = MemoryEnv.at(tmp_path / "reader")
        configure(env, primary)
        configure(other, replica, schema_of(env))
        writer = real_memory(env)
        writer.sync()
        replica.caught_up(primary)
        with followed(real_memory(other).backend) as names:
            names.until(index(env, writer, "kettle"))
            assert replica.run("SELECT * FROM pg_stat_activity WHERE query LIKE 'LISTEN%'") == []
            replica.caught_up(primary)
            primary.kill()
            replica.promote()
            configure(env, replica)
            promoted = real_memory(env)
            names.until(index(env, promoted, "teapot"))
            names.until(index(env, promoted, "cup"))
    finally:
        env.close()
        primary.remove()
        if replica is not None:
            other.close()
            replica.remove()
