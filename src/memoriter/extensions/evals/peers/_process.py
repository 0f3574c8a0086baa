"""Programs that are measured: runs from start to exit, and sessions that answer one request after the other."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, Queue
from tempfile import TemporaryFile
from threading import Thread, Timer, current_thread, main_thread
from time import perf_counter
from typing import IO, TYPE_CHECKING, Any, Self

from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

_TAIL = 300
"""Characters of an error output that a message quotes."""


class PeerFailed(Exception):
    """A program did not do what it was asked; the text says what happened."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A program that ended well."""

    output: str
    seconds: float
    peak_mb: float | None
    """Most memory that one of its processes held, in megabytes.

    None where the system does not report it, and if it is not more than this process held: Linux counts the memory of
    the process that starts a program as the program's own.
    """


def run_program(command: Sequence[str], *, environ: Mapping[str, str], folder: Path, timeout: float) -> Finished:
    """Run a program until it exits.

    Args:
        command: its words.
        environ: all its environment variables.
        folder: its current folder.
        timeout: seconds after which it and all its children are killed.

    Raises:
        PeerFailed: if it cannot start, fails, or does not end in time.
    """
    with TemporaryFile() as output, TemporaryFile() as errors:
        begun = perf_counter()
        with _started(command, dict(environ), folder, output, errors) as process:
            code, peak, in_time = _wait(process, timeout)
        seconds = perf_counter() - begun
        output.seek(0)
        errors.seek(0)
        text, complaint = (file.read().decode("utf-8", "replace") for file in (output, errors))
    if code != 0 or not in_time:
        why = f"failed with code {code}" if in_time else f"did not end in {timeout:g} s"
        raise PeerFailed(f"`{' '.join(command[:4])}` {why}: {' '.join((complaint or text).split())[-_TAIL:]}")
    return Finished(text, seconds, peak)


@contextmanager
def _started(
    command: Sequence[str], environ: dict[str, str], folder: Path, output: IO[bytes], errors: IO[bytes]
) -> Generator[subprocess.Popen[bytes]]:
    """Start a program, and kill it and its children if the block fails.

    It has a session of its own, which Ctrl-C does not reach.
    """
    process = None
    try:
        with _interrupts_deferred():  # otherwise one could arrive when the program runs and `process` is not yet set
            process = subprocess.Popen(  # noqa: S603 (a program that the user named)
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                env=environ,
                cwd=folder,
                start_new_session=True,
            )
        yield process
    except BaseException as error:
        if process is not None:
            _kill_group(process)
            process.wait()
        elif isinstance(error, OSError):
            raise PeerFailed(f"{command[0]} cannot start: {error}") from error
        raise


@contextmanager
def _interrupts_deferred() -> Generator[None]:
    """Deliver Ctrl-C when the block has ended."""
    if current_thread() is not main_thread():  # only the main thread is interrupted
        yield
        return
    arrived: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: arrived.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if arrived:
            signal.raise_signal(signal.SIGINT)


def _wait(process: subprocess.Popen[bytes], timeout: float) -> tuple[int, float | None, bool]:
    """Return the exit code, the peak memory in megabytes, and whether the process ended in time."""
    late = list[bool]()

    def stop() -> None:
        late.append(True)
        _kill_group(process)

    timer = Timer(timeout, stop)
    try:
        timer.start()
        if not hasattr(os, "wait4"):
            return process.wait(), None, not late
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        own = _own_peak()
        unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
        return process.returncode, usage.ru_maxrss / unit if usage.ru_maxrss > own else None, not late
    finally:
        timer.cancel()


def _own_peak() -> int:
    """Return the most memory that this process held, in the unit of `ru_maxrss`."""
    import resource

    with suppress(OSError):  # `ru_maxrss` of this process counts the process that started it, too
        status = Path("/proc/self/status").read_text("ascii", "replace")
        if peak := re.search(r"^VmHWM:\s*(\d+) kB", status, re.MULTILINE):
            return int(peak[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _kill_group(process: subprocess.Popen[Any]) -> None:
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


@dataclass(slots=True)
class LineSession:
    """A program that reads one JSON value per line and answers with one per line; a context manager."""

    command: Sequence[str]
    environ: Mapping[str, str]
    folder: Path
    timeout: float
    """Seconds that an answer may take."""
    _process: subprocess.Popen[str] | None = None
    _lines: Queue[str | None] = field(default_factory=Queue["str | None"])

    def __enter__(self) -> Self:
        try:
            self._process = subprocess.Popen(  # noqa: S603 (a program that the user named)
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=dict(self.environ),
                cwd=self.folder,
                encoding="utf-8",
                start_new_session=True,
            )
        except OSError as error:
            raise PeerFailed(f"{self.command[0]} cannot start: {error}") from error
        Thread(target=self._read, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process:
            _kill_group(self._process)
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream:
                    with suppress(OSError):
                        stream.close()

    def send(self, value: object) -> None:
        """Send a value. Raises PeerFailed if the program has ended."""
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{json.dumps(value)}\n")
            self._process.stdin.flush()
        except OSError as error:
            raise PeerFailed(f"`{' '.join(self.command[:2])}` has ended: {error}") from error

    def receive(self) -> Any:
        """Return the next value; lines that are no JSON are skipped. Raises PeerFailed without one in time."""
        while True:
            try:
                line = self._lines.get(timeout=self.timeout)
            except Empty:
                raise PeerFailed(f"`{' '.join(self.command[:2])}` gave no answer in {self.timeout:g} s") from None
            if line is None:
                raise PeerFailed(f"`{' '.join(self.command[:2])}` ended without an answer")
            with suppress(ValueError):
                return json.loads(line)

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        with suppress(ValueError, OSError):
            for line in self._process.stdout:
                self._lines.put(line)
        self._lines.put(None)


def call_mcp(session: LineSession, method: str, params: Mapping[str, Any], number: int) -> Any:
    """Return the result of a request to an MCP server over stdio. Raises PeerFailed."""
    session.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    while True:
        match session.receive():
            case {"id": int(answered), "result": result} if answered == number:
                return result
            case {"id": int(answered), "error": error} if answered == number:
                raise PeerFailed(f"{method}: {error}")
            case _:
                continue
