"""A client of the HTTP API of a server that runs, and the one-time link that the server printed."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx2

from mcp_endpoints import bearer
from serving import LIMIT, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from memory_env import MemoryEnv
    from serving import Serving

BASE = "/api/v1"


class ApiClient:
    """Requests of one caller, over real connections."""

    def __init__(self, url: str, token: str | None) -> None:
        self.http = httpx2.Client(base_url=url, headers=bearer(token) if token else {}, timeout=LIMIT)

    def get(self, path: str, /, **parameters: Any) -> httpx2.Response:
        return self.http.get(f"{BASE}{path}", params=parameters)

    def post(self, path: str, /, **body: Any) -> httpx2.Response:
        return self.http.post(f"{BASE}{path}", json=body)

    def close(self) -> None:
        self.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def token_of_scope(env: MemoryEnv, name: str, scope: str, *words: str) -> str:
    """A new token of a client, which the program makes."""
    outcome = env.run("token", "create", name, "--scope", scope, *words)
    assert outcome.exit_code == 0, outcome
    return outcome.out.strip()


@contextmanager
def api_of(env: MemoryEnv, *words: str) -> Iterator[tuple[Serving, ApiClient]]:
    """A server, and its owner as a client."""
    with serving(env, *words) as server, ApiClient(server.url, server.token) as client:
        yield server, client
