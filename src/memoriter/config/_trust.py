"""The folders that the owner trusts: agents that work in such a folder read and write the notes there.

A folder is trusted by its resolved path and its identity. The number of the folder on its disk (the inode) alone would
not do, because many file systems give the number of a deleted folder to the next one at once. The time at which the
folder was created tells the two apart, and no program can set it. Both stay the same while files are edited, pulled,
checked out or deleted, and when the machine starts again.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, cast

from memoriter.errors import ConfigError, sentence
from memoriter.permissions import HAS_MODES, folder_lock, replace_private
from memoriter.plain_file import open_plain
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILE = "trusted.json"
LONGEST = 1 << 20
"""Maximum bytes of the file."""
MAX_ANNOUNCED = 1_000
"""Folders that are remembered because the owner was told about them; the oldest go first."""
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
BIRTH_MASK = 0x800
BIRTH_AT = 0x50
HERE = -100
"""Linux: the bit `STATX_BTIME`, the offset of `stx_btime` in `struct statx`, and `AT_FDCWD`."""

TrustState = Literal["trusted", "missing", "replaced"]


@dataclass(frozen=True, slots=True)
class TrustedFolder:
    """A folder as it was when the owner trusted it."""

    path: str
    """Absolute path without symbolic links."""
    identity: str

    @property
    def state(self) -> TrustState:
        """Whether the folder is still the one that the owner trusted."""
        try:
            return "trusted" if folder_identity(self.path) == self.identity else "replaced"
        except OSError:
            return "missing"


@dataclass(frozen=True, slots=True)
class _Records:
    folders: tuple[TrustedFolder, ...] = ()
    announced: tuple[TrustedFolder, ...] = ()
    """Folders that are not trusted, and about which the owner was told."""


class TrustStore:
    """The trusted folders, in a private file of memoriter's home that several processes may change."""

    def __init__(self, home: Path) -> None:
        self._file = home / FILE
        self._known: _Records | None = None

    def includes(self, folder: Path) -> bool:
        """Return whether a folder is trusted; False if the file of trusted folders cannot be used."""
        return _holds(self._usable().folders, folder)

    def was_announced(self, folder: Path) -> bool:
        """Return whether the owner was told that a folder is not trusted."""
        return _holds(self._usable().announced, folder)

    def folders(self) -> tuple[TrustedFolder, ...]:
        """Return the trusted folders by path. Raises ConfigError: the file cannot be used."""
        return tuple(sorted(self._read().folders, key=lambda each: each.path))

    def add(self, folder: Path) -> bool:
        """Trust a folder, and return whether that is new. Raises ConfigError."""
        record = _record_of(folder)

        def change(stored: _Records) -> _Records:
            others = tuple(each for each in stored.folders if each.path != record.path)
            return _Records((*others, record), tuple(each for each in stored.announced if each.path != record.path))

        return self._change(change, lambda stored: record not in stored.folders)

    def remove(self, folder: Path) -> bool:
        """Trust a folder no longer, and return whether it was trusted. Raises ConfigError."""
        paths = {os.path.realpath(folder), os.path.abspath(folder)}  # noqa: PTH100 - a link may have been replaced

        def change(stored: _Records) -> _Records:
            return _Records(tuple(each for each in stored.folders if each.path not in paths), stored.announced)

        return self._change(change, lambda stored: any(each.path in paths for each in stored.folders))

    def announce(self, folder: Path) -> bool:
        """Record that the owner is told about a folder, and return whether that is new. Raises ConfigError."""
        record = _record_of(folder)

        def change(stored: _Records) -> _Records:
            others = [each for each in stored.announced if each.path != record.path]
            return _Records(stored.folders, (*others, record)[-MAX_ANNOUNCED:])

        return self._change(change, lambda stored: record not in stored.announced)

    def _usable(self) -> _Records:
        if self._known is None:
            self._known = _Records()
            with suppress(ConfigError):
                self._known = self._read()
        return self._known

    def _read(self) -> _Records:
        """Return what the file holds; nothing if there is no file. Raises ConfigError."""
        remedy = f"Remove {str(self._file)!r}, and trust your folders again with `memoriter trust DIR`."
        try:
            with open_plain(self._file, owned=True) as opened:
                if HAS_MODES and os.fstat(opened.fileno()).st_mode & OTHERS_WRITE:
                    raise ConfigError(f"{str(self._file)!r} is not used: other users can change it.", remedy=remedy)
                content = opened.read(LONGEST)
            return _parse(json.loads(content))
        except FileNotFoundError:
            return _Records()
        except (OSError, ValueError, RecursionError) as error:
            why = sentence(getattr(error, "strerror", None) or error)
            raise ConfigError(
                f"The trusted folders in {str(self._file)!r} cannot be read: {why}", remedy=remedy
            ) from error

    def _change(self, act: Callable[[_Records], _Records], needed: Callable[[_Records], bool]) -> bool:
        """Write the records that `act` returns if they are needed, and return whether they are."""
        try:
            with folder_lock(self._file.parent):
                stored = self._read()
                if not needed(stored):
                    return False
                self._write(act(stored))
        except OSError as error:
            why = sentence(error.strerror or error)
            message = f"The trusted folders in {str(self._file)!r} cannot be written: {why}"
            raise ConfigError(message, remedy="Correct its permissions, or set MEMORITER_HOME.") from error
        return True

    def _write(self, records: _Records) -> None:
        """Replace the file as a whole. Raises OSError."""
        value = {
            "folders": [{"path": each.path, "identity": each.identity} for each in records.folders],
            "announced": [{"path": each.path, "identity": each.identity} for each in records.announced],
        }
        replace_private(self._file, json.dumps(value, indent=1).encode("ascii") + b"\n")
        self._known = records


def folder_identity(folder: str) -> str:
    """Return what tells a folder from another one that takes its place: its number and the time of its creation.

    Where the file system does not keep that time, it is the number and the device. Raises OSError.
    """
    status = os.stat(folder)  # noqa: PTH116 - a plain string, as the file has it
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(folder)
    if created := _creation_time(folder, status):
        return f"inode {status.st_ino}, created {created}"
    return f"device {status.st_dev}, inode {status.st_ino}"


def _creation_time(folder: str, status: os.stat_result) -> str:
    """Return the time at which a folder was created, in nanoseconds since 1970; empty if it is unknown."""
    if sys.platform == "linux":
        return _creation_time_on_linux(folder)
    seconds = getattr(status, "st_birthtime", None)
    if seconds is None and sys.platform == "win32":
        seconds = status.st_ctime
    return str(round(seconds * 1_000_000_000)) if seconds else ""


def _creation_time_on_linux(folder: str) -> str:
    """Return the time from the system call `statx`, which Python offers only from version 3.15 on."""
    import ctypes

    statx: Any = getattr(ctypes.CDLL(None), "statx", None)
    if statx is None:
        return ""
    result = ctypes.create_string_buffer(256)
    if statx(HERE, os.fsencode(folder), 0, BIRTH_MASK, result) != 0:
        return ""
    content = result.raw
    if not int.from_bytes(content[:4], sys.byteorder) & BIRTH_MASK:
        return ""
    seconds = int.from_bytes(content[BIRTH_AT : BIRTH_AT + 8], sys.byteorder, signed=True)
    return str(seconds * 1_000_000_000 + int.from_bytes(content[BIRTH_AT + 8 : BIRTH_AT + 12], sys.byteorder))


def _record_of(folder: Path) -> TrustedFolder:
    """Return a folder as it is now. Raises ConfigError."""
    path = os.path.realpath(folder)
    try:
        return TrustedFolder(path, folder_identity(path))
    except OSError as error:
        raise ConfigError(f"There is no folder {str(folder)!r}.", remedy="Give the path of a folder.") from error


def _holds(records: tuple[TrustedFolder, ...], folder: Path) -> bool:
    path = os.path.realpath(folder)
    return any(each.path == path and each.state == "trusted" for each in records)


def _parse(value: object) -> _Records:
    """Return the records of a JSON value. Raises ValueError."""
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - the content is wrong, not a type of ours
    fields = cast("dict[str, Any]", value)
    return _Records(_parse_folders(fields.get("folders")), _parse_folders(fields.get("announced")))


def _parse_folders(value: object) -> tuple[TrustedFolder, ...]:
    rows = cast("list[Any]", value) if isinstance(value, list) else []
    named = [cast("dict[str, Any]", row) for row in rows if isinstance(row, dict)]
    pairs = [(row.get("path"), row.get("identity")) for row in named]
    return tuple(TrustedFolder(path, name) for path, name in pairs if isinstance(path, str) and isinstance(name, str))
