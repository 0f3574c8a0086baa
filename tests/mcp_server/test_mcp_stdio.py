"""What only the server over stdio does: nothing but the protocol on stdout, and ending with its client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcp_endpoints import LIMIT

if TYPE_CHECKING:
    from memory_env import MemoryEnv

pytestmark = pytest.mark.slow

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
KEEPER = """
import subprocess, sys, time
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)
server.stdin.write(sys.stdin.buffer.readline())
server.stdin.flush()
time.sleep(3600)
"""
"""A client that starts the server, says hello and then does nothing until it is killed."""


def request(number: int, method: str, params: dict[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"


def start(env: MemoryEnv, before: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        env.command("-w", str(env.notes), "-v", "mcp", before=before),
        env=env.environment(),
        cwd=env.notes,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


NOISE = """
import os
from memoriter.workspace import Workspace
scan = Workspace.scan
def noisy(self):
    print("printed by something", flush=True)
    os.write(1, b"written by something else\\n")
    return scan(self)
Workspace.scan = noisy
"""


def test_stdout_carries_the_protocol_only_whatever_is_printed(env: MemoryEnv) -> None:
    with start(env, NOISE) as server:
        assert server.stdin
        assert server.stdout
        ask = {"name": "memory_search", "arguments": {"query": "ledger"}}
        server.stdin.write(request(1, "initialize", HELLO))
        server.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        server.stdin.write("this is not JSON\n")
        server.stdin.write(request(2, "tools/call", ask))
        server.stdin.flush()
        seen: list[Any] = []
        while not any(message.get("id") == 2 for message in seen):
            seen.append(json.loads(server.stdout.readline()))
        out, err = server.communicate(timeout=LIMIT)
    assert out == ""
    assert "written by something else" in err
    assert server.returncode == 0
    assert [message["id"] for message in seen if "result" in message] == [1, 2]


SLOW_DISK = """
import time
from memoriter.workspace import Workspace
load = Workspace.load
def slow(self, source, *gone):
    time.sleep(0.05)
    return load(self, source, *gone)
Workspace.load = slow
"""


def test_the_server_ends_when_its_input_is_closed_in_the_middle_of_a_first_index(env: MemoryEnv) -> None:
    env.many(2000)
    with start(env, SLOW_DISK) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write(request(1, "initialize", HELLO))
        server.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        ask = {"name": "memory_search", "arguments": {"query": "ledger"}, "_meta": {"progressToken": 7}}
        server.stdin.write(request(2, "tools/call", ask))
        server.stdin.flush()
        while "notifications/progress" not in server.stdout.readline():
            pass
        server.communicate(timeout=LIMIT)
    assert server.returncode == 0
    assert env.run("--json", "status").json[0]["files"] < 2004
    assert env.run("--json", "search", "ledger").json["results"]


@pytest.mark.skipif(os.name == "nt", reason="the pipe is inherited by its number")
def test_the_server_ends_when_its_client_is_killed(env: MemoryEnv) -> None:
    command = env.command("-w", str(env.notes), "mcp")
    with subprocess.Popen(
        [sys.executable, "-c", KEEPER, *command],
        env=env.environment(),
        cwd=env.notes,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as client:
        assert client.stdin
        assert client.stdout
        client.stdin.write(request(1, "initialize", HELLO))
        client.stdin.flush()
        assert json.loads(client.stdout.readline())["id"] == 1
        client.kill()
        # The server holds the other end of this pipe, so its end is the end of the server.
        assert client.communicate(timeout=LIMIT)[0] == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{agents: {defaults: {memorySearch: {provder: 'fake'}}}}", "provider"),
        ("{plugins: {slots: {memory: 'memory-cloud'}}}", "names 'memory-cloud', which is not installed"),
    ],
)
def test_a_wrong_configuration_is_told_on_stderr_before_any_client_waits(env: MemoryEnv, text: str, words: str) -> None:
    env.config.write_text(text, encoding="utf-8")
    outcome = env.run("mcp")
    assert (outcome.exit_code, outcome.out) == (2, "")
    assert words in outcome.err
    assert "Traceback" not in outcome.err
