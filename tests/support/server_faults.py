"""Memories on a PostgreSQL server that tests break, and statements that wait for sure."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from memoriter import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from concurrent.futures import Future

    from breakable_postgres import BreakableServer
    from memory_env import MemoryEnv

LEDGER = "MEMORY.md"
"""The note that answers the question of the environment."""


def schema_of(env: MemoryEnv) -> str:
    return f"faults of {env.home.parent.name}"[-60:]


def configure(env: MemoryEnv, server: BreakableServer, **more: Any) -> None:
    place = {"dsn": server.dsn(), "schema": schema_of(env), "workspace": "team", **more}
    env.configure(provider="fake", store={"driver": "postgres", "postgres": place})


def real_memory(env: MemoryEnv) -> Memory:
    """A memory with real clocks."""
    memory = Memory.open(env.notes, home=env.home)
    env.opened.append(memory)
    return memory


@contextmanager
def blocked(server: BreakableServer, env: MemoryEnv, table: str = "chunks") -> Generator[psycopg.Connection[Any]]:
    """Let every statement on a table wait, so that an operation is in the middle of it for sure."""
    with closing(psycopg.connect(server.dsn())) as connection:
        connection.execute(f'LOCK TABLE "{schema_of(env)}".{table} IN ACCESS EXCLUSIVE MODE'.encode())
        yield connection


def await_blocked(server: BreakableServer, count: int = 1) -> None:
    """Wait until so many statements wait for a lock."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    for _ in range(600):
        if server.run(waiting)[0][0] >= count:
            return
        time.sleep(0.05)
    pytest.fail("no statement waits")


@contextmanager
def thread(act: Callable[[], Any]) -> Generator[Future[Any]]:
    """Run something in a thread, which ends before the block does."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(act)
        yield running
        wait([running], timeout=150)
