"""The first requests over stdio are answered before the SDK is imported, exactly as the SDK answers them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.server.runner import serve_dual_era_loop
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from mcp_endpoints import LIMIT
from memoriter.mcp_server import server_of
from memoriter.mcp_server._first_answers import HANDSHAKE_VERSIONS, MODERN_VERSION, FirstAnswers
from memoriter.mcp_server._offered import PAGE, Offered
from memory_env import MemoryEnv

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter import Memory

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
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": CLAUDE_CODE["clientInfo"],
    "io.modelcontextprotocol/clientCapabilities": CLAUDE_CODE["capabilities"],
}
"""Recorded from Claude Code 2.1.330."""
PROMPT = {
    "event": "user-prompt",
    "session_id": "one",
    "cwd": "/work",
    "prompt": "Which VLAN does the Omada router keep for the printers?",
    "hook_event_name": "UserPromptSubmit",
}
NOON = 1_773_144_000_000_000_000
"""A time of change for all notes, in nanoseconds."""
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
    loaded = tmp_path / "loaded"
    permitted = tmp_path / "permitted"
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


@pytest.mark.slow
def test_a_client_without_a_handshake_has_its_lists_and_its_first_prompt_before_the_sdk_is_imported(
    env: MemoryEnv, tmp_path: Path
) -> None:
    env.configure(provider="none")
    assert env.run("index").exit_code == 0
    loaded = tmp_path / "loaded"
    permitted = tmp_path / "permitted"
    hold = HOLD_THE_SDK.format(loaded=str(loaded), permitted=str(permitted))
    with subprocess.Popen(
        env.command("-w", str(env.notes), "mcp", before=hold),
        env={**env.environment(), "MEMORITER_HOOK_SECONDS": str(LIMIT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as server:
        assert server.stdin
        assert server.stdout

        def ask(number: int, method: str, **params: Any) -> None:
            server.stdin.write(json.dumps(request(number, method, {**params, "_meta": ENVELOPE})) + "\n")
            server.stdin.flush()

        for number, method in enumerate(("server/discover", "prompts/list", "resources/list", "tools/list")):
            ask(number, method)
        ask(4, "tools/call", name="memory_hook", arguments=PROMPT)
        answers = [json.loads(server.stdout.readline()) for _ in range(5)]
        assert [answer["id"] for answer in answers] == [0, 1, 2, 3, 4]
        assert answers[0]["result"]["supportedVersions"] == [MODERN_VERSION]
        assert "The Omada ER605 keeps VLAN 10 for the printers." in answers[4]["result"]["content"][0]["text"]
        ask(5, "tools/call", name="memory_search", arguments={"query": "which database for the ledger"})
        permitted.touch()
        answer = json.loads(server.stdout.readline())
        assert answer["id"] == 5
        assert "PostgreSQL" in answer["result"]["content"][0]["text"]
        assert server.communicate(timeout=LIMIT)[0] == ""
    assert server.returncode == 0


def first_answers(memory: Memory, lines: list[bytes]) -> list[bytes]:
    """The answers without the SDK."""
    writing = io.BytesIO()
    FirstAnswers(memory).serve(io.BytesIO(b"".join(lines)), writing)
    return writing.getvalue().splitlines()


def sdk_message(line: bytes) -> SessionMessage | Exception:
    """A line as the SDK reads it from stdin."""
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


def answers_of_the_sdk(memory: Memory, lines: list[bytes], count: int, *, one_by_one: bool = False) -> list[bytes]:
    """The first answers of the SDK to the same lines, as it writes them to stdout.

    It answers several requests at once in any order; `one_by_one`: each request waits for the answer before.
    """
    server = server_of(memory)
    answers = list[bytes]()

    async def talk() -> None:
        sending, reading = anyio.create_memory_object_stream[Any](100)
        writing, receiving = anyio.create_memory_object_stream[Any](100)

        async def answer() -> bytes:
            message = (await receiving.receive()).message
            return message.model_dump_json(by_alias=True, exclude_unset=True).encode()

        async with sending, receiving, anyio.create_task_group() as group:
            options = server.create_initialization_options()
            serve = partial(serve_dual_era_loop, lifespan_state={}, init_options=options)
            group.start_soon(serve, server, reading, writing)
            for line in b"".join(lines).splitlines():
                message = sdk_message(line)
                await sending.send(message)
                if one_by_one and isinstance(message, SessionMessage) and hasattr(message.message, "id"):
                    answers.append(await answer())
            while len(answers) < count:
                answers.append(await answer())
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


ENVELOPES = st.builds(
    lambda version, capabilities, client, more: {
        **version,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        **client,
        **more,
    },
    st.sampled_from([MODERN_VERSION, "2025-11-25", "x", 5]).map(
        lambda version: {"io.modelcontextprotocol/protocolVersion": version}
    ),
    st.one_of(CAPABILITIES, ODD),
    st.one_of(st.just({}), st.one_of(CLIENTS, ODD).map(lambda client: {"io.modelcontextprotocol/clientInfo": client})),
    st.one_of(st.just({}), ODD.map(lambda token: {"progressToken": token}), OBJECTS),
)
METHODS = st.sampled_from(["server/discover", "prompts/list", "resources/list", "tools/list", "ping"])


@given(
    methods=st.lists(METHODS, min_size=1, max_size=4),
    envelope=ENVELOPES,
    other=st.one_of(st.none(), ENVELOPES, TOKENS),
    more=st.one_of(st.just({}), OBJECTS, st.builds(lambda cursor: {"cursor": cursor}, NAMES)),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
@pytest.mark.slow
def test_whatever_is_answered_without_a_handshake_is_answered_as_the_sdk_does(
    memory: Memory, methods: list[str], envelope: Any, other: Any, more: dict[str, Any]
) -> None:
    """All requests have one envelope, except the second one, if `other` is given."""
    metas = [other if number == 1 and other is not None else envelope for number in range(len(methods))]
    lines = [
        json.dumps(request(number, method, {"_meta": meta, **(more if number else {})}), ensure_ascii=False).encode()
        + b"\n"
        for number, (method, meta) in enumerate(zip(methods, metas, strict=True))
    ]
    ours = first_answers(memory, lines)
    answered = lines[: len(ours)]
    assert answers_of_the_sdk(memory, answered, len(ours), one_by_one=True) == ours


@pytest.mark.matrix
@pytest.mark.parametrize("modern", [True, False])
@pytest.mark.parametrize("off", [False, True])
def test_lists_and_hooks_are_answered_without_the_sdk_as_the_sdk_does(
    tmp_path: Path, *, off: bool, modern: bool
) -> None:
    answers: list[list[bytes]] = []
    for folder in ("ours", "theirs"):  # one session never has the same passage twice
        (tmp_path / folder).mkdir()
        env = MemoryEnv.at(tmp_path / folder / "same")
        env.configure(provider="none", enabled=not off)
        env.write("memory/naïve \x7f\x01 “note”.md", "Nothing.\n")
        for number in range(PAGE):
            env.write(f"memory/many/{number}.md", "A note.\n")
        for file in env.notes.rglob("*.md"):
            os.utime(file, ns=(NOON, NOON))
        memory = env.open()
        memory.sync()
        meta = {"_meta": ENVELOPE} if modern else {}
        hooks = [{**PROMPT}, {**PROMPT}, {**PROMPT, "event": "stop"}, {"event": "user-prompt"}]
        messages = [
            request(0, "server/discover", meta) if modern else request(0, "initialize", HELLO),
            *([] if modern else [INITIALIZED]),
            *(request(method, method, meta) for method in ("prompts/list", "resources/list", "tools/list")),
            *(
                request(number, "tools/call", {"name": "memory_hook", "arguments": hook, **meta})
                for number, hook in enumerate(hooks if not off else [], 1)
            ),
        ]
        lines = [json.dumps(message).encode() + b"\n" for message in messages]
        expected = len([message for message in messages if "id" in message])
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MEMORITER_HOOK_SECONDS", str(LIMIT))
            if folder == "ours":
                answers.append(first_answers(memory, lines))
            else:
                answers.append(answers_of_the_sdk(memory, lines, expected, one_by_one=True))
        env.close()
        assert len(answers[-1]) == expected
    assert [line.replace(b"/ours/", b"/theirs/") for line in answers[0]] == answers[1]
    texts = [str(json.loads(line)["result"].get("content")) for line in answers[0]]
    assert off or "The Omada ER605 keeps VLAN 10 for the printers." in texts[-4]
    assert off or "'{}'" in texts[-3]


@pytest.mark.slow
def test_a_hook_that_hangs_is_answered_in_time_without_the_sdk(env: MemoryEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    env.configure(provider="none")
    memory = env.open()
    never = threading.Event()
    monkeypatch.setattr(memory, "session", lambda *_, **__: never.wait())
    monkeypatch.setenv("MEMORITER_HOOK_SECONDS", "0.3")
    lines = [
        json.dumps(message).encode() + b"\n"
        for message in (
            request(0, "server/discover", {"_meta": ENVELOPE}),
            request(1, "tools/call", {"name": "memory_hook", "arguments": PROMPT, "_meta": ENVELOPE}),
        )
    ]
    try:
        answer = json.loads(first_answers(memory, lines)[-1])
    finally:
        never.set()
    assert answer["result"]["content"] == [{"text": "{}", "type": "text"}]


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
