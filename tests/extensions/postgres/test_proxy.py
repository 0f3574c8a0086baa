"""A memory behind PgBouncer, a proxy that lends the sessions of a server to its clients."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

import psycopg
import pytest

from breakable_postgres import BreakableServer, free_port
from followed_changes import followed
from memoriter import Memory
from memoriter.errors import IndexBusy, IndexUnavailable
from memoriter.extensions.postgres.api import PostgresStore, ServerSettings
from memory_env import QUESTION, MemoryEnv
from server_faults import LEDGER, real_memory, schema_of

if TYPE_CHECKING:
    from collections.abc import Generator

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="PgBouncer is not installed: it is the Debian package `pgbouncer`"),
]
pytest_plugins = ["server_fault_fixtures"]


@contextmanager
def bouncer(server: BreakableServer, mode: str) -> Generator[str]:
    """Run the proxy before a server, and yield its address."""
    port = free_port()
    folder = server.folder / f"proxy-{mode}"
    folder.mkdir()
    (folder / "users").write_text('"postgres" ""\n')
    (folder / "settings").write_text(
        f"[databases]\npostgres = host=127.0.0.1 port={server.port}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\npool_mode = {mode}\n"
        f"auth_type = trust\nauth_file = {folder}/users\n"
    )
    with subprocess.Popen(
        [str(PROGRAM), "--quiet", str(folder / "settings")], user=server.user, stderr=subprocess.DEVNULL
    ) as running:
        try:
            dsn = f"postgresql://postgres@127.0.0.1:{port}/postgres"
            for _ in range(600):
                with suppress(psycopg.OperationalError):
                    psycopg.connect(dsn).close()
                    break
                time.sleep(0.05)
            yield dsn
        finally:
            running.terminate()


def configure(env: MemoryEnv, dsn: str) -> None:
    place = {"dsn": dsn, "schema": schema_of(env), "workspace": "team"}
    env.configure(provider="none", store={"driver": "postgres", "postgres": place})


def test_with_pooled_sessions_a_memory_works_with_its_rights_and_notifications(
    env: MemoryEnv, server: BreakableServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoriter.extensions.postgres._changes.RECHECK_SECONDS", 3_600.0)
    with bouncer(server, "session") as dsn:
        configure(env, dsn)
        writer = real_memory(env)
        reader = real_memory(env)
        writer.sync()
        assert reader.search(QUESTION).hits[0].path == LEDGER
        with followed(reader.backend) as names:
            writer.sync(force=True)
            names.until(writer.backend.content_version())
        settings = ServerSettings(dsn=dsn, schema=schema_of(env))
        first, second = (PostgresStore.open(settings, "team/main", clock=time.time) for _ in range(2))
        with closing(first), closing(second), first.lease(), pytest.raises(IndexBusy), second.lease():
            pass
        for memory in (writer, reader):
            memory.close()


@pytest.mark.parametrize("mode", ["transaction", "statement"])
def test_sessions_that_are_shared_are_refused_before_anything_is_read_or_written(
    env: MemoryEnv, server: BreakableServer, mode: str
) -> None:
    with bouncer(server, mode) as dsn:
        configure(env, dsn)
        with Memory.open(env.notes, home=env.home) as memory:
            for act in (memory.sync, lambda: memory.search(QUESTION)):
                with pytest.raises(IndexUnavailable, match="lets connections share sessions") as refused:
                    act()
                assert "pool_mode = session" in refused.value.remedy
        done = env.run("doctor")
        assert (done.exit_code, "lets connections share sessions" in done.out) == (1, True)
    assert server.run(f"SELECT to_regnamespace('\"{schema_of(env)}\"')") == [(None,)]
