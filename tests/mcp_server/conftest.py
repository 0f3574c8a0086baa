"""A workspace, and its server over each transport: the real program, asked by the official client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from desk import MemoryEnv
from mcp_doors import Door, over_http, over_stdio, served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[MemoryEnv]:
    desk = MemoryEnv.at(tmp_path)
    desk.configure(provider="fake")
    yield desk
    desk.close()


@pytest.fixture(params=["stdio", "http"])
def door(request: pytest.FixtureRequest, desk: MemoryEnv) -> Iterator[Door]:
    if request.param == "stdio":
        yield over_stdio(desk)
        return
    with served(desk) as address:
        yield over_http(address, desk)
