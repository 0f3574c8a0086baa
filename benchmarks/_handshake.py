"""The start of the MCP server: CPU time until a client has the tools."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks._cold import FLOOR
from benchmarks._command import PROGRAM, Failed, environment, run_once
from benchmarks._report import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks._effort import Effort

CPU_SECONDS = 0.4
"""Codex waits about as long before its first request to the model, which shows the tools that it has by then."""
AGAINST_FLOOR = 2.0
"""Measured 0.9-1.5. Above this limit, the server imports something before it answers; with its SDK, it is above 5."""
_MESSAGES = (
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "benchmark", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)


def handshakes(effort: Effort) -> Iterator[Row]:
    """Yield the rows of the server and of the imports, measured alternately under the same load."""
    with tempfile.TemporaryDirectory(prefix="memoriter-mcp-") as folder:
        notes = Path(folder, "notes")
        notes.mkdir()
        (notes / "MEMORY.md").write_text("# Decisions\n\n- The ledger's database is PostgreSQL.\n", encoding="utf-8")
        rounds = [
            (run_once(FLOOR, Path(folder)).cpu_seconds, _cpu_seconds(notes, Path(folder)))
            for _ in range(effort.processes + 1)
        ][1:]
    seconds = median(server for _, server in rounds)
    ratio = median(server / floor for floor, server in rounds)
    yield Row(
        "mcp.tools_cpu", "memoriter mcp: CPU time until a client has the tools", 0, seconds, "s", budget=CPU_SECONDS
    )
    title = "- CPU time relative to `import sqlite3, numpy`"
    yield Row("mcp.tools_ratio", title, 0, ratio, "x", budget=AGAINST_FLOOR, ratio=True)


def _cpu_seconds(notes: Path, home: Path) -> float:
    """Return the CPU time of a server that is stopped as soon as it has listed its tools. Raises Failed."""
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
    process.stdin.writelines(json.dumps(message) + "\n" for message in _MESSAGES)
    process.stdin.flush()
    answers = [process.stdout.readline() for message in _MESSAGES if "id" in message]
    process.kill()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdin.close()
    process.stdout.close()
    if '"tools"' not in answers[-1]:
        raise Failed(f"memoriter mcp answered {answers!r}")
    return used.ru_utime + used.ru_stime
