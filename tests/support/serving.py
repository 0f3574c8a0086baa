"""`memoriter serve` as a process, and hooks that find it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from socket import AF_UNIX, socket
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from hook_inputs import hook_input

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from memory_env import MemoryEnv, Outcome

LIMIT = 150.0
"""Seconds that anything may take on a busy machine."""
NOT_BY_ITSELF = """
sys.modules["memoriter.app"] = None
import memoriter.discovery._delegation as handover
handover.TAKEN_SECONDS = 60.0
"""
"""Python before the program: no command can open a memory without that module, and it waits for a busy server."""


@dataclass
class Serving:
    """A server that runs."""

    process: subprocess.Popen[str]
    url: str
    folder: Path
    link: str = ""
    """The one-time link that the server printed; empty: there is none."""

    @property
    def file(self) -> Path:
        (file,) = self.folder.glob("*.json")
        return file

    @property
    def token(self) -> str:
        """What clients have to send."""
        return (self.folder.parent / "token").read_text(encoding="ascii").strip()

    @property
    def announcement(self) -> dict[str, Any]:
        return json.loads(self.file.read_text(encoding="utf-8"))

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        self.process.communicate(timeout=LIMIT)
        return self.process.returncode


@contextmanager
def serving(env: MemoryEnv, *words: str, before: str = "") -> Iterator[Serving]:
    """A server of the notes of an environment, or with other arguments; `before` is Python that runs first."""
    chosen = words if "-w" in words else ("-w", str(env.notes), *words)
    command = env.command("--json", "serve", "--port", "0", *chosen, before=before)
    with subprocess.Popen(
        command, env=env.environment(), cwd=env.notes, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout
            line = process.stdout.readline()
            assert line, process.stderr and process.stderr.read()
            printed = json.loads(line)
            yield Serving(process, printed["url"], env.home / "serve", printed.get("open", ""))
        finally:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.terminate()
            process.communicate(timeout=LIMIT)


def hook(env: MemoryEnv, event: str, *words: str, before: str = "", cwd: Path | None = None, **changes: Any) -> Outcome:
    """A hook of Claude Code, as a process, in the folder of the notes."""
    from memory_env import Outcome

    with started(env, event, *words, before=before, cwd=cwd, **changes) as process:
        out, err = process.communicate(timeout=LIMIT)
    return Outcome(process.returncode, out, err)


def started(
    env: MemoryEnv, event: str, *words: str, before: str = "", cwd: Path | None = None, **changes: Any
) -> subprocess.Popen[str]:
    """The same, not waited for."""
    folder = cwd or env.notes
    process = subprocess.Popen(
        env.command("hook", event, *words, before=before),
        env=env.environment(),
        cwd=folder.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stdin
    process.stdin.write(hook_input("claude-code", event, cwd=folder, **changes))
    process.stdin.close()
    process.stdin = None
    return process


def whole(connection: socket) -> bytes:
    """One request, with its body."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += _more(connection)
    (length,) = re.findall(rb"Content-Length: (\d+)", received)
    while len(received.partition(b"\r\n\r\n")[2]) < int(length):
        received += _more(connection)
    return received


def _more(connection: socket) -> bytes:
    part = connection.recv(1 << 16)
    if not part:
        raise ConnectionResetError("the request ends too early")
    return part


@contextmanager
def answering(act: Callable[[socket], None]) -> Iterator[str]:
    """The path of a socket, in a private folder, at which something does this with each connection."""
    with TemporaryDirectory(dir="/tmp") as folder, socket(AF_UNIX) as listening:
        listening.bind(f"{folder}/s")
        listening.listen()

        def run() -> None:
            with suppress(OSError):  # closed at the end
                while True:
                    connection, _ = listening.accept()
                    with connection, suppress(OSError):
                        act(connection)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield f"{folder}/s"


def pointed(server: Serving, socket: str) -> None:
    """Let commands believe that the server listens there."""
    server.file.write_text(json.dumps(server.announcement | {"socket": socket}), encoding="utf-8")
