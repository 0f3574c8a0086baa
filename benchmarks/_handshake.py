"""The handshake of the MCP server, compared with a minimal server of the same SDK."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks._command import Failed, environment
from benchmarks._report import Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks._effort import Effort

MORE_SECONDS = 0.2
"""Time that the memory may add to the minimal server."""
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "benchmark", "version": "1"},
    },
}
_BARE = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("bare")
@server.tool()
def echo(text: str) -> str:
    return text
server.run()
"""
_OURS = "import sys; from memoriter.cli import main; sys.exit(main())"


def handshakes(effort: Effort) -> Iterator[Row]:
    """Yield the rows of both servers, measured alternately under the same load."""
    with tempfile.TemporaryDirectory(prefix="memoriter-mcp-") as folder:
        notes = Path(folder, "notes")
        notes.mkdir()
        (notes / "MEMORY.md").write_text("# Decisions\n\n- The ledger's database is PostgreSQL.\n", encoding="utf-8")
        programs = (["-c", _BARE], ["-c", _OURS, "--workspace", str(notes), "mcp"])
        rounds = [[_seconds(program, Path(folder)) for program in programs] for _ in range(effort.processes + 1)][1:]
    bare, ours = (median(column) for column in zip(*rounds, strict=True))
    yield Row("mcp.bare", "minimal server with the MCP SDK: start to handshake", 0, bare, "s")
    yield Row("mcp.handshake", "memoriter mcp: start to handshake", 0, ours, "s", budget=bare + MORE_SECONDS)


def _seconds(program: Sequence[str], home: Path) -> float:
    start = perf_counter()
    with subprocess.Popen(
        [sys.executable, *program],
        env=environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(_HELLO) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        seconds = perf_counter() - start
        process.stdin.close()
    if "serverInfo" not in answer or process.returncode:
        raise Failed(f"{' '.join(program)} answered {answer!r} and ended with {process.returncode}")
    return seconds
