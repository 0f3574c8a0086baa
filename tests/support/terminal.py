"""A terminal in which a program with a screen runs: what it shows as text, and keys for it."""

from __future__ import annotations

import os
import re
import select
import signal
import struct
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

ROWS = 40
COLUMNS = 120
ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_=>])")
"""A sequence that moves, colours or asks."""
ANSWERS = {b"\x1b[6n": b"\x1b[1;1R", b"\x1b[c": b"\x1b[?62;22c"}
"""What a terminal says if a program asks where the cursor is and what the terminal can do."""


class Terminal:
    """A program in a terminal of its own; a context manager that ends the program."""

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path, seconds: float) -> None:
        import fcntl
        import termios

        self._seconds = seconds
        self._keyboard, inside = os.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        environ = {**env, "TERM": "xterm-256color"}
        self._process = subprocess.Popen(
            command, env=environ, cwd=cwd, stdin=inside, stdout=inside, stderr=inside, start_new_session=True
        )
        os.close(inside)
        self.shown = ""
        """Everything that was shown since the last key, without escape sequences and with single spaces. A program
        draws only what changes, so letters may be missing where the same ones stood."""
        self._raw = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with suppress(ProcessLookupError):  # what the program has started, and left
            os.killpg(self._process.pid, signal.SIGKILL)
        os.close(self._keyboard)

    def wait(self, words: str) -> None:
        """Wait until the program shows these words; fail after the limit."""
        end = time.monotonic() + self._seconds
        while words not in self.shown:
            assert time.monotonic() < end, f"{words!r} was not shown, but: {self.shown[-2_000:]}"
            self._read()

    def settle(self, seconds: float = 2.0) -> None:
        """Read for a while, so that keys are not lost while a screen is being built; some screens never stand still."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._read()

    def press(self, keys: str) -> None:
        """Press keys; what was shown before is forgotten."""
        self._raw = b""
        self.shown = ""
        os.write(self._keyboard, keys.encode())

    def enter(self, until: Callable[[], bool]) -> None:
        """Press Enter until it has an effect, again after 10 seconds: a key is lost while a screen is being built."""
        end = time.monotonic() + self._seconds
        while not until():
            assert time.monotonic() < end, self.shown[-2_000:]
            self.press("\r")
            again = time.monotonic() + 10
            while not until() and time.monotonic() < again:
                self._read()

    def _read(self, seconds: float = 0.2) -> bool:
        if not select.select([self._keyboard], [], [], seconds)[0]:
            return False
        try:
            part = os.read(self._keyboard, 65_536)
        except OSError:  # the program has ended
            part = b""
        assert part, f"The program has ended after: {self.shown[-2_000:]}"
        for asked, answer in ANSWERS.items():
            if asked in part:
                os.write(self._keyboard, answer)
        self._raw += part
        self.shown = " ".join(ESCAPE.sub(" ", self._raw.decode("utf-8", "replace")).split())
        return True
