"""An administrator who ends connections, drops what memoriter needs or changes a password; a server with no room."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import psycopg
import pytest

from faults import answered, found, health, refused
from memoriter.errors import IndexDamaged, IndexUnavailable
from memoriter.extensions.postgres import _connections, _nearest, _server
from memoriter.extensions.postgres.api import PostgresStore, ServerSettings
from memory_env import QUESTION, MemoryEnv
from server_faults import LEDGER, await_blocked, blocked, configure, real_memory, schema_of, thread

if TYPE_CHECKING:
    from collections.abc import Generator

    from breakable_postgres import BreakableServer

pytestmark = pytest.mark.slow
pytest_plugins = ["server_fault_fixtures"]

KETTLE = "# Kettle\n\nThe kettle is descaled on Fridays.\n"
ENDED = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name LIKE 'memoriter %'"
OURS = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'memoriter %'"


def spaces(server: BreakableServer, env: MemoryEnv) -> list[object]:
    return server.run(f'SELECT name, edition FROM "{schema_of(env)}".spaces ORDER BY name')


@pytest.mark.parametrize(("force", "table"), [(False, "chunks"), (True, "names"), (False, "vectors")])
def test_a_run_whose_connections_an_administrator_ends_is_finished_by_the_next_one(
    force: bool, table: str, env: MemoryEnv, server: BreakableServer
) -> None:
    memory = real_memory(env)
    memory.sync()
    env.write("memory/new.md", KETTLE)
    with blocked(server, env, table) as blocker, thread(lambda: memory.sync(force=force)) as indexing:
        await_blocked(server)
        server.run(ENDED)
        blocker.rollback()
        error = indexing.exception(timeout=60)  # a run that begins again may already be complete
        assert error is None or isinstance(error, IndexUnavailable)
    report = memory.sync()
    assert (report.files, report.pending, report.reasons) == (5, 0, ())
    assert memory.search("when is the kettle descaled").hits[0].path == "memory/new.md"
    assert server.run(f'SELECT count(*) FROM "{schema_of(env)}".editions') == [(1,)]


def test_a_copy_whose_connections_an_administrator_ends_goes_on_afterwards(
    env: MemoryEnv, server: BreakableServer
) -> None:
    place = {"dsn": server.dsn(), "schema": schema_of(env), "workspace": "team"}
    env.many(20)
    env.configure(provider="fake", store={"driver": "sqlite", "postgres": place})
    answered(env, "index")
    PostgresStore.open(ServerSettings(dsn=server.dsn(), schema=schema_of(env)), "x", clock=time.time).close()
    copying = ("store", "copy", "--to", "postgres", "--switch")
    with blocked(server, env, "vectors") as blocker, thread(lambda: refused(env, *copying)) as failing:
        await_blocked(server)
        server.run(ENDED)
        blocker.rollback()
        assert failing.result(timeout=60)["code"] == "index"
    answered(env, *copying)
    assert health(env) == {}
    assert found(env, QUESTION)[0] == LEDGER


def test_a_graph_whose_making_an_administrator_ends_is_made_by_the_next_run(
    env: MemoryEnv, server: BreakableServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"MOST_COMPARED": 3, "LARGE": 2, "MOST_TIME": 1e9}.items():
        monkeypatch.setattr(_nearest, name, value)
    env.many(20)
    memory = real_memory(env)
    graphs = (
        "SELECT indisvalid FROM pg_index JOIN pg_class ON oid = indexrelid WHERE relname LIKE 'graph\\_of\\_%'"
        f" AND relnamespace = '\"{schema_of(env)}\"'::regnamespace"
    )
    PostgresStore.open(ServerSettings(dsn=server.dsn(), schema=schema_of(env)), "team/main", clock=time.time).close()
    with psycopg.connect(server.dsn()) as writing, thread(memory.sync) as indexing:
        writing.execute(f'LOCK TABLE "{schema_of(env)}".vectors_of_1 IN ROW EXCLUSIVE MODE'.encode())
        await_blocked(server)
        assert server.run(graphs) == [(False,)]
        server.run(ENDED)
        writing.rollback()
        error = indexing.exception(timeout=60)
        assert error is None or isinstance(error, IndexUnavailable)
    assert memory.sync().pending == 0
    assert server.run(graphs) == [(True,)]
    assert memory.search(QUESTION).hits[0].path == LEDGER


def test_vectors_that_a_server_does_not_keep_are_not_computed_without_an_end(
    env: MemoryEnv, server: BreakableServer
) -> None:
    memory = real_memory(env)
    memory.sync()
    schema = schema_of(env)
    server.run(
        f'CREATE FUNCTION "{schema}".nothing() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$',
        f'CREATE TRIGGER keep BEFORE INSERT ON "{schema}".vectors_of_1 FOR EACH ROW'
        f' EXECUTE FUNCTION "{schema}".nothing()',
    )
    env.write("memory/new.md", KETTLE)
    with pytest.raises(IndexUnavailable, match="does not keep vectors: they were stored 3 times"):
        memory.sync()
    assert memory.search("when is the kettle descaled").hits[0].path == "memory/new.md"
    server.run(f'DROP TRIGGER keep ON "{schema}".vectors_of_1')
    assert memory.sync().pending == 0


def test_an_extension_that_was_dropped_is_made_again_with_the_vectors(env: MemoryEnv, server: BreakableServer) -> None:
    memory = real_memory(env)
    memory.sync()
    try:
        server.run("DROP EXTENSION vector CASCADE")
        for _ in range(2):
            answer = memory.search(QUESTION)
            assert (answer.hits[0].path, answer.mode) == (LEDGER, "hybrid")
        report = memory.sync()
        assert (report.pending, report.failed) == (0, 0)
        assert memory.status(deep=True).health.legs == {"keyword": True, "vector": True}
    finally:
        server.run("CREATE EXTENSION IF NOT EXISTS vector")


def test_tables_with_columns_that_are_not_known_are_left_as_they_are(env: MemoryEnv, server: BreakableServer) -> None:
    memory = real_memory(env)
    memory.sync()
    server.run(f'ALTER TABLE "{schema_of(env)}".chunks RENAME COLUMN heading TO title')
    before = spaces(server, env)
    with pytest.raises(IndexDamaged, match="has no column 'heading'") as raised:
        memory.search(QUESTION)
    assert "name another schema" in raised.value.remedy
    assert refused(env, "search", QUESTION)["code"] == "index_damaged"
    assert spaces(server, env) == before
    server.run(f'ALTER TABLE "{schema_of(env)}".chunks RENAME COLUMN title TO heading')
    assert memory.search(QUESTION).hits[0].path == LEDGER


def test_a_password_that_changed_is_reported_and_the_new_one_works(env: MemoryEnv, server: BreakableServer) -> None:
    server.run("CREATE ROLE keeper LOGIN PASSWORD 'first' SUPERUSER")
    try:
        address = f"127.0.0.1:{server.port}/postgres"
        configure(env, server, dsn=f"postgresql://keeper:first@{address}")
        answered(env, "index")
        server.run("ALTER ROLE keeper PASSWORD 'second'")
        error = refused(env, "search", QUESTION)
        assert "password authentication failed" in error["message"]
        assert "the password" in error["remedy"]
        configure(env, server, dsn=f"postgresql://keeper:second@{address}")
        assert found(env, QUESTION)[0] == LEDGER
    finally:
        server.run("DROP OWNED BY keeper CASCADE", "DROP ROLE keeper")


def test_a_server_whose_connections_others_use_is_reported_and_answers_once_one_is_free(
    env: MemoryEnv, server: BreakableServer
) -> None:
    server.run("CREATE ROLE crowded LOGIN IN ROLE passwordless", "GRANT CREATE ON DATABASE postgres TO crowded")
    try:
        configure(env, server, dsn=server.dsn("crowded"))
        answered(env, "index")
        with ExitStack() as others:
            while True:
                try:
                    others.enter_context(psycopg.connect(server.dsn("crowded")))
                except psycopg.OperationalError:
                    break
            error = refused(env, "search", QUESTION)
            assert "connection" in error["message"]
            assert "max_connections" in error["remedy"]
            assert refused(env, "index")["code"] == "index"
        assert found(env, QUESTION)[0] == LEDGER
    finally:
        server.run("DROP OWNED BY crowded CASCADE", "DROP ROLE crowded")


def test_a_search_waits_for_a_server_that_recovers_from_a_crash(
    env: MemoryEnv, server: BreakableServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_server, "CONNECT_SECONDS", 30)
    memory = real_memory(env)
    memory.sync()
    with psycopg.connect(server.dsn()) as held, psycopg.connect(server.dsn()) as killed:
        processes = held.info.backend_pid, killed.info.backend_pid
        os.kill(processes[0], signal.SIGSTOP)  # a process that does not end delays the recovery
        os.kill(processes[1], signal.SIGKILL)
        log = server.folder / "log"
        with thread(lambda: memory.search(QUESTION, deadline_ms=40_000)) as searching:
            for _ in range(100):
                if "in recovery mode" in log.read_text():
                    break
                time.sleep(0.05)
            os.kill(processes[0], signal.SIGKILL)
            assert searching.result(timeout=60).hits[0].path == LEDGER
    assert "in recovery mode" in log.read_text()


@contextmanager
def stopped_while_it_writes(env: MemoryEnv, server: BreakableServer) -> Generator[None]:
    """A process that is stopped (SIGSTOP) within a transaction of `index`."""
    with blocked(server, env, "names") as blocker:
        process = subprocess.Popen(
            env.command("-w", str(env.notes), "index", before=SOON), env=env.environment(), cwd=env.notes
        )
        await_blocked(server)
        process.send_signal(signal.SIGSTOP)
        blocker.rollback()
        try:
            yield
        finally:
            process.kill()
            process.wait()


SOON = (
    "from memoriter.extensions.postgres import _connections\n"
    "_connections.SESSION['idle_in_transaction_session_timeout'] = '2000'"
)


def test_the_transaction_of_a_process_that_is_stopped_is_ended_by_the_server(
    env: MemoryEnv, server: BreakableServer
) -> None:
    assert _connections.SESSION["idle_in_transaction_session_timeout"] == "60000"
    answered(env, "index")
    env.write("memory/new.md", KETTLE)
    writing = f"{OURS} AND xact_start IS NOT NULL AND state <> 'active'"
    with stopped_while_it_writes(env, server):
        for _ in range(600):
            if server.run(writing) == [(0,)] and "idle-in-transaction timeout" in (server.folder / "log").read_text():
                break
            time.sleep(0.05)
        assert "idle-in-transaction timeout" in (server.folder / "log").read_text()
        assert found(env, QUESTION)[0] == LEDGER
    assert answered(env, "index")["pending"] == 0
    assert found(env, "when is the kettle descaled")[0] == "memory/new.md"


def test_a_host_that_indexes_is_named_to_the_others_which_search_meanwhile(
    env: MemoryEnv, server: BreakableServer
) -> None:
    answered(env, "index")
    store = PostgresStore.open(ServerSettings(dsn=server.dsn(), schema=schema_of(env)), "team/main", clock=time.time)
    try:
        with store.lease():
            env.write("memory/new.md", KETTLE)
            answer = answered(env, "search", QUESTION)
            assert answer["results"][0]["path"] == LEDGER
            (busy,) = [reason for reason in answer["health"]["reasons"] if reason["code"] == "index_busy"]
            assert f" {os.uname().nodename} {os.getpid()}" in busy["message"]
    finally:
        store.close()
