"""Run QMD in an environment of its own, with limits on its time and its output, and ask it in one of two ways.

A search starts a process, or asks one `qmd mcp` that stays. That server has requests and replies as lines of JSON over
its standard input and output. With it, a search takes a few milliseconds instead of the start of a process, and models
stay loaded. It is started with the first search, and again after it ended, hung or got a new configuration.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from threading import Lock, Thread
from typing import IO, TYPE_CHECKING, Any, Protocol, cast

from memoriter.errors import QmdCrashed, QmdFailure, QmdMissing, QmdTimeout, QmdUnreadable, sentence
from memoriter.extensions.qmd._answers import append_capped, failure_of, parse_results, readable, rows_of, summary
from memoriter.extensions.qmd._queries import arguments_of, request_of
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memoriter.extensions.qmd._answers import Row
    from memoriter.extensions.qmd._queries import Search

MOST_OUTPUT = 8_000_000
"""Bytes of output after which the program is killed; 24 hits have some 20,000."""
MOST_ERRORS = 64_000
"""Bytes of the error output to keep, from its end: progress comes first, the error last."""
AFTER_EXIT = 1.0
"""Seconds that a grandchild may keep the output open after the program has ended."""
KEPT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TMP", "TEMP", "TZ", "SHELL")
"""Variables that the program inherits, besides those of the network, GPUs and QMD's own tuning."""
KEPT_TUNING = re.compile(
    r"QMD_(?:EMBED|RERANK|EXPAND)_CONTEXT_SIZE|QMD_EMBED_PARALLELISM|QMD_LLAMA_GPU|QMD_FORCE_CPU|HF_ENDPOINT|HF_TOKEN"
    r"|(?:HTTPS?|NO|ALL)_PROXY|SSL_CERT_(?:FILE|DIR)|NODE_EXTRA_CA_CERTS|CUDA_\w+|LD_LIBRARY_PATH|DYLD_LIBRARY_PATH"
    r"|SYSTEMROOT|USERPROFILE|APPDATA|LOCALAPPDATA|COMSPEC|PATHEXT|WINDIR",
    re.IGNORECASE,
)
BUSY_MS = 3_000
"""How long QMD waits for a lock on its database; by itself it would wait for two minutes."""


@dataclass(frozen=True, slots=True)
class Output:
    """What the program printed."""

    text: str
    errors: str


def child_environment(environ: Mapping[str, str], home: Path, binary: Path, *, words_only: bool) -> dict[str, str]:
    """Return the environment of the program.

    QMD's configuration and database are in `home` alone: variables that lead elsewhere (`QMD_CONFIG_DIR`, `INDEX_PATH`)
    or switch its models off (`CI`) are left out.

    Args:
        environ: the environment of this process.
        home: QMD's private home.
        binary: the program. Its folder comes first in PATH, because the Node that belongs to it is often there.
        words_only: whether no model is needed, so that QMD need not look for a GPU.
    """
    kept = {name: value for name, value in environ.items() if name in KEPT or KEPT_TUNING.fullmatch(name)}
    own = {
        "PATH": os.pathsep.join([str(binary.parent), environ.get("PATH", os.defpath)]),
        "XDG_CONFIG_HOME": str(home / "xdg-config"),
        "XDG_CACHE_HOME": str(home / "xdg-cache"),
        "PWD": str(home / "cwd"),
        "NO_COLOR": "1",
        "QMD_SQLITE_BUSY_TIMEOUT": str(BUSY_MS),
    }
    return {**kept, **own, **({"QMD_FORCE_CPU": "1"} if words_only else {})}


def find_program(command: str, environ: Mapping[str, str]) -> Path:
    """Return the absolute path of the program. Raises QmdMissing."""
    expanded = str(Path(environ.get("HOME", "~"), command[2:])) if command.startswith("~/") else command
    found = shutil.which(expanded, path=environ.get("PATH", os.defpath))
    if found is None:
        raise QmdMissing(f"There is no program {command!r}, which memory.backend `qmd` needs.")
    return Path(found).absolute()


class Program:
    """QMD's program; every run is a process group of its own."""

    def __init__(self, binary: Path, environ: Mapping[str, str], home: Path) -> None:
        self.binary = binary
        self.environ = environ
        self.folder = home / "cwd"
        self._running = set[subprocess.Popen[bytes]]()
        self._lock = Lock()
        self._closed = False

    def start(self, arguments: Sequence[str], *, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """Start the program. Raises QmdMissing."""
        with self._lock:
            if self._closed:
                raise QmdMissing("QMD is closed.")
            try:
                process = subprocess.Popen(  # noqa: S603 (the program that the owner configured)
                    [str(self.binary), *arguments],
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=dict(self.environ),
                    cwd=self.folder,
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                raise QmdMissing(f"The program {str(self.binary)!r} cannot start: {sentence(error)}") from error
            self._running.add(process)
        return process

    def run(self, arguments: Sequence[str], *, timeout: float) -> Output:
        """Run the program until it ends. After `timeout` seconds, it and all its children are killed.

        Raises QmdFailure: it cannot start, did not end in time, printed far too much, or failed.
        """
        name = f"The command `qmd {arguments[0]}`"
        process = self.start(arguments)
        assert process.stdout is not None
        assert process.stderr is not None
        output = Collector(process, process.stdout)
        errors = Collector(process, process.stderr, only_end=True)
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise QmdTimeout(
                f"The command `qmd {arguments[0]}` did not end within {max(round(timeout, 1), 0.1):g} seconds."
            ) from None
        finally:
            if process.returncode is None:  # also after Ctrl-C, which does not reach another process group
                kill_group(process)
            output.finish()
            errors.finish()
            self.forget(process)
        if output.too_long:
            raise too_much_output(arguments[0])
        result = Output(output.text, readable(errors.text))
        if process.returncode:
            raise failed(name, process.returncode, result)
        return result

    def forget(self, process: subprocess.Popen[bytes]) -> None:
        """Stop keeping track of a process that has ended."""
        with self._lock:
            self._running.discard(process)

    def close(self) -> None:
        """Kill everything that runs; nothing can start afterwards."""
        with self._lock:
            self._closed = True
            running = list(self._running)
        for process in running:
            kill_group(process)


def too_much_output(command: str) -> QmdUnreadable:
    """Return the error for a command that was killed because it printed too much."""
    return QmdUnreadable(
        f"The command `qmd {command}` printed more than {MOST_OUTPUT // 1_000_000} MB and was stopped."
    )


def failed(name: str, code: int, output: Output) -> QmdFailure:
    """Return the error for a run that ended with an exit code other than 0."""
    number = -code if code < 0 else code - 128
    if code < 0 or number in {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGKILL}:
        with suppress(ValueError):
            cause = signal.Signals(number).name
            node = "QMD needs Node 22 or newer; put the folder of its `node` first in PATH."
            return QmdCrashed(f"{name} was ended by the signal {cause}.", remedy=node if cause == "SIGSEGV" else "")
    return failure_of(name, code, output.errors or output.text)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all its children, and wait for its end.

    QMD's launcher starts a second process, which would go on alone; in a loop it would ignore a polite signal.
    """
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


class Collector:
    """Reads one stream of a process in a thread, up to the limit."""

    def __init__(self, process: subprocess.Popen[bytes], stream: IO[bytes], *, only_end: bool = False) -> None:
        self.too_long = False
        self._process = process
        self._stream = stream
        self._only_end = only_end
        self._blocks = list[bytes]()
        self._size = 0
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    @property
    def text(self) -> str:
        return b"".join(self._blocks).decode("utf-8", "replace")

    def finish(self) -> None:
        """Wait for the rest of the stream, and end those who keep it open."""
        self._thread.join(AFTER_EXIT)
        if self._thread.is_alive():
            # Somebody of the group holds the stream, so its number cannot belong to anybody else yet.
            with suppress(OSError, AttributeError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._thread.join(AFTER_EXIT)
        with suppress(OSError, ValueError):
            self._stream.close()

    def _read(self) -> None:
        with suppress(OSError, ValueError):
            while block := os.read(self._stream.fileno(), 65_536):
                if self._only_end:
                    self._blocks = [append_capped(b"".join(self._blocks), block, MOST_ERRORS)[0]]
                    continue
                self._size += len(block)
                if self._size > MOST_OUTPUT:
                    self.too_long = True
                    kill_group(self._process)
                    return
                self._blocks.append(block)


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
