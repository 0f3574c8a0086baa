"""The two ways to ask QMD: a process for each search, or one `qmd mcp` that stays.

The server has requests and replies as lines of JSON over its standard input and output. With it, a search takes a few
milliseconds instead of the start of a process, and models stay loaded. It is started with the first search, and again
after it ended, hung or got a new configuration.
"""

from __future__ import annotations

import json
import subprocess
from contextlib import suppress
from queue import Empty, Queue
from threading import Lock, Thread
from typing import IO, TYPE_CHECKING, Any, Protocol, cast

from memoriter.errors import QmdFailure, QmdTimeout, QmdUnreadable, sentence
from memoriter.extensions.qmd._answers import failure_of, parse_results, readable, rows_of, summary
from memoriter.extensions.qmd._program import MOST_OUTPUT, Collector, Output, failed, kill_group, too_much_output
from memoriter.extensions.qmd._queries import arguments_of, request_of
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from memoriter.extensions.qmd._answers import Row
    from memoriter.extensions.qmd._program import Program
    from memoriter.extensions.qmd._queries import Search

PROTOCOL = "2025-06-18"
LEAVE_SECONDS = 1.0
"""How long the server may take to end after its input was closed."""


@dataclass(slots=True)
class _Server:
    """A running server, for one request at a time."""

    process: subprocess.Popen[bytes]
    errors: Collector
    """The end of its error output."""
    lines: Queue[bytes | None] = field(default_factory=Queue["bytes | None"])
    number: int = 0
    ended: bool = False
    """Whether it ended by itself."""
    too_long: bool = False
    """Whether it was killed because it printed too much for one request."""

    def call(self, method: str, params: Mapping[str, Any], *, deadline: Callable[[], float]) -> Any:
        """Return the result of a request. Raises QmdFailure if there is no usable reply in time."""
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": dict(params)})
        while (seconds := deadline()) > 0:
            try:
                line = self.lines.get(timeout=seconds)
            except Empty:
                break
            if line is None:
                raise self._ended()
            match _parsed(line):
                case {"id": self.number, "result": result}:
                    return result
                case {"id": self.number, "error": error}:
                    raise failure_of("The command `qmd mcp`", 1, _error_text(error))
                case _:
                    continue  # a notification, or a late reply
        raise QmdTimeout("The command `qmd mcp` did not reply in time.")

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message. Raises QmdFailure if the server has ended."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            self.process.stdin.flush()
        except (OSError, ValueError) as error:
            raise self._ended() from error

    def _ended(self) -> QmdFailure:
        """Return the error for a server that has ended by itself."""
        self.ended = True
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(LEAVE_SECONDS)
        self.errors.finish()
        if self.too_long:
            return too_much_output("mcp")
        return failed("The command `qmd mcp`", self.process.returncode or 0, Output("", readable(self.errors.text)))

    def stop(self) -> None:
        """End the server: politely, then by force."""
        with suppress(OSError, ValueError):
            if self.process.stdin is not None:
                self.process.stdin.close()
        try:
            self.process.wait(LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            kill_group(self.process)
        self.errors.finish()


class McpTransport:
    """Asks one `qmd mcp`, which is started again when it is needed; safe to share between threads."""

    def __init__(self, program: Program, configuration: Path, monotonic: Callable[[], float]) -> None:
        self._program = program
        self._configuration = configuration
        self._monotonic = monotonic
        self._lock = Lock()
        self._server: _Server | None = None
        self._read_at: int | None = None
        """The time of change of the configuration that the server read, in nanoseconds."""

    def rows(self, search: Search, *, timeout: float) -> list[Row]:
        """Return the results of a search, best first. A server that ended is started again once. Raises QmdFailure."""
        end = self._monotonic() + timeout

        def left() -> float:
            return end - self._monotonic()

        if not self._lock.acquire(timeout=timeout):
            raise QmdTimeout("The command `qmd mcp` was busy with other searches until the time was over.")
        try:
            was_running = self._server is not None
            try:
                result = self._ask(search, left)
            except QmdFailure as error:
                if isinstance(error, QmdTimeout) or not was_running or self._server is not None:
                    raise  # the time is over, or the server is well and refused the search
                result = self._ask(search, left)
        finally:
            self._lock.release()
        return _rows(result)

    def close(self) -> None:
        """End the server."""
        with self._lock:
            self._stop()

    def _ask(self, search: Search, left: Callable[[], float]) -> Any:
        try:
            server = self._started(left)
            return server.call("tools/call", {"name": "query", "arguments": request_of(search)}, deadline=left)
        except QmdFailure as error:
            if isinstance(error, QmdTimeout) or (self._server is not None and self._server.ended):
                self._stop()  # a server that hangs would delay every later search
            raise

    def _started(self, left: Callable[[], float]) -> _Server:
        changed_at = self._configuration.stat().st_mtime_ns if self._configuration.exists() else None
        if self._server is not None and (self._server.process.poll() is not None or changed_at != self._read_at):
            self._stop()  # a server reads its collections when it starts
        if self._server is not None:
            return self._server
        process = self._program.start(["mcp"], stdin=subprocess.PIPE)
        assert process.stderr is not None
        server = self._server = _Server(process, Collector(process, process.stderr, only_end=True))
        self._read_at = changed_at
        assert process.stdout is not None
        Thread(target=_read, args=(process.stdout, server), daemon=True).start()
        client = {"name": "memoriter", "version": "1"}
        hello = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
        server.call("initialize", hello, deadline=left)
        server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return server

    def _stop(self) -> None:
        if self._server is not None:
            self._server.stop()
            self._program.forget(self._server.process)
            self._server = None


def _read(stream: IO[bytes], server: _Server) -> None:
    """Queue the lines of a server until it ends; one that prints too much for a request is killed."""
    number = size = 0
    with suppress(OSError, ValueError), stream:
        while line := stream.readline(MOST_OUTPUT):
            size = len(line) + (size if number == server.number else 0)
            number = server.number
            if size > MOST_OUTPUT:
                server.too_long = True
                kill_group(server.process)
                break
            server.lines.put(line)
    server.lines.put(None)


def _parsed(line: bytes) -> dict[str, Any]:
    """Return a message; an empty one for a line that is none."""
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _error_text(error: object) -> str:
    return str(cast("dict[str, Any]", error).get("message", error)) if isinstance(error, dict) else str(error)


def _rows(result: Any) -> list[Row]:
    """Return the results of the tool. Raises QmdFailure."""
    if not isinstance(result, dict):
        raise QmdUnreadable("The command `qmd mcp` replied without a result.")
    fields = cast("dict[str, Any]", result)
    if fields.get("isError"):
        raise failure_of("The command `qmd mcp`", 1, json.dumps(fields.get("content"), ensure_ascii=False))
    structured: Any = fields.get("structuredContent")
    results: Any = cast("dict[str, Any]", structured).get("results") if isinstance(structured, dict) else None
    if not isinstance(results, list):
        detail = sentence(summary(json.dumps(fields, ensure_ascii=False)))
        raise QmdUnreadable(f"The command `qmd mcp` replied with something other than results: {detail}")
    return rows_of(cast("list[Any]", results))


class Transport(Protocol):
    """Asks QMD."""

    def rows(self, search: Search, *, timeout: float) -> list[Row]:
        """Return the results of a search, best first. Raises QmdFailure if there is no usable answer in time."""
        ...

    def close(self) -> None:
        """End what runs."""
        ...


@dataclass(frozen=True, slots=True)
class SpawnTransport:
    """Starts the program for each search."""

    program: Program

    def rows(self, search: Search, *, timeout: float) -> list[Row]:
        """Return the results of a search, best first. Raises QmdFailure."""
        output = self.program.run(arguments_of(search), timeout=timeout)
        return rows_of(parse_results(output.text, output.errors))

    def close(self) -> None:
        """Do nothing: the program's own `close` ends every process."""
