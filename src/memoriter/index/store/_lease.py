"""The right to index: one process at a time, and what other processes report about it."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.environment import host_name, program_name
from memoriter.errors import IndexBusy
from memoriter.index.store._connection import identity
from memoriter.permissions import PRIVATE_FILE
from memoriter.plain_file import read_plain
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from filelock import BaseFileLock

LOOK_SECONDS = 1.0
"""How often a waiting process checks whether the holder is stopped."""
POLL_SECONDS = 0.01
"""How often a waiting process tries the lock: if it tried seldom, processes that come and go would always be first."""
HEARTBEAT_SECONDS = 1.0
"""The shortest interval at which a holder that writes updates its lease."""
SILENT_SECONDS = 60.0
"""A holder that has written nothing for this long may hang: no batch of a provider takes longer."""
_MAX_BYTES = 1 << 16
"""The largest lease that is read, in bytes."""
SEARCHABLE = "Wait until it is done; searches work meanwhile."


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that has the right to index, as written in its lease."""

    pid: int
    host: str
    program: str
    since: float
    """Seconds since 1970."""


class Lease:
    """A lock of the operating system on a file beside the index; the file names the holder.

    The system releases the lock when its process dies, however it dies, so no clock has to be trusted. A stopped
    process keeps the lock: other processes report that and search the existing index. If the file is deleted, another
    process can take the lease while the first one lives. Therefore the holder checks before each of its writes, inside
    the transaction, that the file of that name is still the one it locked, and gives up if not. SQLite allows one write
    at a time, so no write of an old holder can follow a write of a new one.
    """

    def __init__(self, index: Path, clock: Callable[[], float]) -> None:
        """Take the path of the index; `clock` returns seconds since 1970."""
        self._index = index
        self._path = lease_of(index)
        self._clock = clock
        self._file_lock: BaseFileLock | None = None
        self._locked: tuple[int, int] | None = None
        self._depth = 0
        self._last_heartbeat = 0.0

    @contextmanager
    def hold(self, wait: float) -> Generator[None]:
        """Hold the lease; the thread that holds it may do so again.

        Raises:
            IndexBusy: the lease was not free within `wait` seconds, or its holder is stopped.
        """
        self._acquire(wait)
        try:
            if not self._depth:
                self._write_holder()
            self._depth += 1
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                self._locked = None
            self._lock.release()

    def check(self) -> None:
        """Raise IndexBusy if another process took the lease that this one holds; otherwise update the heartbeat."""
        if self._locked is None:
            return
        if identity(self._path) != self._locked:
            raise IndexBusy(
                f"The lease {str(self._path)!r} was deleted while this process held it, and is another one's now.",
                remedy="Nothing is lost. Once the other process is done, run `memoriter index`.",
            )
        now = self._clock()
        if abs(now - self._last_heartbeat) >= HEARTBEAT_SECONDS:
            self._last_heartbeat = now
            with suppress(OSError):
                os.utime(self._path, (now, now))

    def _busy(self) -> IndexBusy:
        """Return the error for an unavailable lease: who holds it, since when, and what can be done."""
        message = f"Another process is indexing {str(self._index)!r}"
        holder = self._holder()
        if holder is None:
            return IndexBusy(f"{message}.", remedy=SEARCHABLE)
        now = self._clock()
        is_local = holder.host == host_name()
        if is_local and holder.pid == os.getpid():
            return IndexBusy(f"This process is indexing {str(self._index)!r} already.", remedy=SEARCHABLE)
        silent = max(0.0, now - self._last_write(now))
        since = datetime.fromtimestamp(holder.since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        place = "" if is_local else f" on {holder.host}"
        message += f": {holder.program} (process {holder.pid}{place}), since {since}"
        if is_local and is_stopped(holder.pid):
            kept = "what it finished is kept"
            end = f"Let it go on: kill -CONT {holder.pid}. Or end it: kill -9 {holder.pid} ({kept})."
            return IndexBusy(f"{message}; it is stopped, and wrote last {_format_seconds(silent)} ago.", remedy=end)
        if silent >= SILENT_SECONDS:
            end = f"If it hangs, end it: kill -9 {holder.pid}. What it finished is kept; searches work meanwhile."
            return IndexBusy(f"{message}; it wrote last {_format_seconds(silent)} ago.", remedy=end)
        return IndexBusy(f"{message}.", remedy=SEARCHABLE)

    @property
    def _lock(self) -> BaseFileLock:
        if self._file_lock is None:
            from filelock import FileLock

            self._file_lock = FileLock(self._path, mode=PRIVATE_FILE)
        return self._file_lock

    def _acquire(self, wait: float) -> None:
        from filelock import Timeout

        while True:
            try:
                self._lock.acquire(timeout=min(wait, LOOK_SECONDS), poll_interval=POLL_SECONDS)
            except Timeout:
                wait -= LOOK_SECONDS
                holder = self._holder()
                if wait <= 0 or (holder and holder.host == host_name() and is_stopped(holder.pid)):
                    raise self._busy() from None
            else:
                return

    def _last_write(self, now: float) -> float:
        try:
            return self._path.stat().st_mtime
        except OSError:
            return now

    def _holder(self) -> Holder | None:
        try:
            return Holder(**json.loads(read_plain(self._path, _MAX_BYTES)))
        except (OSError, ValueError, TypeError, RecursionError):
            return None

    def _write_holder(self) -> None:
        """Write this process into the lease; a lease that cannot be written (a full disk) is still valid."""
        self._locked = identity(self._path)
        self._last_heartbeat = now = self._clock()
        holder = Holder(os.getpid(), host_name(), program_name(), now)
        with suppress(OSError):
            self._path.write_text(json.dumps(asdict(holder)), encoding="utf-8")
            os.utime(self._path, (now, now))


def lease_of(index: Path) -> Path:
    """Return the path of the lease of an index. No other program has such a file beside its database."""
    return index.with_name(f"{index.name}.lease")


def is_stopped(pid: int) -> bool:
    """Return whether a process of this machine is stopped (Ctrl-Z, SIGSTOP, a debugger); False if unknown."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return False
    return bool(fields) and fields[0] in {b"T", b"t"}


def _format_seconds(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
