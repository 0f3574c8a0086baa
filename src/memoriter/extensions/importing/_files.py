"""The files of an export: a folder, a ZIP or tar archive, or one file. Nothing is unpacked, and no link is followed.

An archive from elsewhere may be hostile, so its list of files is checked before anything is read: paths that lead out
of it, links, encrypted files, more files or bytes than an export has, and files that expand far more than text does.
The limits are those of the whole export, however many archives it has. A file in a compressed tar archive can only be
found by reading all before it, so its files first go into a ZIP archive in a temporary file.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tarfile
import tempfile
import time
import zipfile
import zlib
from abc import ABC, abstractmethod
from contextlib import ExitStack
from datetime import UTC, datetime
from io import BufferedReader, RawIOBase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, Self, cast

from memoriter.errors import UsageError, sentence
from memoriter.layout import FOLDER
from memoriter.plain_file import open_plain
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

MOST_FILES = 50_000
MOST_BYTES = 32 << 30
"""Bytes of all files of an archive."""
LARGEST_RATIO = 200
"""Bytes that one byte of an archive may become; of text, hardly more than 20."""
SMALL_FILES = 16 << 20
"""Files of an export up to this size together may expand more: a page of blanks is no bomb."""
LARGEST_INNER = 4 << 30
"""Bytes of all archives inside an archive."""
MOST_INNER = 100
"""Archives inside an archive."""
DEEPEST_FOLDER = 40
_NO_TIME = (1980, 1, 1, 0, 0, 0)
"""What an archive has of a file whose time is not known."""
_UTF8 = 0x800
"""The flag of a name that is in UTF-8."""
_DRIVE = re.compile(r"[A-Za-z]:[/\\]")
_READ_AGAIN = "Export again, and give the whole file."
_TRUST = "Nothing was imported. If you trust it, unpack it yourself and import the folder."

_FIRST_TIME = 315_532_800
_LAST_TIME = 4_354_819_200
"""The times that a ZIP archive can have, in seconds since 1970: the years from 1980 to 2107."""


@dataclass(slots=True)
class Budget:
    """What the archives of an export may still have, all together."""

    title: str
    files: int = MOST_FILES
    bytes: int = MOST_BYTES
    expanding: int = SMALL_FILES
    """Bytes of files that expand more than text does."""
    inner: int = MOST_INNER
    inner_bytes: int = LARGEST_INNER

    def take(self, entries: list[zipfile.ZipInfo]) -> None:
        """Count the files of an archive. Raises UsageError if an export would have too much."""
        self.files -= len(entries)
        if self.files < 0:
            raise _too_many(self.title, MOST_FILES - self.files)
        self.bytes -= sum(entry.file_size for entry in entries)
        if self.bytes < 0:
            raise UsageError(
                f"The archive {self.title!r} would unpack to {MOST_BYTES - self.bytes:,} bytes, and at most "
                f"{MOST_BYTES:,} are read.",
                remedy="Unpack what you need, and import it as a folder.",
            )
        large = [entry for entry in entries if entry.file_size > LARGEST_RATIO * max(1, entry.compress_size)]
        self.expanding -= sum(entry.file_size for entry in large)
        if self.expanding < 0:
            unpacked = sum(entry.file_size for entry in large)
            packed = sum(entry.compress_size for entry in large)
            many = f"has {len(large):,} files that" if len(large) > 1 else f"is refused: {large[0].filename!r}"
            message = f"The archive {self.title!r} {many} would expand to {unpacked:,} bytes from {packed:,}."
            raise UsageError(message, remedy=_TRUST)

    def take_inner(self, size: int) -> None:
        """Count an archive inside the export by its bytes. Raises UsageError."""
        self.inner -= 1
        self.inner_bytes -= size
        if self.inner < 0 or self.inner_bytes < 0:
            limit = f"{MOST_INNER} archives" if self.inner < 0 else f"{LARGEST_INNER >> 30} GiB of archives"
            message = f"The archive {self.title!r} has more than {limit} inside it."
            raise UsageError(message, remedy="Unpack them yourself, and import the folder.")


def open_files(path: Path, inner: str = "") -> Files:
    """Open the file or folder of an export. Raises UsageError: it cannot be read, or is broken or hostile.

    `inner` is a regular expression for the archives inside it whose files belong to it.
    """
    try:
        if path.is_dir():
            return FolderFiles(path, inner)
        with open_plain(path, follow=True) as opened:
            start = opened.read(4)
    except FileNotFoundError:
        raise UsageError(f"There is nothing at {str(path)!r}.", remedy="Name the file or folder to import.") from None
    except OSError as error:
        raise UsageError(f"The export {str(path)!r} cannot be read: {sentence(error.strerror or error)}") from error
    if start in {b"PK\x03\x04", b"PK\x05\x06"}:
        return ArchiveFiles(path, title=path.stem, inner=inner)
    if start.startswith(b"\x1f\x8b") and path.name.lower().endswith((".tgz", ".tar.gz")):
        return ArchiveFiles(_zip_of(path), title=path.name.partition(".")[0], inner=inner)
    return OneFile(path)


class Files(ABC):
    """The files of an export, also those of archives inside it that the format divides its export into."""

    title: str
    """The name of the export's folder or file, without `.zip`."""
    names: tuple[str, ...]
    """Sorted paths with `/`."""

    def __init__(self) -> None:
        self._held = ExitStack()
        """What is closed with the export."""
        self._inner = dict[str, tuple[Files, str]]()
        """The files of archives inside the export: by the name that each has in the export, its archive and its own."""

    def open(self, name: str) -> BinaryIO:
        """Open a file for reading. Raises UsageError."""
        if name in self._inner:
            files, inside = self._inner[name]
            return files.open(inside)
        return self._open(name)

    def changed(self, name: str) -> datetime | None:
        """Return when the file was last changed, or None."""
        if name in self._inner:
            files, inside = self._inner[name]
            return files.changed(inside)
        return self._changed(name)

    def close(self) -> None:
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def _open(self, name: str) -> BinaryIO: ...

    @abstractmethod
    def _changed(self, name: str) -> datetime | None: ...

    def _add_inner(self, archive: BinaryIO, number: int, name: str, budget: Budget, taken: Container[str]) -> None:
        """Add the files of an open archive inside the export; a name that is taken gets its number before it."""
        files = self._held.enter_context(ArchiveFiles(archive, title=name, budget=budget))
        for each in files.names:
            is_taken = each in taken or each in self._inner
            self._inner[f"part {number}/{each}" if is_taken else each] = (files, each)


class ArchiveFiles(Files):
    """The files of a ZIP archive, and of the archives directly inside it."""

    def __init__(self, archive: Path | BinaryIO, *, title: str, inner: str = "", budget: Budget | None = None) -> None:
        """Open an archive. Raises UsageError: it is broken or hostile."""
        super().__init__()
        self.title = title
        budget = budget or Budget(title)
        if not isinstance(archive, Path):
            self._held.callback(archive.close)
        try:
            self._archive = self._held.enter_context(zipfile.ZipFile(archive))
            budget.take(self._archive.infolist())
            self._entries = _checked(self._archive.infolist(), title)
            for number, name in enumerate(_inner_of(self._entries, inner), 1):
                entry = self._entries.pop(name)
                budget.take_inner(entry.file_size)
                self._add_inner(self._copied(entry), number, name, budget, self._entries)
        except BaseException as error:
            self._held.close()
            if isinstance(error, zipfile.BadZipFile | zlib.error | NotImplementedError | EOFError | OSError):
                message = f"The archive {title!r} is broken: {sentence(error)}"
                raise UsageError(message, remedy=_READ_AGAIN) from error
            raise
        self.names = tuple(sorted({*self._entries, *self._inner}))

    def _copied(self, entry: zipfile.ZipInfo) -> BinaryIO:
        """Return an archive inside this one in a temporary file, because reading it needs to go back."""
        copy = self._held.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - closed with the archive
        with self._archive.open(entry) as opened:
            shutil.copyfileobj(opened, copy, 1 << 20)
        copy.seek(0)
        return cast("BinaryIO", copy)

    def _open(self, name: str) -> BinaryIO:
        try:
            opened = self._archive.open(self._entries[name])
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, OSError, RuntimeError) as error:
            raise _broken(name, error) from error
        return cast("BinaryIO", BufferedReader(_Unpacked(cast("BinaryIO", opened), name)))

    def _changed(self, name: str) -> datetime | None:
        time = self._entries[name].date_time
        try:
            return None if time == _NO_TIME else datetime(*time, tzinfo=UTC)
        except ValueError:
            return None


def _inner_of(names: Iterable[str], inner: str) -> list[str]:
    """Return the names of the archives whose files belong to an export."""
    return sorted(name for name in names if inner and re.fullmatch(inner, name, re.IGNORECASE))


class _Unpacked(RawIOBase):
    """A file of an archive, whose faults are errors of ours."""

    def __init__(self, opened: BinaryIO, name: str) -> None:
        self._opened = opened
        self._name = name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object, /) -> int:
        view = memoryview(cast("bytearray", buffer))
        try:
            part = self._opened.read(len(view))
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
            raise _broken(self._name, error) from error
        view[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self._opened.close()
        super().close()


def _checked(entries: list[zipfile.ZipInfo], title: str) -> dict[str, zipfile.ZipInfo]:
    """Return the files of an archive by name. Raises UsageError if the archive is hostile."""
    kept = dict[str, zipfile.ZipInfo]()
    for entry in entries:
        entry.filename = _name_of(entry)
        if fault := _fault_of(entry):
            raise UsageError(f"The archive {title!r} is refused: {entry.filename!r} {fault}.", remedy=_TRUST)
        if not entry.is_dir() and not _is_hidden(entry.filename):
            kept[entry.filename] = entry
    return kept


def _name_of(entry: zipfile.ZipInfo) -> str:
    """Return the name of a file of an archive. Some programs write it in UTF-8, as macOS does, without saying so."""
    try:
        return entry.filename if entry.flag_bits & _UTF8 else entry.filename.encode("cp437").decode()
    except ValueError:
        return entry.filename


def _fault_of(entry: zipfile.ZipInfo) -> str | None:
    """Return why an entry makes its archive hostile, or None."""
    name = entry.filename
    mode = entry.external_attr >> 16
    parts = name.replace("\\", "/").rstrip("/").split("/")
    if not parts[0] or ".." in parts or "\0" in name or _DRIVE.match(name):
        return "leads out of the archive"
    if stat.S_ISLNK(mode):
        return "is a symbolic link"
    if stat.S_IFMT(mode) and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        return "is no plain file"
    if entry.flag_bits & 1:
        return "is encrypted"
    if len(parts) > DEEPEST_FOLDER:
        return f"is more than {DEEPEST_FOLDER} folders deep"
    return None


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in PurePosixPath(name).parts)


def _broken(name: str, error: Exception) -> UsageError:
    return UsageError(f"The file {name!r} of the archive is broken: {sentence(error)}", remedy=_READ_AGAIN)


def _too_many(title: str, count: int) -> UsageError:
    number = f"{count:,}" if count != MOST_FILES + 1 else f"more than {MOST_FILES:,}"
    message = f"The export {title!r} has {number} files, and at most {MOST_FILES:,} are read."
    return UsageError(message, remedy="Import it in parts: give one of its folders at a time.")


def _zip_of(path: Path) -> BinaryIO:
    """Return an open ZIP archive with the plain files of a compressed tar archive. Raises UsageError."""
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    try:
        with tarfile.open(path, "r|gz") as archive, zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED) as zipped:
            _copy_tar(archive, zipped, most=min(MOST_BYTES, max(SMALL_FILES, LARGEST_RATIO * path.stat().st_size)))
    except BaseException as error:
        copy.close()
        if isinstance(error, tarfile.TarError | zlib.error | EOFError | OSError):
            message = f"The archive {path.name!r} is broken: {sentence(error)}"
            raise UsageError(message, remedy=_READ_AGAIN) from error
        raise
    copy.seek(0)
    return cast("BinaryIO", copy)


def _copy_tar(archive: tarfile.TarFile, zipped: zipfile.ZipFile, *, most: int) -> None:
    size = 0
    for count, member in enumerate(archive, start=1):
        size += member.size
        if count > MOST_FILES:
            raise _too_many("archive", count)
        if size > most:
            message = f"The archive would expand to more than {most:,} bytes."
            raise UsageError(message, remedy="Unpack what you need, and import it as a folder.")
        if member.issym() or member.islnk() or not (member.isfile() or member.isdir()):
            message = f"The archive is refused: {member.name!r} is no plain file."
            raise UsageError(message, remedy="If you trust it, unpack it yourself and import the folder.")
        if member.isfile() and (opened := archive.extractfile(member)):
            with opened, zipped.open(_tar_entry(member), "w") as written:
                shutil.copyfileobj(opened, written, 1 << 20)


def _tar_entry(member: tarfile.TarInfo) -> zipfile.ZipInfo:
    """Return the entry of a file of the tar archive, with its time if a ZIP archive can have it."""
    entry = zipfile.ZipInfo(member.name.removeprefix("./"))
    if _FIRST_TIME <= member.mtime < _LAST_TIME:
        entry.date_time = time.gmtime(member.mtime)[:6]
    return entry


class _PlainFiles(Files):
    """Files that are in no archive."""

    def __init__(self, folder: Path, followed: str = "") -> None:
        super().__init__()
        self._folder = folder
        self._followed = followed
        """The file that may be a link, because the owner named it."""

    def _open(self, name: str) -> BinaryIO:
        path = self._folder / name
        try:
            return open_plain(path, follow=name == self._followed)
        except OSError as error:
            raise UsageError(f"The file {str(path)!r} cannot be read: {sentence(error.strerror or error)}") from error

    def _changed(self, name: str) -> datetime | None:
        try:
            return datetime.fromtimestamp((self._folder / name).stat().st_mtime, UTC)
        except (OSError, ValueError, OverflowError):
            return None


class OneFile(_PlainFiles):
    """A single file, with the write-ahead log of a database."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.parent, followed=path.name)
        log = path.with_name(f"{path.name}-wal")
        self.title = path.stem
        self.names = (path.name, *([log.name] if log.is_file() else []))


class FolderFiles(_PlainFiles):
    """The plain files below a folder, without hidden ones. `~/project/.memsearch/memory` has the title `project`."""

    def __init__(self, path: Path, inner: str = "") -> None:
        super().__init__(path)
        names = [name for name in path.resolve().parts[1:] if name != FOLDER]
        self.title = next((name for name in reversed(names) if not name.startswith(".")), "folder")
        plain = set(_names_below(path))
        with self._held:
            budget = Budget(self.title)
            for number, name in enumerate(_inner_of(plain, inner), 1):
                plain.remove(name)
                archive = self._held.enter_context(self._open(name))
                budget.take_inner(os.fstat(archive.fileno()).st_size)
                self._add_inner(archive, number, name, budget, plain)
            self._held = self._held.pop_all()
        self.names = tuple(sorted({*plain, *self._inner}))


def _names_below(folder: Path) -> Iterator[str]:
    """Yield the paths of plain files below a folder. Hidden files and folders and links are left out."""
    pending = [""]
    count = 0
    while pending:
        prefix = pending.pop()
        try:
            entries = list(os.scandir(folder / prefix))
        except OSError as error:
            where = str(folder / prefix)
            raise UsageError(f"The folder {where!r} cannot be read: {sentence(error.strerror or error)}") from error
        for entry in entries:
            if entry.name.startswith(".") or entry.is_symlink():
                continue
            if entry.is_dir(follow_symlinks=False):
                if prefix.count("/") < DEEPEST_FOLDER:
                    pending.append(f"{prefix}{entry.name}/")
            elif entry.is_file(follow_symlinks=False):
                count += 1
                if count > MOST_FILES:
                    raise _too_many(str(folder), count)
                yield f"{prefix}{entry.name}"
