"""What `-v` and `-vv` log, and what no log contains."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from hook_inputs import hook_input
from memory_env import MemoryEnv, compatible
from servers import KEY
from servers.compatible import CompatibleServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Program

STAGES = ["changes", "index", "embed", "keyword", "vector", "rank", "verify", "total"]
NOTED = "walrusnoted"
QUERIED = "walrusasked"
ADDED = "walrusadded"
PROMPTED = "walrusprompted"


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path, {"MEMORY.md": f"# Animals\n\nThe {NOTED} sleeps.\n"})
    yield env
    env.close()


def levels(text: str) -> set[str]:
    return {word for line in text.splitlines() for word in ("DEBUG", "INFO") if f" {word} memoriter." in line}


@pytest.mark.parametrize("before", [True, False], ids=["before the command", "after the command"])
def test_v_logs_operations_and_vv_each_step(program: Program, *, before: bool) -> None:
    def run(*options: str) -> Any:
        words = ["search", "--json", "database"]
        return program(*([*options, *words] if before else [*words, *options]))

    silent = run()
    operations = run("-v")
    steps = run("-vv")
    assert [levels(done.err) for done in (silent, operations, steps)] == [set(), {"INFO"}, {"INFO", "DEBUG"}]
    assert run("-v", "-v").err.count("DEBUG")
    assert silent.json == operations.json == steps.json


def test_logging_of_one_command_ends_with_it(program: Program) -> None:
    program("search", "-vv", "database")
    assert program("search", "database").err == ""
    assert logging.getLogger("memoriter").level == logging.NOTSET


def test_an_indexing_run_logs_its_counts_and_stages(program: Program) -> None:
    output = program("index", "-vv").err
    assert "memoriter.sync._apply: read: 3 added, 0 changed, 0 removed, 0 left for later, " in output
    assert "memoriter.sync._apply: embed: 5 vectors, 0 failed, 0 pending, " in output
    stages = next(line for line in output.splitlines() if "read stages: " in line)
    assert all(f"{stage} " in stages for stage in ("scan", "read", "chunk", "store", "total"))
    assert "memoriter.index: open: " in output
    assert "memoriter.index: rebuild: " in program("index", "--force", "-vv").err
    assert "memoriter.index: compact: " in program("compact", "-vv").err


def test_explain_shows_the_milliseconds_of_each_stage(program: Program) -> None:
    timings = program("search", "--explain", "--json", "PostgreSQL").json["timings"]
    assert [stage for stage in STAGES if stage in timings] == STAGES
    assert all(milliseconds >= 0 for milliseconds in timings.values())
    assert sum(timings.values()) - timings["total"] <= timings["total"] + 1
    line = program("search", "--explain", "PostgreSQL").out.splitlines()[-1]
    assert line.startswith("milliseconds: look for changes ")
    assert "find by words " in line
    assert ", total " in line


def test_without_explain_there_are_no_timings(program: Program) -> None:
    assert "timings" not in program("search", "--json", "PostgreSQL").json
    assert "milliseconds" not in program("search", "PostgreSQL").out


@pytest.mark.slow
def test_no_log_of_the_program_contains_text_or_a_key(env: MemoryEnv) -> None:
    with CompatibleServer() as server:
        env.configure(**compatible(server))
        commands: list[tuple[str, ...]] = [
            ("index",),
            ("search", QUERIED, "-q"),
            ("remember", f"The {ADDED} eats."),
            ("search", QUERIED, "-q"),
            ("index", "--force"),
            ("status", "--deep", "-q", "--json"),
        ]
        logs = "".join(env.run(*words, "-vv").err for words in commands)
        hook = subprocess.run(
            env.command("-w", str(env.notes), "hook", "user-prompt", "-vv"),
            input=hook_input("claude-code", "user-prompt", cwd=env.notes, prompt=PROMPTED),
            capture_output=True,
            text=True,
            env=env.environment(),
            cwd=env.notes,
        )
    logs += hook.stderr
    assert "memoriter.embed.remote._http: POST to openai" in logs
    assert "memoriter.agent._coding: hook user-prompt: " in logs
    assert [word for word in (NOTED, QUERIED, ADDED, PROMPTED, KEY) if word in logs] == []


@pytest.mark.slow
def test_no_log_of_an_mcp_server_contains_text(env: MemoryEnv) -> None:
    env.configure(provider="fake")
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    calls = [("memory_search", {"query": QUERIED}), ("memory_append", {"text": ADDED}), (PROMPTED, {})]
    with subprocess.Popen(
        env.command("-w", str(env.notes), "-vv", "mcp"),
        env=env.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin
        assert server.stdout

        def ask(number: int, method: str, params: dict[str, Any]) -> None:
            assert server.stdin
            assert server.stdout
            server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
            server.stdin.flush()
            while json.loads(server.stdout.readline()).get("id") != number:
                pass

        ask(0, "initialize", hello)
        server.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        for number, (name, arguments) in enumerate(calls, 1):
            ask(number, "tools/call", {"name": name, "arguments": arguments})
        _, logs = server.communicate(timeout=150)
    assert "memoriter.mcp_server._tools: tool memory_search: done, " in logs
    assert "memoriter.mcp_server._tools: tool memory_append: " in logs
    assert [word for word in (NOTED, QUERIED, ADDED, PROMPTED) if word in logs] == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the server is ended by a signal")
def test_a_server_logs_its_requests_without_what_clients_send(env: MemoryEnv) -> None:
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    env.configure(provider="fake")
    command = env.command("--json", "serve", "--port", "0", "-vv", "-w", str(env.notes))
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=env.environment(), stdout=pipe, stderr=pipe, text=True) as server:
        assert server.stdout
        url = json.loads(server.stdout.readline())["url"]
        token = (env.home / "token").read_text(encoding="ascii").strip()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        hook = hook_input("claude-code", "user-prompt", cwd=env.notes, prompt=PROMPTED).encode()
        try:
            urlopen(Request(f"{url}/health?{QUERIED}", headers=headers)).read()
            urlopen(Request(f"{url}/hook/user-prompt", headers=headers, data=hook)).read()
            with pytest.raises(HTTPError):  # the command is told to do its work itself
                urlopen(Request(f"{url}/command/search", headers=headers, data=json.dumps([QUERIED]).encode()))
            for request in (Request(f"{url}/{QUERIED}", headers=headers), Request(f"{url}/health")):
                with pytest.raises(HTTPError):
                    urlopen(request)
        finally:
            server.terminate()
            _, logs = server.communicate(timeout=150)
    assert "memoriter.mcp_server._http: GET /health: status 200, " in logs
    assert "memoriter.mcp_server._http: POST /hook/user-prompt: status 20" in logs
    assert "memoriter.mcp_server._http: POST /command/search: status 409, " in logs
    assert "memoriter.mcp_server._delegated: a command does its work itself: TypeError" in logs
    assert "memoriter.mcp_server._http: GET another path: status 404, " in logs
    assert "memoriter.mcp_server._http: GET /health: status 401, " in logs
    assert [word for word in (NOTED, QUERIED, PROMPTED, token) if word in logs] == []
