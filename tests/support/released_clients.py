"""Released agent clients from npm, and memoriter as a program that they can start."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest
from filelock import FileLock

from memory_env import MemoryEnv

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from servers.agent_model import AgentModel

SECONDS = 300
"""A limit for anything that a client does on a busy machine."""
HANGING_SECONDS = 5
"""A limit for a hook that hangs; those of an installation are up to 30 seconds."""
PROGRAM = """#!{python}
import sys
sys.path[:0] = {paths!r}
sys.argv[0] = __file__
from memoriter.cli import main
sys.exit(main())
"""


@dataclass
class Client:
    """A client in a folder of work, with a home of its own and the scripted model."""

    env: MemoryEnv
    model: AgentModel
    work: Path
    program: Path
    environ: dict[str, str]

    @classmethod
    def at(cls, folder: Path, released: Path, model: AgentModel, **environ: str) -> Self:
        """Return the client in a folder; `environ` are its own variables."""
        env = MemoryEnv.at(folder)
        env.configure(provider="none")
        (folder / "work").mkdir()
        path = f"{released.parent}{os.pathsep}{os.environ['PATH']}"
        return cls(
            env, model, folder / "work", write_program(env, folder), {**env.environment(), "PATH": path, **environ}
        )

    def run(self, *command: str) -> str:
        done = subprocess.run(
            command,
            env=self.environ,
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=SECONDS,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def released_client(package: str, program: str) -> Path:
    """Return the program of an npm package, or skip the test without npm and its registry.

    Args:
        package: the name and version, such as `@openai/codex@0.169.0`. Each is installed once for this user, below the
            folder for temporary files, and used again by later runs.
        program: the name of the program in the package.
    """
    return released_packages(package, [package], program)


def released_packages(name: str, packages: Sequence[str], program: str, flags: Sequence[str] = ()) -> Path:
    """Return a program that is installed with several npm packages, or skip the test as `released_client` does.

    Args:
        name: the name under which they are kept.
        packages: names and versions.
        program: the name of the program.
        flags: further options of `npm install`.
    """
    return released_folder(name, packages, flags) / "node_modules" / ".bin" / program


def released_folder(name: str, packages: Sequence[str], flags: Sequence[str] = ()) -> Path:
    """Return the folder that npm packages are installed in, or skip the test as `released_client` does."""
    cache = Path(tempfile.gettempdir()) / f"memoriter-test-clients-{os.getuid()}"
    cache.mkdir(mode=0o700, exist_ok=True)
    if cache.is_symlink() or cache.stat().st_uid != os.getuid():
        pytest.skip(f"NOT TESTED with {name}: {cache} belongs to somebody else")
    folder = cache / name.strip("@").replace("/", "-")
    with FileLock(f"{folder}.lock"):  # so that two workers do not install the same
        if not folder.exists():
            _install(name, packages, folder, flags)
    return folder


def _install(package: str, packages: Sequence[str], folder: Path, flags: Sequence[str]) -> None:
    """Install packages beside their folder, and move them there when they are complete."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip(f"NOT TESTED with {package}: there is no npm")
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="part-") as part:
        command = [npm, "install", "--no-audit", "--no-fund", *flags, "--prefix", part, *packages]
        try:
            done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=SECONDS, cwd=part)
        except subprocess.TimeoutExpired:
            pytest.skip(f"NOT TESTED with {package}: npm did not end in {SECONDS} seconds")
        if done.returncode:
            pytest.skip(f"NOT TESTED with {package}: {done.stderr[-500:]}")
        Path(part).rename(folder)
        Path(part).mkdir()


def write_program(env: MemoryEnv, folder: Path) -> Path:
    """Write an executable `memoriter` that runs the sources under test."""
    program = folder / "memoriter"
    paths = env.environment()["PYTHONPATH"].split(os.pathsep)
    program.write_text(PROGRAM.format(python=sys.executable, paths=paths), encoding="utf-8")
    program.chmod(0o755)
    return program


def give_time(settings: Path, limit: int = SECONDS) -> None:
    """Change the limit of hooks that have one, usually to what they need on a busy machine; in the client's unit."""
    content = json.loads(settings.read_text(encoding="utf-8"))
    for groups in content["hooks"].values():
        for hook in (hook for group in groups for hook in group["hooks"] if "timeout" in hook):
            hook["timeout"] = limit
    settings.write_text(json.dumps(content), encoding="utf-8")


HANGING = '#!/bin/sh\necho "$$ $*" >> {started}\nexec sleep {seconds}\n'


@contextmanager
def hanging_program(program: Path, folder: Path) -> Iterator[list[str]]:
    """Let `memoriter` hang whatever it is asked, and end what was started; yields the last words of its command lines.

    The list is filled when the context ends.
    """
    started = folder / "started"
    words = list[str]()
    program.write_text(HANGING.format(started=shlex.quote(str(started)), seconds=4 * SECONDS), encoding="utf-8")
    try:
        yield words
    finally:
        for line in started.read_text(encoding="utf-8").splitlines():
            number, *arguments = line.split()
            words.append(arguments[-1])
            command = Path(f"/proc/{number}/cmdline")
            if command.exists() and b"sleep" in command.read_bytes():
                os.kill(int(number), signal.SIGKILL)


@contextmanager
def https_proxy() -> Iterator[tuple[dict[str, str], list[str]]]:
    """A proxy on this machine that refuses what it is asked; yields the variables that name it, and the requests."""
    requests: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def take() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    with connection, suppress(OSError):
                        connection.settimeout(10)
                        requests.append(connection.recv(4_096).decode("latin-1").partition("\r\n")[0])

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        yield (
            {"HTTPS_PROXY": address, "https_proxy": address, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"},
            requests,
        )
        listening.shutdown(socket.SHUT_RDWR)
    thread.join()


@contextmanager
def foreign_key() -> Iterator[tuple[dict[str, str], list[str]]]:
    """A key that is meant for the agent's model; yields the variables of the agent, and the requests to a service."""
    with https_proxy() as (variables, requests):
        yield {**variables, "OPENAI_API_KEY": "sk-of-the-agent-0123456789"}, requests


def unfinished_index(env: MemoryEnv) -> None:
    """Index the words of 400 more notes, and select a service whose vectors are all missing from here on."""
    env.many(400)
    env.configure(provider="none")
    assert env.run("index").exit_code == 0
    env.configure(provider="openai", sync={"background": False})
