"""The start of the MCP server: CPU time until a client has the tools."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks._cold import FLOOR
from benchmarks._command import PROGRAM, Failed, environment, run_once
from benchmarks._report import Row
from memoriter.coding_hooks import HOOK_TOOL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks._effort import Effort

CPU_SECONDS = 0.4
"""Codex waits about as long before its first request to the model, which shows the tools that it has by then."""
AGAINST_FLOOR = 2.0
"""Measured 0.9-1.5. Above this limit, the server imports something before it answers; with its SDK, it is above 5."""
FIRST_PROMPT_RATIO = 4.0
"""Measured 2.9. With the import of the SDK before the first prompt, it is 8.3."""
_CLIENT = {"name": "benchmark", "version": "1"}
_HANDSHAKE = (
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}, "clientInfo": _CLIENT},
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)
_ENVELOPE = {
    f"io.modelcontextprotocol/{name}": value
    for name, value in {"protocolVersion": "2026-07-28", "clientInfo": _CLIENT, "clientCapabilities": {}}.items()
}
_DISCOVERY = tuple(
    {"jsonrpc": "2.0", "id": number, "method": method, "params": {"_meta": _ENVELOPE}}
    for number, method in enumerate(("server/discover", "prompts/list", "resources/list", "tools/list"))
)
_PROMPT = {
    "jsonrpc": "2.0",
    "id": 9,
    "method": "tools/call",
    "params": {
        "name": HOOK_TOOL,
        "arguments": {
            "event": "user-prompt",
            "session_id": "benchmark",
            "prompt": "Which database does the ledger use?",
            "hook_event_name": "UserPromptSubmit",
        },
        "_meta": _ENVELOPE,
    },
}


def handshakes(effort: Effort) -> Iterator[Row]:
    """Yield the rows of the server and of the imports, measured alternately under the same load.

    A client begins with `initialize` or, like Claude Code 2.1.330, with `server/discover`. The first prompt of Claude
    Code comes right after that, as a call of a tool.
    """
    sequences = (_HANDSHAKE, _DISCOVERY, (*_DISCOVERY, _PROMPT))
    with tempfile.TemporaryDirectory(prefix="memoriter-mcp-") as folder:
        notes = Path(folder, "notes")
        notes.mkdir()
        (notes / "MEMORY.md").write_text("# Decisions\n\n- The ledger's database is PostgreSQL.\n", encoding="utf-8")
        run_once((*PROGRAM, "--workspace", str(notes), "index"), Path(folder))
        rounds = [
            (
                run_once(FLOOR, Path(folder)).cpu_seconds,
                [_cpu_seconds(messages, notes, Path(folder)) for messages in sequences],
            )
            for _ in range(effort.processes + 1)
        ][1:]
    titles = (
        ("mcp.tools", "memoriter mcp: CPU time until a client has the tools", CPU_SECONDS, AGAINST_FLOOR),
        ("mcp.discovered", "- the same, if it begins with server/discover", CPU_SECONDS, AGAINST_FLOOR),
        ("mcp.first_prompt", "- and until its first prompt has its memory", None, FIRST_PROMPT_RATIO),
    )
    for number, (name, title, most, most_ratio) in enumerate(titles):
        seconds = median(servers[number] for _, servers in rounds)
        ratio = median(servers[number] / floor for floor, servers in rounds)
        yield Row(f"{name}_cpu", title, 0, seconds, "s", budget=most)
        relative = "- CPU time relative to `import sqlite3, numpy`"
        yield Row(f"{name}_ratio", relative, 0, ratio, "x", budget=most_ratio, ratio=True)


def _cpu_seconds(messages: Sequence[dict[str, Any]], notes: Path, home: Path) -> float:
    """Return the CPU time of a server that is stopped as soon as it has answered these messages. Raises Failed."""
    process = subprocess.Popen(
        [*PROGRAM, "--workspace", str(notes), "mcp"],
        env=environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    answers: list[str] = []
    for message in messages:
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        if "id" in message:
            answers.append(process.stdout.readline())
    process.kill()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdin.close()
    process.stdout.close()
    if not any('"tools"' in answer for answer in answers) or any('"error":{"code"' in answer for answer in answers):
        raise Failed(f"memoriter mcp answered {answers!r}")
    return used.ru_utime + used.ru_stime
