"""The files of one index on disk: how one is created, how another file takes its place, and the right to index.

The index is one file. It is built beside its path and renamed, so whoever opens the path finds a whole index. SQLite
finds the log of a database (`-wal`) by its name alone, and a log of the replaced file would spoil the new one. So the
log goes before the file does, and nobody opens the path meanwhile. A process that has the old file open keeps it, with
its log, although both have lost their names; SQLite looks whether its file has moved before it removes a log by name.

One process at a time has the right to index: the lease, a locked file beside the index.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.environment import host_name, program_name
from memoriter.errors import IndexBusy, IndexUnavailable
from memoriter.index._connection import (
    CHECKSUM_BYTES,
    has_checksums,
    identity,
    reserve_checksums,
    set_counter,
    transaction,
    translate_errors,
)
from memoriter.index._schema import APPLICATION_ID, SCHEMA, VERSION
from memoriter.permissions import MOUNTS, PRIVATE_FILE, file_system_of, make_private_folder, open_private
from memoriter.plain_file import read_plain
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager

    from filelock import BaseFileLock

    from memoriter.index._connection import Database


_COMPANIONS = ("-wal", "-shm", "-journal")
BACKGROUND = "background"
"""The name of the lock of the one run in the background."""
_LOCK_SECONDS = 10.0
"""Creating and replacing take milliseconds; a process that holds this lock longer is stuck."""
_POLL_SECONDS = 0.01


def index_files(path: Path) -> list[Path]:
    """Return the existing files of the index at a path: logs, locks, and files that were set aside or left over."""
    own = re.compile(rf"\.?{re.escape(path.name)}(?:$|[.-])")
    with suppress(OSError):
        names = os.listdir(path.parent)  # noqa: PTH208 (names are all that is needed)
        return [path.with_name(each) for each in names if own.match(each)]
    return []


def runs_in_background(path: Path) -> bool:
    """Return whether a process holds the lock of the run in the background; True if the system cannot tell."""
    lock = _lock_file(follow_links(path), BACKGROUND)
    if sys.platform == "win32":
        return lock.exists()
    import fcntl

    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _lock_file(path: Path, name: str) -> Path:
    return path.with_name(f"{path.name}.{name}")


class IndexFiles:
    """The files and the lease of one index."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self.path = follow_links(path)
        self.lease = Lease(self.path, clock)
        """The right to index."""
        self.lock = _lock_file(self.path, "lock")
        """The file whose lock keeps the index in its place."""

    @property
    def aside(self) -> Path:
        """Where a damaged index is kept; a later one replaces it."""
        return self.path.with_name(f"{self.path.name}.damaged")

    def identity(self) -> tuple[int, int] | None:
        """Return the device and inode of the index, or None. Raises IndexUnavailable if a folder is in its place."""
        if self.path.is_dir():
            raise IndexUnavailable(
                f"{str(self.path)!r} is a folder, not an index.", remedy="Move it away or set memorySearch.store.path."
            )
        return identity(self.path)

    def new_file(self) -> Path:
        """Return an unused path for an index that is being built."""
        return self.path.with_name(f"{self.path.name}.{os.urandom(4).hex()}.new")

    def replace(
        self, expected: tuple[int, int] | None, build: Callable[[Path], None], *, set_aside: bool = False
    ) -> bool:
        """Let `build` make an index file and put it in the place of another one, or of none.

        Args:
            expected: device and inode of the file that it replaces; None: there is none.
            build: makes the file at a path.
            set_aside: keep the other file as `aside`.

        Returns:
            False if another file is there by now; then nothing was done.
        """
        make_private_folder(self.path.parent)
        with self._locked(shared=False):
            if self.identity() != expected:
                return False
            fresh = self.new_file()
            try:
                build(fresh)
                self._put_in_place(fresh, set_aside=set_aside)
            except BaseException:
                remove(fresh)
                raise
        return True

    def publish(self, fresh: Path) -> None:
        """Put a finished, closed index in the place of the present one.

        Raises:
            IndexBusy: another process has the lease now, so what it published is newer.
        """
        with self._locked(shared=False):
            self.lease.check()
            self._put_in_place(fresh, set_aside=False)

    def _put_in_place(self, fresh: Path, *, set_aside: bool) -> None:
        _flush(fresh)
        for companion in _COMPANIONS:
            _unlink(self.path.with_name(self.path.name + companion))
        if set_aside:
            self.path.replace(self.aside)
        fresh.replace(self.path)

    def clean(self) -> None:
        """Delete what a killed process was building, unless a process is building now."""
        left = [file for file in index_files(self.path) if file.suffix.partition("-")[0] == ".new"]
        if left:
            with suppress(IndexBusy), self.lease.hold(0), self._locked(shared=False):
                for file in left:
                    _unlink(file)

    @contextmanager
    def exclusive(self, name: str, busy: IndexBusy, wait: float) -> Generator[None]:
        """Hold the lock file of this name beside the index; raise `busy` if it is not free within `wait` seconds."""
        from filelock import FileLock, Timeout

        lock = FileLock(_lock_file(self.path, name), mode=PRIVATE_FILE)
        with translate_errors(self.path):
            try:
                lock.acquire(timeout=wait)
            except Timeout as error:
                raise busy from error
        try:
            yield
        finally:
            lock.release()

    def opening(self) -> AbstractContextManager[None]:
        """Keep the file in its place meanwhile; any number of processes may open it at once."""
        return self._locked(shared=True)

    @contextmanager
    def _locked(self, *, shared: bool) -> Generator[None]:
        """Keep every process from replacing the file, and from opening it unless `shared`.

        Raises:
            IndexBusy: one of them does not end.
        """
        descriptor = self._open_lock(shared=shared)
        if descriptor is None or sys.platform == "win32":
            yield
            return
        import fcntl

        give_up = time.monotonic() + _LOCK_SECONDS
        try:
            with suppress(OSError):  # some network file systems have no locks
                while True:
                    try:
                        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
                        break
                    except BlockingIOError as error:
                        if time.monotonic() >= give_up:
                            message = f"Another process holds {str(self.path)!r} for longer than it should."
                            raise IndexBusy(message, remedy="Stop the other process and try again.") from error
                        time.sleep(_POLL_SECONDS)
            yield
        finally:
            os.close(descriptor)

    def _open_lock(self, *, shared: bool) -> int | None:
        """Return a descriptor of the lock file; None where nobody can write, so that nobody replaces the index."""
        try:
            return open_private(str(self.lock), os.O_RDONLY | os.O_CREAT)
        except OSError:
            if shared:
                return None
            raise


def follow_links(path: Path) -> Path:
    """Return the absolute path after following links in place of the index, but not of its folders."""
    for _ in range(40):
        path = Path(os.path.abspath(path))  # noqa: PTH100 (`resolve` would follow links of folders)
        if not path.is_symlink():
            return path
        path = path.parent / path.readlink()
    raise IndexUnavailable(
        f"The links at {str(path)!r} lead in a circle.", remedy="Set memorySearch.store.path to another place."
    )


def remove(path: Path) -> None:
    """Delete a file that is not in use, with its logs."""
    for companion in ("", *_COMPANIONS):
        _unlink(path.with_name(path.name + companion))


def _unlink(path: Path) -> None:
    with suppress(FileNotFoundError, PermissionError):
        path.unlink()


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# fmt: off
_NETWORK = frozenset({
    "9p", "acfs", "afpfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "drvfs",
    "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "prl_fs",
    "smb", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs",
})
# fmt: on
_LOCAL_FUSE = frozenset({"fuseblk", "fuse.ntfs-3g", "fuse.exfat", "fuse.ext2", "fuse.fuse-overlayfs"})


def on_network(folder: Path, mounts: Path = MOUNTS) -> bool:
    """Return whether `folder` is on a network file system; False if mounts cannot be listed."""
    return bool(network_of(folder, mounts))


def network_of(folder: Path, mounts: Path = MOUNTS) -> str:
    """Return the kind of network file system that holds `folder` (`nfs4`, `cifs`); empty for a local disk.

    The folder need not exist. If mounts cannot be listed, only the paths of Windows shares are recognized.
    """
    if str(folder).startswith(("\\\\", "//")):
        return "share"
    kind = file_system_of(folder, mounts)
    is_network = kind in _NETWORK or (kind.startswith("fuse") and kind not in _LOCAL_FUSE)
    return kind if is_network else ""


_CHECKSUMS_KEY = "page_checksums"
"""Set in `meta` of a file whose pages have checksums."""


GENERATION = "generation"
"""The counter that numbers the indexes that were built at one path."""
_IDS_PER_GENERATION = 1 << 32
"""Chunk ids reserved for each generation: an id of an older generation never comes back."""


def create(connection: Database, *, generation: int) -> None:
    """Create the schema in an empty database, in one transaction."""
    last_id = _IDS_PER_GENERATION * max(0, generation - 1)
    with transaction(connection):
        connection.execute(SCHEMA).fetchall()
        connection.execute("INSERT INTO sqlite_sequence(name, seq) VALUES ('chunks', ?)", (last_id,))
        set_counter(connection, GENERATION, generation)
        if has_checksums(connection):
            connection.execute("INSERT INTO meta(key, value) VALUES (?, '1')", (_CHECKSUMS_KEY,))
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", VERSION)


def lost_checksums(connection: Database) -> bool:
    """Return whether header and content disagree about page checksums, which means that one of them is damaged."""
    recorded = connection.execute("SELECT value FROM meta WHERE key = ?", (_CHECKSUMS_KEY,)).get is not None
    reserved = int(connection.reserve_bytes("main"))
    return reserved != CHECKSUM_BYTES if recorded else reserved not in (0, CHECKSUM_BYTES)


def vacuum(connection: Database) -> None:
    """Write all pages anew, densely and with checksums; the copy that this needs is on disk, not in memory."""
    # Pages get checksums once the first page says so. Without a log, a page that leaves the cache before has none.
    keep_in_cache = not has_checksums(connection) and connection.pragma("journal_mode") != "wal"
    reserve_checksums(connection)
    connection.pragma("temp_store", 1)
    connection.pragma("cache_spill", int(not keep_in_cache))
    try:
        connection.execute("VACUUM").fetchall()
    finally:
        connection.pragma("cache_spill", 1)
        connection.pragma("temp_store", 2)


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
