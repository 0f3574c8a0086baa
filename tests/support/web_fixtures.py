"""One server for the tests of a file that do not change what the others see."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from memory_env import MemoryEnv
from web_client import ApiClient, api_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from serving import Serving


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> MemoryEnv:
    env = MemoryEnv.at(tmp_path_factory.mktemp("web"))
    env.configure(provider="none")
    return env


@pytest.fixture(scope="module")
def served(env: MemoryEnv) -> Iterator[tuple[Serving, ApiClient]]:
    with api_of(env, "--no-watch") as pair:
        yield pair


@pytest.fixture
def client(server: Serving) -> Iterator[Callable[[str | None], ApiClient]]:
    """Further clients of the server, each with a token or without."""
    with ExitStack() as open_clients:
        yield lambda token: open_clients.enter_context(ApiClient(server.url, token))


@pytest.fixture
def server(served: tuple[Serving, ApiClient]) -> Serving:
    return served[0]


@pytest.fixture
def owner(served: tuple[Serving, ApiClient]) -> ApiClient:
    return served[1]
