"""A server that is told to end finishes what it has begun, and nothing else."""

from __future__ import annotations

import http.client
import json
import signal
import sys
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from mcp_endpoints import LIMIT, bearer
from memory_env import QUESTION, MemoryEnv
from serving import serving

if TYPE_CHECKING:
    from pathlib import Path

    from serving import Serving

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="servers are ended by signals")]
GATE = """
import memoriter.memory, os, time
search = memoriter.memory.Memory.search
def slow(self, *words, **options):
    open({begun!r}, "w").close()
    while not os.path.exists({gate!r}):
        time.sleep(0.01)
    return search(self, *words, **options)
memoriter.memory.Memory.search = slow
"""
"""Python before the program: a search begins, and goes on when a file is there."""


class Gate:
    """Files by which a search reports that it has begun, and by which it goes on."""

    def __init__(self, folder: Path) -> None:
        self.begun = folder / "begun"
        self.opened = folder / "opened"
        self.program = GATE.format(begun=str(self.begun), gate=str(self.opened))


class Search(threading.Thread):
    """A search over HTTP; `outcome` is the status and the answer, or the error."""

    def __init__(self, server: Serving) -> None:
        super().__init__(daemon=True)
        self.server = server
        self.outcome: Any = None
        self.start()

    def run(self) -> None:
        with closing(connect(self.server)) as connection:
            try:
                headers = bearer(self.server.token) | {"Content-Type": "application/json"}
                connection.request("POST", "/api/v1/search", json.dumps({"query": QUESTION}), headers)
                response = connection.getresponse()
                self.outcome = (response.status, json.loads(response.read()))
            except (OSError, ValueError, http.client.HTTPException) as error:  # it was cut off
                self.outcome = error


def connect(server: Serving) -> http.client.HTTPConnection:
    place = urlsplit(server.url)
    return http.client.HTTPConnection(place.hostname or "", place.port, timeout=LIMIT)


def wait_for(condition: Any) -> None:
    ended = threading.Event()
    for _ in range(int(LIMIT / 0.02)):
        if condition():
            return
        ended.wait(0.02)
    raise AssertionError("it did not happen in time")


@pytest.fixture
def env(tmp_path: Path) -> MemoryEnv:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="none")
    return env


def test_a_request_that_runs_is_answered_streams_end_and_no_other_is_accepted(env: MemoryEnv, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    with serving(env, "--no-watch", "--drain", str(LIMIT), before=gate.program) as server:
        with closing(connect(server)) as stream:
            stream.request("GET", "/api/v1/events", headers=bearer(server.token))
            events = stream.getresponse()
            assert events.readline() == b"event: ready\n"
            search = Search(server)
            wait_for(gate.begun.exists)
            server.process.send_signal(signal.SIGTERM)
            assert b"event: " not in events.read()  # it ends, although the server still works
        wait_for(lambda: refuses(server))
        assert server.process.poll() is None
        assert not [*server.folder.glob("*.json")]  # hooks do not look for it here any more
        gate.opened.touch()
        search.join(LIMIT)
        assert search.outcome[0] == 200
        assert search.outcome[1]["results"][0]["citation"].startswith("MEMORY.md#")
        assert server.process.wait(LIMIT) == 0


def refuses(server: Serving) -> bool:
    with closing(connect(server)) as connection:
        try:
            connection.request("GET", "/healthz")
            connection.getresponse()
        except OSError:
            return True
    return False


def test_a_request_that_takes_too_long_does_not_keep_the_server(env: MemoryEnv, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    with serving(env, "--no-watch", "--drain", "0.2", before=gate.program) as server:
        search = Search(server)
        wait_for(gate.begun.exists)
        assert server.end() == 0
        search.join(LIMIT)
        assert not isinstance(search.outcome, tuple) or search.outcome[0] != 200


def test_a_second_signal_ends_a_server_that_drains_at_once(env: MemoryEnv, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    with serving(env, "--no-watch", "--drain", str(LIMIT), before=gate.program) as server:
        Search(server)
        wait_for(gate.begun.exists)
        server.process.send_signal(signal.SIGTERM)
        wait_for(lambda: refuses(server))
        assert server.end() == 128 + signal.SIGTERM
