"""What can happen to a PostgreSQL server that has the index: each failure gives a reason in time, and passes."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from breakable_postgres import BreakableServer, new_server
from faults import answered, fill, found, refused, run, small_disk
from memoriter.environment import Deadline, work_until
from memoriter.errors import IndexBusy, IndexUnavailable
from memoriter.extensions.postgres._server import Server
from memoriter.extensions.postgres.api import PostgresStore, ServerSettings
from memory_env import QUESTION, MemoryEnv
from server_faults import LEDGER, await_blocked, blocked, configure, real_memory, schema_of, thread

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    Pair = tuple[MemoryEnv, BreakableServer, BreakableServer]

pytestmark = pytest.mark.slow
pytest_plugins = ["server_fault_fixtures"]


def test_without_its_server_every_door_gives_the_reason_and_works_again_when_it_is_back(
    env: MemoryEnv, server: BreakableServer
) -> None:
    memory = real_memory(env)
    assert memory.search(QUESTION).hits[0].path == LEDGER
    server.stop()
    try:
        with pytest.raises(IndexUnavailable, match="does not answer") as raised:
            memory.search(QUESTION)
        assert raised.value.remedy
        error = refused(env, "search", QUESTION)
        assert (error["code"], "Connection refused" in error["message"]) == ("index", True)
        refused(env, "index")
        answered(env, "remember", "The coffee machine needs descaling.")
    finally:
        server.start()
    assert memory.search(QUESTION).hits[0].path == LEDGER
    assert found(env, "what does the coffee machine need")[0].startswith("memory/")


def test_a_hook_stays_quiet_without_its_server(env: MemoryEnv, server: BreakableServer) -> None:
    env.trust()
    answered(env, "index")
    server.stop()
    try:
        prompt = {"hook_event_name": "UserPromptSubmit", "prompt": QUESTION, "cwd": str(env.notes), "session_id": "s"}
        done = env.run("hook", "claude-code", "prompt", typed=json.dumps(prompt))
    finally:
        server.start()
    assert done.exit_code == 0
    assert "Traceback" not in done.err


def test_a_search_on_a_server_that_hangs_ends_at_its_deadline_with_the_reason(
    env: MemoryEnv, server: BreakableServer
) -> None:
    memory = real_memory(env)
    memory.sync()
    with blocked(server, env), thread(lambda: memory.search(QUESTION, deadline_ms=4_000)) as searching:
        await_blocked(server)
        with server.frozen():
            error = searching.exception(timeout=30)
    assert isinstance(error, IndexUnavailable)
    assert "did not answer within" in error.message
    assert memory.search(QUESTION).hits[0].path == LEDGER


def test_a_search_of_an_open_memory_on_a_server_that_hangs_ends_at_its_deadline(
    env: MemoryEnv, server: BreakableServer
) -> None:
    memory = real_memory(env)
    memory.sync()
    began = time.monotonic()
    with server.frozen(), pytest.raises(IndexUnavailable) as refused:
        memory.search(QUESTION, deadline_ms=2_000)
    assert time.monotonic() - began < 3.5
    assert refused.value.message.endswith("did not answer within the time of the search.")
    assert memory.search(QUESTION).hits[0].path == LEDGER


def test_all_statements_of_a_search_share_the_second_after_its_deadline(server: BreakableServer) -> None:
    store = PostgresStore.open(ServerSettings(dsn=server.dsn(), schema="late"), "late", clock=lambda: 0.0)
    with server.frozen(), work_until(Deadline.within(1_500, time.monotonic)):
        began = time.monotonic()
        for _ in range(4):
            with pytest.raises(IndexUnavailable):
                store.files()
            with pytest.raises(IndexUnavailable), store.lease():
                pass
    assert time.monotonic() - began < 4.0
    store.close()
    server.run("DROP SCHEMA late CASCADE")


def test_a_search_in_whose_middle_the_server_is_killed_gives_the_reason(
    env: MemoryEnv, server: BreakableServer
) -> None:
    memory = real_memory(env)
    memory.sync()
    with blocked(server, env), thread(lambda: memory.search(QUESTION)) as searching:
        await_blocked(server)
        server.kill()
    server.start()
    assert isinstance(searching.exception(), IndexUnavailable)
    assert memory.search(QUESTION).hits[0].path == LEDGER


def test_a_run_in_whose_middle_the_server_is_killed_goes_on_afterwards(env: MemoryEnv, server: BreakableServer) -> None:
    memory = real_memory(env)
    memory.sync()
    env.write("memory/new.md", "# Kettle\n\nThe kettle is descaled on Fridays.\n")
    with blocked(server, env), thread(memory.sync) as indexing:
        await_blocked(server)
        server.kill()
    server.start()
    assert isinstance(indexing.exception(), IndexUnavailable)
    report = memory.sync()
    assert (report.added, report.pending) == (1, 0)
    assert memory.search("when is the kettle descaled").hits[0].path == "memory/new.md"


def test_a_run_survives_a_restart_that_its_server_is_asked_for(env: MemoryEnv, server: BreakableServer) -> None:
    memory = real_memory(env)
    memory.sync()
    server.restart()
    env.write("memory/new.md", "# Kettle\n\nThe kettle is descaled on Fridays.\n")
    assert memory.sync().added == 1


def test_a_full_pool_is_reported_as_busy(server: BreakableServer) -> None:
    full = Server(ServerSettings(dsn=server.dsn(), pool_size=2))
    with ExitStack() as lent:
        for _ in range(2):
            lent.enter_context(full.connection())
        with pytest.raises(IndexBusy, match="All 2 connections") as raised, full.connection():
            pass
    assert "poolSize" in raised.value.remedy
    with full.connection() as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    full.close()


def test_a_statement_beyond_its_time_is_cancelled_and_named(env: MemoryEnv, server: BreakableServer) -> None:
    answered(env, "index")
    configure(env, server, statementTimeoutMs=300)
    with blocked(server, env):
        error = refused(env, "search", QUESTION)
    assert "took longer than 0.3 s" in error["message"]
    assert "statementTimeoutMs" in error["remedy"]
    assert found(env, QUESTION)[0] == LEDGER


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """Give a memory whose address names two servers, a primary one and its replica."""
    primary = new_server()
    env = MemoryEnv.at(tmp_path)
    replica = None
    try:
        replica = primary.replica()
        hosts = f"127.0.0.1:{primary.port},127.0.0.1:{replica.port}"
        configure(env, primary, dsn=f"postgresql://postgres@{hosts}/postgres?target_session_attrs=read-write")
        yield env, primary, replica
    finally:
        env.close()
        primary.remove()
        if replica is not None:
            replica.remove()


def test_after_a_failover_searches_and_writes_go_to_the_new_primary(pair: Pair) -> None:
    env, primary, replica = pair
    memory = real_memory(env)
    assert memory.search(QUESTION).hits[0].path == LEDGER
    replica.caught_up(primary)
    primary.kill()
    with pytest.raises(IndexUnavailable):
        memory.search(QUESTION)
    replica.promote()
    assert memory.search(QUESTION).hits[0].path == LEDGER
    env.write("memory/new.md", "# Kettle\n\nThe kettle is descaled on Fridays.\n")
    assert memory.search("when is the kettle descaled").hits[0].path == "memory/new.md"


def test_what_a_server_that_took_over_lacks_is_indexed_again(pair: Pair) -> None:
    env, primary, replica = pair
    memory = real_memory(env)
    memory.sync()
    replica.caught_up(primary)
    replica.stop()
    env.write("memory/new.md", "# Kettle\n\nThe kettle is descaled on Fridays.\n")
    assert memory.search("when is the kettle descaled").hits[0].path == "memory/new.md"
    primary.kill()
    replica.start()
    replica.promote()
    assert replica.run(f'SELECT count(*) FROM "{schema_of(env)}".files') == [(4,)]
    assert memory.search("when is the kettle descaled").hits[0].path == "memory/new.md"


def test_on_a_full_disk_searches_answer_and_indexing_goes_on_once_there_is_room(
    env: MemoryEnv, server: BreakableServer
) -> None:
    folder = server.folder / "disk"
    folder.mkdir()
    with small_disk(folder, "16m"):
        if server.user is not None:
            subprocess.run(["chown", server.user, str(folder)], check=True)
        server.run(
            f"CREATE TABLESPACE small LOCATION '{folder}'",
            "CREATE DATABASE small",
            "ALTER DATABASE small SET default_tablespace = small",
        )
        try:
            configure(env, server, dsn=server.dsn(database="small"))
            answered(env, "index")
            for number in range(20):
                lines = "".join(f"Label {number}x{place} is on the box of the archive.\n" for place in range(20))
                env.write(f"memory/archive/{number:02}.md", f"# Archive {number}\n\n{lines}")
            filler = fill(folder)
            error = refused(env, "index")
            assert (error["code"], "disk" in error["message"]) == ("index", True), error
            assert found(env, QUESTION)[0] == LEDGER
            filler.unlink()
            report = answered(env, "index")
            assert report["pending"] == 0
            assert found(env, "label 19x10")[0] == "memory/archive/19.md"
        finally:
            server.run("DROP DATABASE small WITH (FORCE)", "DROP TABLESPACE small")


def test_a_schema_of_a_newer_memoriter_is_left_alone(env: MemoryEnv, server: BreakableServer) -> None:
    answered(env, "index")
    server.run(f'UPDATE "{schema_of(env)}".schema_version SET version = 999')
    error = refused(env, "search", QUESTION)
    assert "version 999" in error["message"]
    assert "Update memoriter" in error["remedy"]
    assert server.run(f'SELECT version FROM "{schema_of(env)}".schema_version') == [(999,)]


def test_tables_that_were_dropped_are_made_again_while_a_memory_is_open(
    env: MemoryEnv, server: BreakableServer
) -> None:
    memory = real_memory(env)
    memory.sync()
    for lost in ("TABLE {}.files", "SCHEMA {}"):
        server.run(f"DROP {lost.format(chr(34) + schema_of(env) + chr(34))} CASCADE")
        answer = memory.search(QUESTION)
        assert answer.hits[0].path == LEDGER
        assert "index_quarantined" in [reason.code for reason in answer.health.reasons]


# processes that end in the middle


def started(env: MemoryEnv, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        env.command("-w", str(env.notes), *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env.environment(),
        cwd=env.notes,
        text=True,
    )


def editions(server: BreakableServer, env: MemoryEnv) -> int:
    ((count,),) = server.run(f'SELECT count(*) FROM "{schema_of(env)}".editions')
    return int(count)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_rebuild_that_ends_in_the_middle_leaves_no_lock_and_its_leftovers_are_removed(
    number: signal.Signals, env: MemoryEnv, server: BreakableServer
) -> None:
    env.many(20)
    answered(env, "index")
    env.write("memory/many/extra.md", "# Extra\n\nThe kettle is descaled on Fridays.\n")
    with blocked(server, env, "names") as blocker, started(env, "index", "--force") as process:
        await_blocked(server)
        process.send_signal(number)
        if number is signal.SIGKILL:
            process.wait(30)
        else:
            time.sleep(0.2)
        blocker.rollback()
        _, problems = process.communicate(timeout=30)
    assert process.returncode != 0
    assert "Traceback" not in problems
    for _ in range(100):  # a session that waited for the lock ends once the server sees that its client has gone
        if server.run("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == [(0,)]:
            break
        time.sleep(0.1)
    assert server.run("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == [(0,)]
    assert found(env, QUESTION)[0] == LEDGER
    report = answered(env, "index")
    assert report["pending"] == 0
    assert editions(server, env) == 1
    assert found(env, "when is the kettle descaled")[0] == "memory/many/extra.md"


def test_a_forked_process_uses_connections_of_its_own(env: MemoryEnv) -> None:
    answered(env, "index")
    program = f"""
import os
from memoriter import Memory
with Memory.open({str(env.notes)!r}) as memory:
    first = memory.search({QUESTION!r}).hits[0].path
    if (child := os.fork()) == 0:
        os._exit(0 if memory.search({QUESTION!r}).hits[0].path == first else 9)
    assert os.waitpid(child, 0)[1] == 0
    assert memory.search({QUESTION!r}).hits[0].path == first
    assert memory.sync().files == 4
"""
    done = subprocess.run(
        env.command("--version", before=program), capture_output=True, text=True, env=env.environment(), timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_status_and_doctor_give_the_reason_without_their_server(env: MemoryEnv, server: BreakableServer) -> None:
    answered(env, "index")
    server.stop()
    try:
        for words in (("status",), ("doctor",)):
            done = run(env, *words)
            assert "Traceback" not in done.err
            assert "does not answer" in done.out + done.err
    finally:
        server.start()


def test_a_process_that_lost_its_right_to_index_writes_nothing_once_another_one_has_it(
    env: MemoryEnv, server: BreakableServer
) -> None:
    settings = ServerSettings(dsn=server.dsn(), schema=schema_of(env))
    first, second = (PostgresStore.open(settings, "team/main", clock=time.time) for _ in range(2))
    try:
        with first.lease():
            first.set_meta("written by", "first")
            server.run(  # as when the host of the first one loses its network
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory'"
            )
            first.set_meta("written by", "first again")
            with second.lease(wait=10):
                second.set_meta("written by", "second")
            with pytest.raises(IndexBusy, match="took the right to index"):
                first.set_meta("written by", "first, too late")
        assert first.get_meta("written by") == "second"
    finally:
        first.close()
        second.close()
