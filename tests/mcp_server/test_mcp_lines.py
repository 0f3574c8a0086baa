"""Lines over stdio that are no messages get an error, and the end of the input does not lose an answer."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from mcp_endpoints import LIMIT

if TYPE_CHECKING:
    from memory_env import MemoryEnv

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
INITIALIZED = '{"jsonrpc": "2.0", "method": "notifications/initialized"}\n'
SEARCH = '"method": "tools/call", "params": {"name": "memory_search", "arguments": {"query": "ledger %s"}}}'
PING = '{"jsonrpc": "2.0", "id": 9, "method": "ping"}\n'
LINES: dict[str, tuple[bytes, int, Any, str]] = {
    "no JSON": (b"this is not JSON", -32700, None, "not JSON"),
    "JSON with a comma too many": (b'{"jsonrpc": "2.0", "id": 2, "method": "ping",}', -32700, None, "not JSON"),
    "a mark": (b"\xef\xbb\xbf" + PING.strip().encode(), -32700, None, "BOM"),
    "Latin-1": (b'{"jsonrpc": "2.0", "id": 2, "method": "caf\xe9"}', -32700, None, "not UTF-8"),
    "half of an emoji": (
        (f'{{"jsonrpc": "2.0", "id": 2, {SEARCH}' % r"\ud83d").encode(),
        -32600,
        2,
        "half of a character",
    ),
    "half of an emoji in bytes": (
        (f'{{"jsonrpc": "2.0", "id": 2, {SEARCH}').encode() % b"\xf0\x9f",
        -32700,
        None,
        "UTF-8",
    ),
    "half of an emoji in the id": (rb'{"jsonrpc": "2.0", "id": "\ud83d", "method": "ping"}', -32600, None, "half of a"),
    "a control character": ((f'{{"jsonrpc": "2.0", "id": 2, {SEARCH}' % "\x01").encode(), -32700, None, "control"),
    "a NUL": (PING.strip().encode() + b"\0", -32700, None, "not JSON"),
    "a batch": (f"[{PING.strip()}, {PING.strip()}]".encode(), -32600, None, "batch"),
    "an empty batch": (b"[]", -32600, None, "batch"),
    "a number": (b"5", -32600, None, "not a JSON object"),
    "another version": (b'{"jsonrpc": "1.0", "id": 2, "method": "ping"}', -32600, 2, "JSON-RPC 2.0"),
    "no method": (b'{"jsonrpc": "2.0", "id": 2}', -32600, 2, "JSON-RPC 2.0"),
    "an id of null": (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600, None, "id"),
    "an id with a fraction": (b'{"jsonrpc": "2.0", "id": 2.5, "method": "ping"}', -32600, None, "id"),
    "a list as parameters": (b'{"jsonrpc": "2.0", "id": 2, "method": "ping", "params": [1]}', -32600, 2, "JSON-RPC"),
    "too deep": (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, -32700, None, "not JSON"),
}


def request(number: int, method: str, params: dict[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"


def answers(env: MemoryEnv, *lines: bytes) -> list[dict[str, Any]]:
    """What the server writes in all, if the client writes lines and closes the connection at once."""
    command = env.command("-w", str(env.notes), "mcp")
    server = subprocess.run(
        command,
        input=b"".join(lines),
        env=env.environment(),
        cwd=env.notes,
        capture_output=True,
        timeout=LIMIT,
        check=True,
    )
    assert b"Traceback" not in server.stderr
    return [json.loads(line) for line in server.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False], ids=["after the handshake", "before it"])
def test_each_line_that_is_no_message_gets_an_error_and_the_next_an_answer(env: MemoryEnv, *, before: bool) -> None:
    handshake = [request(1, "initialize", HELLO).encode(), INITIALIZED.encode()]
    odd = [line + b"\n" for line, *_ in LINES.values()]
    blank = b"\n \r\n"
    both = [*handshake, blank, *odd] if before else [*odd, *handshake]
    received = answers(env, *both, PING.encode())
    errors = [message for message in received if "error" in message]
    assert [message["id"] for message in received if "result" in message] == [1, 9]
    for (name, (_, code, number, words)), message in zip(LINES.items(), errors, strict=True):
        assert (message["error"]["code"], message["id"]) == (code, number), name
        assert words in message["error"]["message"], name


@pytest.mark.slow
def test_calls_that_run_when_the_input_ends_are_done_or_said_to_be_unfinished(env: MemoryEnv) -> None:
    env.configure(provider="none")
    env.trust()
    calls = [
        request(number, "tools/call", {"name": "memory_append", "arguments": {"text": f"The canary {number} sings."}})
        if number % 2
        else request(number, "tools/call", {"name": "memory_search", "arguments": {"query": "ledger"}})
        for number in range(2, 32)
    ]
    received = answers(env, request(1, "initialize", HELLO).encode(), INITIALIZED.encode(), "".join(calls).encode())
    by_id = {message["id"]: message for message in received if "id" in message}
    assert sorted(by_id) == list(range(1, 32))
    assert len([message for message in received if "id" in message]) == 31
    written = "".join(file.read_text(encoding="utf-8") for file in env.notes.rglob("*.md"))
    for number, message in by_id.items():
        if "error" in message:
            assert "may be written or not" in message["error"]["message"]
        elif number % 2 and number > 1:
            assert f"The canary {number} sings." in written


@pytest.mark.slow
def test_a_call_on_the_last_line_is_answered(env: MemoryEnv) -> None:
    env.configure(provider="none")
    call = request(2, "tools/call", {"name": "memory_search", "arguments": {"query": "ledger"}})
    received = answers(env, request(1, "initialize", HELLO).encode(), INITIALIZED.encode(), call.encode())
    (answer,) = [message for message in received if message.get("id") == 2]
    assert "PostgreSQL" in answer["result"]["content"][0]["text"]
