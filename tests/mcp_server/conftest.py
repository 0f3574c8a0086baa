"""A workspace, and its server over each transport: the real program, with the official client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_endpoints import McpEndpoint, over_http, over_stdio, served
from memory_env import MemoryEnv

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="fake")
    yield env
    env.close()


@pytest.fixture(params=["stdio", "http"])
def endpoint(request: pytest.FixtureRequest, env: MemoryEnv) -> Iterator[McpEndpoint]:
    if request.param == "stdio":
        yield over_stdio(env)
        return
    with served(env) as address:
        yield over_http(address, env)
