"""Runs that compute vectors while others rebuild the index or keep the right to write: each text is sent once."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from memoriter.extensions.postgres import _rights, _vectors
from memory_env import MemoryEnv, compatible
from server_faults import real_memory, schema_of, thread
from servers.compatible import CompatibleServer

if TYPE_CHECKING:
    from breakable_postgres import BreakableServer

pytestmark = pytest.mark.slow
pytest_plugins = ["server_fault_fixtures"]

KETTLE = "# Kettle\n\nThe kettle is descaled on Fridays.\n"


def store_of(env: MemoryEnv, server: BreakableServer) -> dict[str, Any]:
    place = {"dsn": server.dsn(), "schema": schema_of(env), "workspace": "team"}
    return {"driver": "postgres", "postgres": place}


def test_a_run_goes_on_in_the_content_of_a_rebuild_that_replaces_what_it_reads(
    env: MemoryEnv, server: BreakableServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = real_memory(env)
    memory.sync()
    env.write("memory/new.md", KETTLE)
    env.configure(provider="none", store=store_of(env, server))
    other = real_memory(env)
    missing = _vectors.missing
    rebuilt = list[int]()

    def missing_after_a_rebuild(*arguments: Any) -> list[tuple[bytes, str]]:
        if not rebuilt:
            rebuilt.append(other.sync(force=True).files)
        return missing(*arguments)

    monkeypatch.setattr(_vectors, "missing", missing_after_a_rebuild)
    report = memory.sync()
    assert rebuilt == [5]
    assert (report.pending, report.embedded) == (0, 1)


def test_a_run_for_which_nobody_waits_keeps_its_vectors_on_a_slow_server(
    env: MemoryEnv, server: BreakableServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_rights, "STORING_MILLISECONDS", 100)
    slow = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND now() - query_start > '1.5 s'"
    with CompatibleServer() as service:
        env.configure(store=store_of(env, server), query={"scoring": "rrf"}, **compatible(service))
        memory = real_memory(env)
        memory.sync()
        env.write("memory/new.md", KETTLE)
        with psycopg.connect(server.dsn()) as other, thread(memory.sync) as indexing:
            other.execute(f'LOCK TABLE "{schema_of(env)}".failures IN SHARE MODE'.encode())  # lets others read
            for _ in range(600):
                if indexing.done() or server.run(slow) == [(1,)]:
                    break
                time.sleep(0.05)
            other.rollback()
            report = indexing.result(timeout=60)
        assert (report.pending, report.embedded) == (0, 1)
        assert max(Counter(service.documents).values()) == 1
