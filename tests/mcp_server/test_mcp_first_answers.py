"""The first requests over stdio are answered before the SDK is imported, exactly as the SDK answers them."""

from __future__ import annotations

import io
import json
import subprocess
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.server.runner import serve_dual_era_loop
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from mcp_endpoints import LIMIT
from memoriter.mcp_server import server_of
from memoriter.mcp_server._offered import Offered
from memoriter.mcp_server._first_answers import HANDSHAKE_VERSIONS, MODERN_VERSION, FirstAnswers
from memoriter.mcp_server._stdio import _messages

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter import Memory
    from memory_env import MemoryEnv

CLIENT = {"name": "codex-mcp-client", "title": "Codex", "version": "0.169.0"}
FORMS = {"elicitation": {"form": {}, "url": {}}}
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"experimental": {"codex/auth-change": {}}, **FORMS},
    "clientInfo": CLIENT,
}
"""Recorded from Codex 0.169.0."""
CLAUDE_CODE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"roots": {"listChanged": True}, **FORMS},
    "clientInfo": {
        "name": "claude-code",
        "title": "Claude Code",
        "version": "2.1.330",
        "description": "Anthropic's agentic coding tool",
        "websiteUrl": "https://claude.com/claude-code",
    },
}
"""Recorded from Claude Code 2.1.330, which uses it with servers that do not know `server/discover`."""
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
HOLD_THE_SDK = """
import json, sys, time
from pathlib import Path
class Hold:
    def find_spec(self, name, path=None, target=None):
        if name in {{"anyio", "mcp"}} and sys._getframe(2).f_code.co_name == "_find_and_load_unlocked":
            Path({loaded!r}).exists() or Path({loaded!r}).write_text(json.dumps(sorted(sys.modules)))
            while not Path({permitted!r}).exists():
                time.sleep(0.01)
sys.meta_path.insert(0, Hold())
"""
"""Makes the import of the SDK wait, and lists the modules that were imported before it."""


def request(number: int | str, method: str, params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, **({} if params is None else {"params": params})}


@pytest.mark.slow
def test_a_client_has_the_tools_before_the_sdk_is_imported_and_calls_them_afterwards(
    env: MemoryEnv, tmp_path: Path
) -> None:
    loaded, permitted = tmp_path / "loaded", tmp_path / "permitted"
    hold = HOLD_THE_SDK.format(loaded=str(loaded), permitted=str(permitted))
    with subprocess.Popen(
        env.command("-w", str(env.notes), "mcp", before=hold),
        env=env.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as server:
        assert server.stdin
        assert server.stdout

        def send(*messages: dict[str, Any]) -> None:
            server.stdin.writelines(json.dumps(message, ensure_ascii=False) + "\n" for message in messages)
            server.stdin.flush()

        send(request(0, "initialize", HELLO))
        assert json.loads(server.stdout.readline())["result"]["serverInfo"]["name"] == "memoriter"
        send(INITIALIZED, request(1, "tools/list", {"_meta": {"progressToken": 1}}))
        assert len(json.loads(server.stdout.readline())["result"]["tools"]) == 3
        # What the client sends meanwhile waits for the SDK.
        append = {"name": "memory_append", "arguments": {"text": "Jörg cooks 김치찌개."}}
        send(request(2, "tools/call", append), request(3, "tools/list"), request(4, "ping"))
        permitted.touch()
        answers = {message["id"]: message for message in (json.loads(server.stdout.readline()) for _ in range(3))}
        assert server.communicate(timeout=LIMIT)[0] == ""
    assert server.returncode == 0
    assert sorted(answers) == [2, 3, 4]
    assert {"anyio", "apsw", "asyncio", "mcp", "numpy", "starlette"} & set(json.loads(loaded.read_text())) == set()
    written = (env.notes / answers[2]["result"]["structuredContent"]["citation"].partition("#")[0]).read_text(
        encoding="utf-8"
    )
    assert "Jörg cooks 김치찌개. <!-- from: agent via MCP (codex-mcp-client)" in written


def first_answers(memory: Memory, lines: list[bytes]) -> list[bytes]:
    """The answers without the SDK."""
    writing = io.BytesIO()
    FirstAnswers(memory).serve(io.BytesIO(b"".join(lines)), writing)
    return writing.getvalue().splitlines()


def answers_of_the_sdk(memory: Memory, lines: list[bytes], count: int) -> list[bytes]:
    """The first answers of the SDK to the same lines, as it writes them to stdout."""
    server, answers = server_of(memory), list[bytes]()

    async def talk() -> None:
        sending, reading = anyio.create_memory_object_stream[Any](100)
        writing, receiving = anyio.create_memory_object_stream[Any](100)
        async with sending, receiving, anyio.create_task_group() as group:
            options = server.create_initialization_options()
            serve = partial(serve_dual_era_loop, lifespan_state={}, init_options=options)
            group.start_soon(serve, server, reading, writing)
            for message in _messages(b"".join(lines)):
                await sending.send(message)
            while len(answers) < count:
                message = (await receiving.receive()).message
                answers.append(message.model_dump_json(by_alias=True, exclude_unset=True).encode())
            group.cancel_scope.cancel()

    anyio.run(talk)
    return answers


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
OBJECTS = st.dictionaries(NAMES, st.one_of(st.just({}), st.integers(0, 3), st.booleans(), NAMES), max_size=2)
ODD = st.one_of(st.none(), st.just({}), st.just([]), st.integers(), st.floats(), st.booleans(), NAMES, OBJECTS)
TOKENS = st.one_of(st.just({}), st.builds(lambda token: {"_meta": {"progressToken": token}}, ODD))
CAPABILITIES = st.dictionaries(
    st.sampled_from(["roots", "sampling", "elicitation", "experimental", "extensions", "tasks", "other"]),
    st.one_of(
        st.just({}),
        st.just({"listChanged": True}),
        st.dictionaries(st.sampled_from(["form", "url", "tools", "listChanged", "x"]), ODD, max_size=2),
    ),
    max_size=3,
)
CLIENTS = st.one_of(
    st.just(CLIENT),
    st.fixed_dictionaries(
        {"name": NAMES, "version": NAMES},
        optional={"title": ODD, "websiteUrl": NAMES, "icons": st.just([]), "description": NAMES},
    ),
)
HELLOS = st.builds(
    lambda version, capabilities, client, more: {
        "protocolVersion": version,
        "capabilities": capabilities,
        "clientInfo": client,
        **more,
    },
    st.sampled_from(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "x", 5]),
    CAPABILITIES,
    CLIENTS,
    TOKENS,
)
IDS = st.one_of(st.integers(), NAMES, st.booleans(), st.floats())


@pytest.fixture
def memory(env: MemoryEnv) -> Memory:
    return env.open()


@given(hello=HELLOS, ids=st.tuples(IDS, IDS, IDS), params=TOKENS, escaped=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
@pytest.mark.slow
def test_whatever_is_answered_without_the_sdk_is_answered_as_the_sdk_does(
    memory: Memory, hello: dict[str, Any], ids: tuple[Any, Any, Any], params: dict[str, Any], escaped: bool
) -> None:
    messages = [
        request(ids[0], "initialize", hello),
        INITIALIZED,
        request(ids[1], "ping", params),
        request(ids[2], "tools/list", params),
    ]
    lines = [json.dumps(message, ensure_ascii=escaped).encode() + b"\n" for message in messages]
    ours = first_answers(memory, lines)
    assert answers_of_the_sdk(memory, lines, len(ours)) == ours


@pytest.mark.parametrize(
    "hello", [{**HELLO, "protocolVersion": version} for version in HANDSHAKE_PROTOCOL_VERSIONS] + [CLAUDE_CODE]
)
@pytest.mark.parametrize("off", [False, True])
def test_what_known_clients_send_first_needs_no_sdk(env: MemoryEnv, hello: dict[str, Any], *, off: bool) -> None:
    if off:
        env.configure(provider="fake", enabled=False)
    memory = env.open()
    lines = [
        json.dumps(message).encode() + b"\n"
        for message in (
            request(0, "initialize", hello),
            INITIALIZED,
            request(1, "tools/list", {"_meta": {"progressToken": 0}}),
        )
    ]
    ours = first_answers(memory, lines)
    assert [json.loads(line)["id"] for line in ours] == [0, 1]
    assert answers_of_the_sdk(memory, lines, 2) == ours


def test_the_server_knows_each_revision_with_a_handshake() -> None:
    assert HANDSHAKE_VERSIONS == HANDSHAKE_PROTOCOL_VERSIONS


def test_the_essential_words_are_within_the_characters_that_every_client_shows(env: MemoryEnv) -> None:
    memory = env.open()
    instructions = Offered.by(memory).instructions
    assert instructions is not None
    assert instructions.startswith("Search before answering")
    assert "append" in instructions[:150]
    shown = {tool.name: tool.description[:150] for tool in memory.tools}
    assert shown["memory_search"].startswith("Search before answering")
    assert shown["memory_append"].startswith("Append")
