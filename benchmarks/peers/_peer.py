"""What a program must be able to do to be measured, and what it is given."""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from benchmarks.peers._process import LineSession, PeerFailed, call_mcp
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from memoriter.types import Hit

    Search = Callable[[str, int], list[Hit]]

ANSWER_SECONDS = 300.0
"""Longest time for an answer; the first one may load a model."""


@dataclass(frozen=True, slots=True)
class PeerPlace:
    """What a program is given."""

    notes: Path
    """A copy of the notes."""
    state: Path
    """An empty folder for everything that it stores."""
    endpoint: str
    """Base URL of an embedding service with the interface of OpenAI."""
    model_file: Path | None
    """A GGUF file of an embedding model, for programs that take no endpoint."""
    environ: Mapping[str, str]
    dimensions: int = 384
    """Dimensions of the service's vectors."""

    def variables(self, **changes: str) -> dict[str, str]:
        """Return the environment variables, with a home of its own and without those that redirect programs."""
        kept = {name: value for name, value in self.environ.items() if not name.startswith(_REDIRECTING)}
        return {**kept, "HOME": str(self.state), "PWD": str(self.state), "NO_COLOR": "1", **changes}


_REDIRECTING = (
    *("CI", "INDEX_PATH", "XDG_", "OPENAI_", "PYTHONPATH", "PYTHONHOME"),
    *("QMD_", "OPENCLAW_", "MEMSEARCH_", "BASIC_MEMORY_"),
    "PYTHONDONTWRITEBYTECODE",  # without byte code, every start of a Python program is slower than its users know it
)


class Peer(Protocol):
    """A program that is measured."""

    @property
    def name(self) -> str:
        """The name that `--peer` takes."""
        ...

    @property
    def install(self) -> str:
        """The line that installs it."""
        ...

    def vectors(self, place: PeerPlace) -> str:
        """Return where its vectors are from: `same endpoint`, a file, or `none`."""
        ...

    def configure(self, place: PeerPlace) -> dict[str, str]:
        """Write its configuration, and return its environment variables."""
        ...

    def index(self, place: PeerPlace) -> list[list[str]]:
        """Return the commands that index the notes, in order."""
        ...

    def search(self, place: PeerPlace, question: str, limit: int) -> list[str]:
        """Return the command that answers one question as a new process."""
        ...

    def hits(self, place: PeerPlace, output: str) -> list[Hit]:
        """Return the hits in the output of that command. Raises PeerFailed if there is no answer in it."""
        ...

    def session(self, place: PeerPlace, environ: Mapping[str, str]) -> AbstractContextManager[Search] | None:
        """Return a running process that answers many questions, or None if the program has no such thing."""
        ...


def parse_json(output: str) -> Any:
    """Return the first JSON value of an output that begins a line. Raises PeerFailed if there is none."""
    for match in re.finditer(r"^[\[{]", output, re.MULTILINE):
        try:
            return json.JSONDecoder().raw_decode(output, match.start())[0]
        except ValueError:
            continue
    raise PeerFailed(f"no JSON in {output[:200]!r}")


def relative(path: str, notes: Path) -> str:
    """Return a path below the notes as it is cited."""
    with_links = os.path.realpath(notes)
    for base in (str(notes), with_links):
        if path.startswith(f"{base}{os.sep}"):
            return path[len(base) + 1 :].replace(os.sep, "/")
    return path.replace(os.sep, "/")


@contextmanager
def mcp_session(
    command: Sequence[str], place: PeerPlace, environ: Mapping[str, str]
) -> Generator[Callable[[str, Mapping[str, Any]], Any]]:
    """Start an MCP server over stdio, and yield what calls a tool by name and returns its structured content.

    Raises:
        PeerFailed: if the server cannot start, does not answer in time, or a tool fails.
    """
    with LineSession(command, environ, place.state, ANSWER_SECONDS) as session:
        client = {"name": "memoriter-eval", "version": "1"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        call_mcp(session, "initialize", params, 0)
        session.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        count = 0

        def call(tool: str, arguments: Mapping[str, Any]) -> Any:
            nonlocal count
            count += 1
            result = call_mcp(session, "tools/call", {"name": tool, "arguments": arguments}, count)
            if result.get("isError"):
                raise PeerFailed(str(result.get("content"))[:300])
            return result["structuredContent"]

        yield call
