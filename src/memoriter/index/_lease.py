"""The right to index: one process at a time, and what others are told about it."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.errors import IndexBusy
from memoriter.permissions import PRIVATE_FILE
from memoriter.plain_file import read_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from filelock import BaseFileLock

LOOK_SECONDS = 1.0
"""How often one who waits looks whether the holder is stopped."""
POLL_SECONDS = 0.01
"""How often one who waits tries: seldom, and those who come and go would always be first."""
BEAT_SECONDS = 1.0
"""A holder that writes notes it at most this often."""
SILENT_SECONDS = 60.0
"""A holder that has written nothing for so long may hang: no batch of a service takes longer than that."""
_LONGEST = 1 << 16
"""Bytes of a lease."""
SEARCHABLE = "Wait until it is done; searches work meanwhile."


@dataclass(frozen=True, slots=True)
class Holder:
    """Who has the right to index, as it says of itself."""

    pid: int
    host: str
    program: str
    since: float
    """Seconds since 1970."""


class Lease:
    """A lock of the operating system on a file beside the index, which says in it who holds it.

    The system lets go of the lock at the moment when its process dies, however it dies, so nothing has to be believed
    about clocks. A process that is stopped keeps it: the others say so, and search what there is. If somebody deletes
    the file, another process can take the lease although the first one lives; so whoever holds it looks before each
    of its writes, inside the transaction, whether the file of that name is still the one it locked, and gives up if
    not. Since SQLite lets one write at a time, nothing of an old holder can follow anything of a new one.
    """

    def __init__(self, index: Path, clock: Callable[[], float]) -> None:
        """`clock` gives seconds since 1970."""
        self._index = index
        self._path = index.with_name(f"{index.name}.lease")
        self._clock = clock
        self._made: BaseFileLock | None = None
        self._locked: tuple[int, int] | None = None
        self._depth = 0
        self._beaten = 0.0

    @contextmanager
    def held(self, wait: float) -> Generator[None]:
        """Hold the lease; the thread that holds it may do so again.

        `IndexBusy` after `wait` seconds, or as soon as the one that holds it is seen to be stopped.
        """
        self._acquire(wait)
        try:
            if not self._depth:
                self._sign()
            self._depth += 1
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                self._locked = None
            self._lock.release()

    def check(self) -> None:
        """Raise `IndexBusy` if this process holds the lease and another one has taken it; else show a sign of life."""
        if self._locked is None:
            return
        if identity(self._path) != self._locked:
            raise IndexBusy(
                f"The lease {str(self._path)!r} was deleted while this process held it, and is another one's now",
                remedy="Nothing is lost. Once the other process is done, run: memoriter index",
            )
        now = self._clock()
        if abs(now - self._beaten) >= BEAT_SECONDS:
            self._beaten = now
            with suppress(OSError):
                os.utime(self._path, (now, now))

    def _busy(self) -> IndexBusy:
        """The error for one who cannot have the lease: who has it, since when, and what can be done."""
        message = f"Another process is indexing {str(self._index)!r}"
        holder = self._holder()
        if holder is None:
            return IndexBusy(message, remedy=SEARCHABLE)
        now, here = self._clock(), holder.host == host_name()
        if here and holder.pid == os.getpid():
            return IndexBusy(f"This process is indexing {str(self._index)!r} already", remedy=SEARCHABLE)
        silent = max(0.0, now - self._last_beat(now))
        since = datetime.fromtimestamp(holder.since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        place = "" if here else f" on {holder.host}"
        message += f": {holder.program} (process {holder.pid}{place}), since {since}"
        if here and stopped(holder.pid):
            kept = "what it finished is kept"
            end = f"Let it go on: kill -CONT {holder.pid}. Or end it: kill -9 {holder.pid} ({kept})."
            return IndexBusy(f"{message}; it is stopped, and wrote last {_span(silent)} ago", remedy=end)
        if silent >= SILENT_SECONDS:
            end = f"If it hangs, end it: kill -9 {holder.pid}. What it finished is kept; searches work meanwhile."
            return IndexBusy(f"{message}; it wrote last {_span(silent)} ago", remedy=end)
        return IndexBusy(message, remedy=SEARCHABLE)

    @property
    def _lock(self) -> BaseFileLock:
        if self._made is None:
            from filelock import FileLock

            self._made = FileLock(self._path, mode=PRIVATE_FILE)
        return self._made

    def _acquire(self, wait: float) -> None:
        from filelock import Timeout

        while True:
            try:
                self._lock.acquire(timeout=min(wait, LOOK_SECONDS), poll_interval=POLL_SECONDS)
            except Timeout:
                wait -= LOOK_SECONDS
                holder = self._holder()
                if wait <= 0 or (holder and holder.host == host_name() and stopped(holder.pid)):
                    raise self._busy() from None
            else:
                return

    def _last_beat(self, now: float) -> float:
        try:
            return self._path.stat().st_mtime
        except OSError:
            return now

    def _holder(self) -> Holder | None:
        try:
            return Holder(**json.loads(read_plain(self._path, _LONGEST)))
        except (OSError, ValueError, TypeError, RecursionError):
            return None

    def _sign(self) -> None:
        """Write who we are; a lease that cannot be signed (a full disk) holds all the same."""
        self._locked = identity(self._path)
        self._beaten = now = self._clock()
        holder = Holder(os.getpid(), host_name(), program_name(), now)
        with suppress(OSError):
            self._path.write_text(json.dumps(asdict(holder)), encoding="utf-8")
            os.utime(self._path, (now, now))


def identity(path: Path) -> tuple[int, int] | None:
    """Which file a path leads to; `None` when to none."""
    try:
        found = os.stat(path)  # noqa: PTH116 (asked at every query: a microsecond less)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def host_name() -> str:
    """The machine's name, a container's own inside one."""
    import platform

    return os.uname().nodename if hasattr(os, "uname") else platform.node()


def program_name() -> str:
    """What was started, without the words after it: they may be private."""
    started = Path(sys.argv[0] if sys.argv else "")
    return (started.parent.name if started.name == "__main__.py" else started.name).strip("-") or "python"


def stopped(pid: int, processes: Path = Path("/proc")) -> bool:
    """Whether a process of this machine is stopped (Ctrl-Z, SIGSTOP, a debugger); False where nobody can tell."""
    try:
        fields = (processes / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return False
    return bool(fields) and fields[0] in {b"T", b"t"}


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
