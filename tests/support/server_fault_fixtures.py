"""The fixtures of tests that break a PostgreSQL server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from breakable_postgres import BreakableServer, new_server
from memory_env import MemoryEnv
from server_faults import configure, schema_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def server() -> Iterator[BreakableServer]:
    server = new_server()
    server.run("CREATE EXTENSION vector")
    yield server
    server.remove()


@pytest.fixture
def env(tmp_path: Path, server: BreakableServer) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    configure(env, server)
    yield env
    env.close()
    server.run(f'DROP SCHEMA IF EXISTS "{schema_of(env)}" CASCADE')
