"""Whose files these are, and who may read them: files that are private from their first byte, and owners to trust.

Windows has neither numeric owners nor these modes; every function here then finds nothing to say and changes nothing.
"""

from __future__ import annotations

import os
import shlex
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.errors import WriteError
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
OTHERS = 0o077
"""The permissions of everybody but the owner."""
HAS_MODES = hasattr(os, "geteuid")
"""Whether the system knows owners and permissions in the way of POSIX."""
MOUNTS = Path("/proc/mounts")
_WITHOUT_MODES = frozenset(
    {"9p", "cifs", "drvfs", "exfat", "fuseblk", "hfs", "msdos", "ntfs", "ntfs3", "prl_fs", "smb3", "vboxsf", "vfat"}
)
"""File systems on which every file may have the mode 0777, whatever its owner wants."""


def check_writable(file: Path, status: os.stat_result) -> None:
    """Raise WriteError if nobody may write to a file. Replacing it would need only a folder that can be written to."""
    if status.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        return
    command = f"`chmod u+w {shlex.quote(str(file))}`" if HAS_MODES else f'`attrib -R "{file}"`'
    message = f"{str(file)!r} is read-only, so it was not changed."
    raise WriteError(message, remedy=f"To allow the change, run {command} and try again.")


def unwritable_part(file: Path) -> Path | None:
    """Return the file, or the nearest folder above it that exists, if this process may not write there; else None."""
    existing = next(path for path in (file, *file.parents) if path.exists())
    folder = existing if existing.is_dir() else existing.parent
    return None if os.access(existing, os.W_OK) and os.access(folder, os.W_OK) else existing


def make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents, all of them for their owner only.

    Folders that exist keep their permissions.

    Raises:
        OSError: The folder cannot be created, or there is something else of this name.
    """
    if folder.is_dir():
        return
    if folder.parent != folder:
        make_private_folder(folder.parent)
    try:
        folder.mkdir(mode=PRIVATE_FOLDER)
    except FileExistsError:
        if not folder.is_dir():
            raise


def make_private_file(file: Path) -> None:
    """Create an empty file that only its owner can read, unless there is one of this name.

    The descriptor is closed before the file gets its name: closing a database file that another thread has open would
    release the locks of the whole process.

    Raises:
        OSError: The file cannot be created.
    """
    if os.path.lexists(file):
        return
    draft = file.with_name(f".{file.name}.{os.urandom(6).hex()}.new")
    os.close(open_private(str(draft), os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    try:
        os.link(draft, file)
    except FileExistsError:
        pass
    except OSError:  # a file system without hard links
        with suppress(FileExistsError):
            os.close(open_private(str(file), os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    finally:
        draft.unlink(missing_ok=True)


def open_private(path: str, flags: int) -> int:
    """Open a file, and create it for its owner only: an `opener` for `open`."""
    return os.open(path, flags | getattr(os, "O_CLOEXEC", 0), PRIVATE_FILE)


def write_new(file: Path, content: bytes) -> None:
    """Create a file that no other user can ever read. Raises OSError, also if the file exists."""
    with open(file, "xb", opener=open_private) as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())


def replace_private(file: Path, content: bytes) -> None:
    """Write a whole file that no other user can ever read; readers see the old content or the new. Raises OSError."""
    draft = file.with_name(f".{file.name}.{os.urandom(6).hex()}.part")
    try:
        write_new(draft, content)
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def folder_lock(folder: Path) -> Generator[None]:
    """Hold a lock on a private folder, so that processes change its files one after the other. Raises OSError."""
    make_private_folder(folder)
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@dataclass(slots=True)
class Exposure:
    """What other users could read."""

    mended: list[Path] = field(default_factory=list["Path"])
    """Paths that only their owner can read from now on."""
    open: list[Path] = field(default_factory=list["Path"])
    """Paths that are as open as before: they belong to somebody else, or the file system keeps no permissions."""

    def close(self, path: Path) -> None:
        """Take a file or a folder away from everybody but its owner; links are left alone."""
        try:
            found = os.lstat(path)
        except OSError:
            return
        if not _is_loose(found):
            return
        if HAS_MODES and found.st_uid == os.geteuid():
            with suppress(OSError):
                _change_mode(path, stat.S_IMODE(found.st_mode) & ~OTHERS)
        (self.open if is_loose(path) else self.mended).append(path)

    def close_tree(
        self, folder: Path, *, keep: Collection[Path] = (), but: Callable[[str], bool] | None = None
    ) -> None:
        """Close a folder and everything below it, the folder itself last: a walk that was interrupted starts again.

        Args:
            folder: The folder.
            keep: Folders that are left as they are.
            but: Whether a file of this name is left as it is.
        """
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in list(entries):
                if entry.is_dir(follow_symlinks=False):
                    if Path(entry.path) not in keep:
                        self.close_tree(Path(entry.path), keep=keep, but=but)
                elif but is None or not but(entry.name):
                    self.close(Path(entry.path))
        self.close(folder)


def is_loose(path: Path) -> bool:
    """Return whether others than the owner have any permission; False for a link or a missing file."""
    try:
        return _is_loose(os.lstat(path))
    except OSError:
        return False


def _is_loose(found: os.stat_result) -> bool:
    plain = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
    return HAS_MODES and plain and bool(found.st_mode & OTHERS)


def _change_mode(path: Path, mode: int) -> None:
    """Change the mode of the file itself: where the system can say so, never that of a link's target.

    A descriptor of the kind `O_PATH` does not release the locks of a database when it is closed.
    """
    if hasattr(os, "O_PATH") and Path("/proc/self/fd").is_dir():
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.chmod(f"/proc/self/fd/{descriptor}", mode)  # noqa: PTH101 (no path of ours)
        finally:
            os.close(descriptor)
    elif os.chmod in os.supports_follow_symlinks:
        os.chmod(path, mode, follow_symlinks=False)  # noqa: PTH101 (the link itself)
    else:
        path.chmod(mode)


@dataclass(frozen=True, slots=True)
class Owners:
    """The users whose files are trusted, and how to determine the owner of a file."""

    uids: frozenset[int] | None = None
    """None: nothing is checked."""
    status_of: Callable[[Path, bool], os.stat_result] = lambda path, follow: os.stat(path, follow_symlinks=follow)  # noqa: PTH116
    """The status of a path, and whether to follow a link at its end; raises OSError."""
    mounts: Path = MOUNTS

    def complaint(self, path: Path) -> str:
        """Return why a path is not trusted; empty if it is trusted or does not exist.

        A link and its target must both belong to a trusted user.
        """
        if self.uids is None:
            return ""
        for follow in (False, True):
            try:
                found = self.status_of(path, follow)
            except FileNotFoundError:
                return ""
            except OSError as error:
                # A dangling link is ours; opening it reports the error.
                return "" if follow else f"its owner cannot be determined ({error.strerror or error})"
            if found.st_uid not in self.uids:
                return f"it belongs to another user ({user_name(found.st_uid)})"
        return ""

    def open_to_all(self, folder: Path) -> bool:
        """Return whether every user of this machine may create files in a folder."""
        if self.uids is None:
            return False
        try:
            everybody = self.status_of(folder, True).st_mode & stat.S_IWOTH
        except OSError:
            return False
        return bool(everybody) and not _without_modes(folder, self.mounts)


def owners_of(environ: Mapping[str, str], *, root: bool = False) -> Owners:
    """Return the users whose files a process may trust: its own, and for root also the one who called `sudo`.

    Args:
        environ: The environment.
        root: Whether files of root are trusted too, who can change any file anyway.
    """
    if not HAS_MODES:
        return Owners()
    uids = {os.geteuid(), *({0} if root else ())}
    caller = environ.get("SUDO_UID", "")
    if os.geteuid() == 0 and caller.isascii() and caller.isdecimal():
        uids.add(int(caller))
    return Owners(frozenset(uids))


def user_name(uid: int) -> str:
    """Return the name of a user, or the number if there is no name."""
    try:
        import pwd

        return pwd.getpwuid(uid).pw_name
    except (ImportError, KeyError, OverflowError):
        return f"number {uid}"


def _without_modes(folder: Path, mounts: Path) -> bool:
    """Return whether the file system of a folder gives every file the same mode."""
    return file_system_of(folder, mounts) in _WITHOUT_MODES


def file_system_of(folder: Path, mounts: Path = MOUNTS) -> str:
    """Return the kind of file system that holds a folder, as `mounts` lists it; empty if that is unknown.

    The folder need not exist.
    """
    best = -1
    kind = ""
    with suppress(OSError):
        real = folder.resolve()
        for point, name in _mounted(mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()):
            # A later line for the same mount point replaces an earlier one.
            if len(point.parts) >= best and real.is_relative_to(point):
                best = len(point.parts)
                kind = name
    return kind


def _mounted(lines: Iterable[str]) -> Iterator[tuple[Path, str]]:
    for line in lines:
        fields = line.split()
        if len(fields) > 2:
            point = fields[1]
            for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
                point = point.replace(code, character)
            yield Path(point), fields[2]
