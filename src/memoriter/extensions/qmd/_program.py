"""Start the program in an environment of its own, with limits on its time and its output."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from typing import IO, TYPE_CHECKING

from memoriter.errors import QmdCrashed, QmdMissing, QmdTimeout, QmdUnreadable, sentence
from memoriter.extensions.qmd._answers import append_capped, failure_of, readable
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoriter.errors import QmdFailure

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
