"""What a supervisor is told about a memory: by the routes of the server, without a process and a port."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from starlette.applications import Starlette

from memoriter.monitoring import ServerMetrics, with_monitoring
from memory_env import MemoryEnv

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoriter import Memory


def probe(memory: Memory, path: str) -> tuple[int, Any]:
    """The status and the JSON that somebody without a token gets."""

    async def run(act: Callable[[Memory], Any], **_: Any) -> Any:
        return act(memory)

    async def ask() -> httpx2.Response:
        routes, _ = with_monitoring(lambda _: ([], []), ServerMetrics())(run)
        transport = httpx2.ASGITransport(Starlette(routes=routes))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get(path)

    response = asyncio.run(ask())
    return response.status_code, response.json()


@pytest.mark.parametrize(
    ("provider", "path", "expected"),
    [
        ("none", "/readyz", (200, {"ready": True})),
        ("openai", "/readyz", (503, {"ready": False, "code": "provider_unavailable"})),
        ("openai", "/readyz?exclude=vector%20search", (200, {"ready": True})),
        ("openai", "/healthz", (200, {"status": "ok"})),
    ],
)
def test_a_server_is_ready_when_each_part_works_that_is_not_excluded(
    tmp_path: Path, provider: str, path: str, expected: tuple[int, Any]
) -> None:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider=provider)  # openai has no key
    try:
        assert probe(env.open(), path) == expected
    finally:
        env.close()
