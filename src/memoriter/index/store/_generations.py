"""The files of one index on disk: which is active, how a new one replaces it, and how to recognize a foreign file.

The index's path is a symbolic link to the active generation, `main.sqlite -> main.g3.sqlite`. SQLite follows the link
before it names its log, so each generation has its own log, and the link can be switched in one step while other
processes read. A plain file in place of the link is used as it is.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from memoriter.errors import IndexBusy, IndexUnavailable
from memoriter.index.store._connection import connect_read_only, file_kind
from memoriter.index.store._lease import Lease, identity
from memoriter.index.store._schema import APPLICATION_ID
from memoriter.index.store._soundness import Seal, translate_errors
from memoriter.permissions import PRIVATE_FILE, make_private_folder
from memoriter.plain_file import open_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from memoriter.index.store._connection import Database

_COMPANIONS = ("-wal", "-shm", "-journal")
BACKGROUND = "background"
"""The name of the lock of the one run in the background."""
_LOCK_SECONDS = 10.0
"""Creating and swapping take milliseconds; a process that holds this lock longer is stuck."""


def index_files(path: Path) -> list[Path]:
    """Return the existing files of the index at a path: generations, logs, locks, and files that were set aside."""
    generation = _generation_pattern(path)
    name = re.escape(path.name)
    own = re.compile(rf"\.?{name}(?:$|[.-])")
    with suppress(OSError):
        names = os.listdir(path.parent)  # noqa: PTH208 (names are all that is needed)
        return [path.with_name(each) for each in names if own.match(each) or generation.match(each)]
    return []


def runs_in_background(path: Path) -> bool:
    """Return whether a process holds the lock of the run in the background; True if the system offers no way to look.

    Args:
        path: the path of the index.
    """
    lock = _lock_file(follow_links(Path(os.path.abspath(path))), BACKGROUND)  # noqa: PTH100 (as in `IndexFiles`)
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
    """The files, lease and seal of one index."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self.path = follow_links(Path(os.path.abspath(path)))  # noqa: PTH100 (`resolve` would follow our own link)
        self.lease = Lease(self.path, clock)
        """The right to index."""
        self.seal = Seal(self.path)

    def target(self) -> Path | None:
        """Return the active file; None if there is none. Raises IndexUnavailable if a folder is in its place."""
        target = self._link_target() or self.path
        if target.is_dir():
            raise IndexUnavailable(
                f"{str(target)!r} is a folder, not an index.", remedy="Move it away or set memorySearch.store.path."
            )
        return target if target.exists() else None

    def generation_of(self, target: Path) -> int:
        """Return the number of a generation; 0 for a plain file."""
        match = _generation_pattern(self.path).fullmatch(target.name)
        return int(match[1]) if match else 0

    def create(
        self, build: Callable[[Path], None], *, after: int = 0, instead_of: tuple[int, int] | None = None
    ) -> None:
        """Let `build` make an index file and activate it, unless there is one.

        Args:
            build: makes the file at a path.
            after: its number is greater than this.
            instead_of: device and inode of a file that it may replace; None: it replaces none.
        """
        make_private_folder(self.path.parent)
        with self._swap_lock():
            old = self.target()
            if old is not None and (instead_of is None or identity(old) != instead_of):
                return
            fresh = self.next_generation(after)
            build(fresh)
            if old is not None:
                _flush(fresh)
            if not self._link(fresh):
                _remove(self.path)
                fresh.replace(self.path)
            elif old is not None:
                self._remove_replaced(old)

    def next_generation(self, after: int = 0) -> Path:
        """Return the path of a generation file that does not exist yet."""
        taken = [int(match[1]) for name in self._names() if (match := _generation_pattern(self.path).match(name))]
        return self._generation(max([after, *taken]) + 1)

    def can_link(self) -> bool:
        """Return whether the file system has symbolic links."""
        probe = self.path.with_name(f".{self.path.name}.{os.getpid()}.probe")
        try:
            probe.symlink_to("nothing")
        except (OSError, NotImplementedError):
            return False
        probe.unlink()
        return True

    def publish(self, fresh: Path) -> None:
        """Activate a finished, closed generation and delete the previous one.

        Raises:
            IndexBusy: another process has the lease now, so what it published is newer.
        """
        with self._swap_lock():
            self.lease.check()
            old = self.target()
            _flush(fresh)
            if not self._link(fresh):
                raise IndexUnavailable(
                    f"No symbolic link can be made at {str(self.path)!r}.",
                    remedy="Set memorySearch.store.path to another place.",
                )
            if old is not None:
                self._remove_replaced(old)

    def _remove_replaced(self, old: Path) -> None:
        """Delete the file that the link has replaced, and the logs of a plain file."""
        if old != self.path:
            _remove(old)
        for companion in _COMPANIONS:
            _unlink(self.path.with_name(self.path.name + companion))

    def discard(self, generation: Path) -> None:
        """Delete an unused generation; a generation that is already active stays, whatever failed afterwards."""
        if self.target() != generation:
            _remove(generation)

    def set_aside(self, expected: tuple[int, int] | None, suffix: str) -> Path | None:
        """Rename the active file and its logs to `<name>.<suffix>`, unless it is not the `expected` one.

        Args:
            expected: device and inode of the file to set aside; None: whichever is active.
            suffix: appended to the name of the index, after a dot.

        Returns:
            The new path; None if nothing was renamed.
        """
        with self._swap_lock():
            target = self.target()
            if target is None or (expected is not None and identity(target) != expected):
                return None
            place = self._unused_path(f"{self.path.name}.{suffix}")
            target.rename(place)
            for companion in _COMPANIONS:
                with suppress(FileNotFoundError):
                    target.with_name(target.name + companion).rename(place.with_name(place.name + companion))
            if self.path.is_symlink():
                self.path.unlink()
            return place

    def clean(self) -> None:
        """Delete generations that no process reads or builds any more."""
        if not self._orphans():
            return
        with suppress(IndexBusy), self.lease.hold(0), self._swap_lock():
            for name in self._orphans():
                _unlink(self.path.with_name(name))

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

    @contextmanager
    def _swap_lock(self) -> Generator[None]:
        """Hold the lock that protects replacing files."""
        from filelock import FileLock, Timeout

        try:
            with FileLock(_lock_file(self.path, "lock"), timeout=_LOCK_SECONDS, mode=PRIVATE_FILE):
                yield
        except Timeout as error:
            message = f"Another process holds {str(self.path)!r} for longer than it should."
            raise IndexBusy(message, remedy="Stop the other process and try again.") from error

    def _orphans(self) -> list[str]:
        serving = self._link_target()
        keep = serving.name if serving else ""
        pattern = _generation_pattern(self.path)
        matches = ((name, pattern.match(name)) for name in self._names())
        return [name for name, match in matches if match and match[0] != keep]

    def _names(self) -> list[str]:
        try:
            return os.listdir(self.path.parent)  # noqa: PTH208 (names are all that is needed)
        except FileNotFoundError:
            return []

    def _link_target(self) -> Path | None:
        try:
            return self.path.parent / os.readlink(self.path)  # noqa: PTH115 (the text of the link, as written)
        except OSError:
            return None

    def _generation(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.stem}.g{number}{self.path.suffix}")

    def _link(self, generation: Path) -> bool:
        waiting = self.path.with_name(f".{self.path.name}.{os.getpid()}.link")
        _unlink(waiting)
        try:
            waiting.symlink_to(generation.name)
        except (OSError, NotImplementedError):
            return False
        waiting.replace(self.path)
        return True

    def _unused_path(self, name: str) -> Path:
        place = self.path.with_name(name)
        count = 1
        while os.path.lexists(place):
            count += 1
            place = self.path.with_name(f"{name}-{count}")
        return place


def follow_links(path: Path) -> Path:
    """Return the path after following links made by the user; our own link to a generation beside it stays."""
    for _ in range(40):
        try:
            link = os.readlink(path)  # noqa: PTH115 (the text of the link, as written)
        except OSError:
            return path
        if _generation_pattern(path).fullmatch(link):
            return path
        path = Path(os.path.abspath(path.parent / link))  # noqa: PTH100 (one link at a time)
    raise IndexUnavailable(
        f"The links at {str(path)!r} lead in a circle.", remedy="Set memorySearch.store.path to another place."
    )


def _generation_pattern(path: Path) -> re.Pattern[str]:
    """Return a pattern that matches the start of generation file names, so that it also matches their logs."""
    return re.compile(rf"{re.escape(path.stem)}\.g([1-9]\d*){re.escape(path.suffix)}(?=$|-wal$|-shm$|-journal$)")


def _remove(path: Path) -> None:
    for companion in ("", *_COMPANIONS):
        _unlink(path.with_name(path.name + companion))


def _unlink(path: Path) -> None:
    # On Windows, a file that is still open is deleted by the next `clean`.
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


MOUNTS = Path("/proc/mounts")


def on_network(folder: Path, mounts: Path = MOUNTS) -> bool:
    """Return whether `folder` is on a network file system; False if mounts cannot be listed."""
    return bool(network_of(folder, mounts))


def network_of(folder: Path, mounts: Path = MOUNTS) -> str:
    """Return the kind of network file system that holds `folder` (`nfs4`, `cifs`); empty for a local disk.

    The folder need not exist. If mounts cannot be listed, only the paths of Windows shares are recognized.
    """
    if str(folder).startswith(("\\\\", "//")):
        return "share"
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        resolved = folder.resolve()
    except OSError:
        return ""
    kind = _mount_kind(resolved, lines)
    return kind if _is_network(kind) else ""


def _mount_kind(folder: Path, lines: list[str]) -> str:
    best = -1
    kind = ""
    for line in lines:
        fields = line.split()
        if len(fields) < 3:
            continue
        mount = Path(_unescape(fields[1]))
        # A later line for the same mount point replaces an earlier one.
        if len(mount.parts) >= best and folder.is_relative_to(mount):
            best = len(mount.parts)
            kind = fields[2]
    return kind


def _unescape(field: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(code, character)
    return field


def _is_network(kind: str) -> bool:
    return kind in _NETWORK or (kind.startswith("fuse") and kind not in _LOCAL_FUSE)


_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_WAL_FORMAT = 2
"""Byte 18 of a database in write-ahead-log mode."""
_OWN_COMPANIONS = (".seal", ".lease")
"""Files that only memoriter puts beside an index."""


def is_foreign(path: Path) -> bool:
    """Return whether another program owns the file at the path of an index.

    A database of SQLite belongs to memoriter if it has memoriter's application id, or no tables yet. Any other file
    belongs to memoriter if a file of memoriter's is beside it: then it is a damaged index.
    """
    try:
        path = follow_links(Path(os.path.abspath(path)))  # noqa: PTH100 (`resolve` would follow our own link)
        if path.is_symlink():
            return False  # the link to a generation of ours
        with open_plain(path, follow=False) as file:
            header = file.read(_HEADER_BYTES)
    except (OSError, IndexUnavailable):
        return False
    if not header:
        return False
    if header.startswith(_MAGIC) and len(header) == _HEADER_BYTES:
        application = int.from_bytes(header[68:72], "big")
        return application != APPLICATION_ID and (application != 0 or _has_foreign_tables(path, header))
    return not _has_companion(path)


def _has_foreign_tables(path: Path, header: bytes) -> bool:
    """Return whether a database without an application id has tables; one that cannot be read counts as if it had."""
    import apsw

    try:
        log = path.with_name(f"{path.name}-wal")
        if header[18] == _WAL_FORMAT and log.exists() and log.stat().st_size:
            connection = connect_read_only(path)
        else:
            flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            # An immutable file is read without locks, and a journal beside it is left alone.
            connection = cast("Database", apsw.Connection(f"file:{quote(str(path))}?immutable=1", flags=flags))
        with closing(connection):
            return file_kind(connection) == "foreign"
    except (OSError, apsw.Error):
        return not _has_companion(path)


def _has_companion(path: Path) -> bool:
    return any(path.with_name(f"{path.name}{suffix}").exists() for suffix in _OWN_COMPANIONS)
