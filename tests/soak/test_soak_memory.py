"""A server over many requests of all kinds: it forgets what it was asked, so its memory does not grow."""

from __future__ import annotations

import json
import re
import sys
import time
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import soak
from hook_inputs import hook_input
from memory_env import MemoryEnv
from web_client import api_of
from web_stream import connected

if TYPE_CHECKING:
    from collections.abc import Callable

    from web_client import ApiClient

pytestmark = [pytest.mark.slow, pytest.mark.soak, pytest.mark.timeout(3_600)]

REQUESTS = 400
"""Requests of one part of a run; the first of three parts warms the server up."""
MOST_GROWTH = 1.2
MCP = {"accept": "application/json, text/event-stream"}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def rpc(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


class Day:
    """The requests of a day, the number of each of which makes it new."""

    def __init__(self, env: MemoryEnv, client: ApiClient) -> None:
        self.env = env
        self.client = client
        self.kinds: list[Callable[[int], int]] = [
            self.search,
            self.get,
            self.append,
            self.edit,
            self.hook,
            self.events,
            self.session,
            self.dropped_session,
            self.refused,
            self.page,
        ]

    def search(self, number: int) -> int:
        return self.client.post("/search", query=f"where is manything{number % 90} or {number}?").status_code

    def get(self, number: int) -> int:
        return self.client.get("/get", path=f"memory/many/{number % 90:03}.md").status_code

    def append(self, number: int) -> int:
        return self.client.post("/append", text=f"Number {number} of today.").status_code

    def edit(self, number: int) -> int:
        self.env.write(f"memory/many/{number % 90:03}.md", f"# many {number}\n\nThe manyword{number} lies here.\n")
        return self.search(number)

    def hook(self, number: int) -> int:
        given = hook_input("claude-code", "user-prompt", cwd=self.env.notes, session_id=f"s{number}")
        query = "shared=0&attended=1&project=0&seconds=1.5"
        return self.client.http.post(f"/hook/user-prompt?{query}", json=json.loads(given)).status_code

    def events(self, _: int) -> int:
        with connected(self.client):
            return 200

    def session(self, number: int) -> int:
        headers = self._opened(number)
        return self.client.http.delete("/mcp", headers=headers).status_code

    def dropped_session(self, number: int) -> int:
        self._opened(number)
        return 200

    def refused(self, number: int) -> int:
        status = self.client.get(f"/nothing{number}").status_code
        return 200 if status == 404 else status

    def page(self, _: int) -> int:
        status = self.client.http.get("/notes").status_code
        return 200 if status in {303, 401} else status

    def _opened(self, number: int) -> dict[str, str]:
        """Open an MCP session, search in it, and return its headers."""
        http = self.client.http
        opened = http.post("/mcp", headers=MCP, json=rpc("initialize", **HELLO))
        if opened.status_code != 200:
            return MCP  # the limit of requests; the next request waits
        headers = {**MCP, "mcp-session-id": opened.headers["mcp-session-id"]}
        http.post("/mcp", headers=headers, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
        arguments = {"query": f"manything{number % 90}"}
        http.post("/mcp", headers=headers, json=rpc("tools/call", name="memory_search", arguments=arguments))
        return headers


def resident(pid: int) -> int:
    """The memory of a process in kB."""
    return int(re.findall(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="ascii"))[0])


@pytest.mark.skipif(sys.platform != "linux", reason="reads the server's memory from /proc")
def test_a_server_needs_no_more_memory_after_thousands_of_requests(tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="none")
    env.trust()
    env.many(90)
    with api_of(env) as (server, client):
        day = Day(env, client)
        measured = list[int]()
        part = round(REQUESTS * soak.factor())
        for number, act in zip(range(3 * part), cycle(day.kinds), strict=False):
            while (status := act(number)) in {429, 503}:  # more at once than the limits allow
                time.sleep(0.05)
            assert status in {200, 201, 204}, (act.__name__, status)
            if (number + 1) % part == 0:
                measured.append(resident(server.process.pid))
    print(f"{3 * part} requests; kB after each third: {measured}")
    assert measured[-1] < MOST_GROWTH * measured[0]
