"""The files of an export: a folder, a ZIP archive, or one file. Nothing is unpacked, and no link is followed.

An archive from elsewhere may be hostile, so its list of files is checked before anything is read: paths that lead out
of it, links, encrypted files, more files or bytes than an export has, and files that expand far more than text does.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
import zipfile
import zlib
from contextlib import ExitStack
from datetime import UTC, datetime
from io import BufferedReader, RawIOBase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, Protocol, Self, cast

from memoriter.errors import UsageError, sentence
from memoriter.layout import FOLDER
from memoriter.plain_file import open_plain

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_FILES = 50_000
MOST_BYTES = 32 << 30
"""Bytes of all files of an archive."""
LARGEST_RATIO = 200
"""Bytes that one byte of an archive may become; of text, hardly more than 20."""
SMALL_FILE = 16 << 20
"""A file of an archive up to this size may expand more: a page of blanks is no bomb."""
LARGEST_INNER = 4 << 30
"""Bytes of an archive inside an archive."""
_DEPTH = 40
_DRIVE = re.compile(r"[A-Za-z]:[/\\]")
_READ_AGAIN = "Export again, and give the whole file."


class Files(Protocol):
    """The files of an export."""

    title: str
    """The name of the export's folder or file, without `.zip`."""
    names: tuple[str, ...]
    """Sorted paths with `/`."""

    def open(self, name: str) -> BinaryIO:
        """Open a file for reading. Raises UsageError."""
        ...

    def changed(self, name: str) -> datetime | None:
        """Return when the file was last changed, or None."""
        ...

    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...


def open_files(path: Path) -> Files:
    """Open an export.

    Raises:
        UsageError: it cannot be read, or it is not an archive of an export.
    """
    try:
        if path.is_dir():
            return FolderFiles(path)
        with open_plain(path, follow=True) as opened:
            is_archive = opened.read(4) in {b"PK\x03\x04", b"PK\x05\x06"}
    except FileNotFoundError:
        raise UsageError(f"There is nothing at {str(path)!r}.", remedy="Name the file or folder to import.") from None
    except OSError as error:
        raise UsageError(f"The export {str(path)!r} cannot be read: {sentence(error.strerror or error)}") from error
    if is_archive:
        return ArchiveFiles(path, title=path.stem)
    return OneFile(path)


class _Closing:
    """A context manager that closes what it holds."""

    def close(self) -> None:
        """Close the export."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class OneFile(_Closing):
    """A single file, with the write-ahead log of a database."""

    def __init__(self, path: Path) -> None:
        self._path = path
        log = path.with_name(f"{path.name}-wal")
        self.title, self.names = path.stem, (path.name, *([log.name] if log.is_file() else []))

    def open(self, name: str) -> BinaryIO:
        return _open(self._path.with_name(name), follow=name == self._path.name)

    def changed(self, name: str) -> datetime | None:
        return _time_of(self._path.with_name(name))


class FolderFiles(_Closing):
    """The plain files below a folder, without hidden ones. `~/project/.memsearch/memory` has the title `project`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        names = [name for name in path.resolve().parts[1:] if name != FOLDER]
        self.title = next((name for name in reversed(names) if not name.startswith(".")), "folder")
        self.names = tuple(sorted(_names_below(path)))

    def open(self, name: str) -> BinaryIO:
        return _open(self._path / name, follow=False)

    def changed(self, name: str) -> datetime | None:
        return _time_of(self._path / name)


class ArchiveFiles(_Closing):
    """The files of a ZIP archive, and of the archives directly inside it, as Notion nests them."""

    def __init__(self, archive: Path | BinaryIO, *, title: str, inner: bool = False) -> None:
        self.title = title
        self._held = ExitStack()
        try:
            self._archive = self._held.enter_context(zipfile.ZipFile(archive))
            self._entries = _checked(self._archive.infolist(), title)
            self._inner = dict[str, tuple[ArchiveFiles, str]]()
            if not inner:
                for name in [name for name in self._entries if name.lower().endswith(".zip")]:
                    self._add_inner(name)
        except BaseException as error:
            self._held.close()
            if isinstance(error, zipfile.BadZipFile | zlib.error | NotImplementedError | EOFError | OSError):
                message = f"The archive {title!r} is broken: {sentence(error)}"
                raise UsageError(message, remedy=_READ_AGAIN) from error
            raise
        self.names = tuple(sorted({*self._entries, *self._inner}))
        if len(self.names) > MOST_FILES:
            raise _too_many(title, len(self.names))

    def open(self, name: str) -> BinaryIO:
        if name in self._inner:
            files, path = self._inner[name]
            return files.open(path)
        try:
            opened = self._archive.open(self._entries[name])
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, OSError, RuntimeError) as error:
            raise _broken(name, error) from error
        return cast("BinaryIO", BufferedReader(_Unpacked(cast("BinaryIO", opened), name)))

    def changed(self, name: str) -> datetime | None:
        if name in self._inner:
            files, path = self._inner[name]
            return files.changed(path)
        try:
            return datetime(*self._entries[name].date_time, tzinfo=UTC)
        except ValueError:
            return None

    def close(self) -> None:
        self._held.close()

    def _add_inner(self, name: str) -> None:
        """Replace an archive by its files. It is copied to a temporary file, because reading it needs to go back."""
        entry = self._entries.pop(name)
        if entry.file_size > LARGEST_INNER:
            raise UsageError(f"The archive {name!r} inside the export is larger than {LARGEST_INNER >> 30} GiB.")
        copy = self._held.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - closed with the archive
        with self._archive.open(entry) as opened:
            while part := opened.read(1 << 20):
                copy.write(part)
        copy.seek(0)
        files = self._held.enter_context(ArchiveFiles(cast("BinaryIO", copy), title=name, inner=True))
        self._inner |= {inner: (files, inner) for inner in files.names if inner not in self._entries}


class _Unpacked(RawIOBase):
    """A file of an archive, whose faults are errors of ours."""

    def __init__(self, opened: BinaryIO, name: str) -> None:
        self._opened, self._name = opened, name

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
    if len(entries) > MOST_FILES:
        raise _too_many(title, len(entries))
    if (total := sum(entry.file_size for entry in entries)) > MOST_BYTES:
        raise UsageError(
            f"The archive {title!r} would unpack to {total:,} bytes, and at most {MOST_BYTES:,} are read.",
            remedy="Unpack what you need, and import it as a folder.",
        )
    kept = dict[str, zipfile.ZipInfo]()
    for entry in entries:
        if fault := _fault_of(entry):
            remedy = "Nothing was imported. If you trust it, unpack it yourself and import the folder."
            raise UsageError(f"The archive {title!r} is refused: {entry.filename!r} {fault}.", remedy=remedy)
        if not entry.is_dir() and not _is_hidden(entry.filename):
            kept[entry.filename] = entry
    return kept


def _fault_of(entry: zipfile.ZipInfo) -> str | None:
    """Return why an entry makes its archive hostile, or None."""
    name, mode = entry.filename, entry.external_attr >> 16
    parts = name.replace("\\", "/").rstrip("/").split("/")
    if not parts[0] or ".." in parts or "\0" in name or _DRIVE.match(name):
        return "leads out of the archive"
    if stat.S_ISLNK(mode):
        return "is a symbolic link"
    if stat.S_IFMT(mode) and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        return "is no plain file"
    if entry.flag_bits & 1:
        return "is encrypted"
    if len(parts) > _DEPTH:
        return f"is more than {_DEPTH} folders deep"
    if entry.file_size > SMALL_FILE and entry.file_size > LARGEST_RATIO * max(1, entry.compress_size):
        return f"would expand to {entry.file_size:,} bytes from {entry.compress_size:,}"
    return None


def _names_below(folder: Path) -> Iterator[str]:
    """Yield the paths of plain files below a folder. Hidden files and folders and links are left out."""
    pending, count = [""], 0
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
                if prefix.count("/") < _DEPTH:
                    pending.append(f"{prefix}{entry.name}/")
            elif entry.is_file(follow_symlinks=False):
                count += 1
                if count > MOST_FILES:
                    raise _too_many(str(folder), count)
                yield f"{prefix}{entry.name}"


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in PurePosixPath(name).parts)


def _open(path: Path, *, follow: bool) -> BinaryIO:
    try:
        return open_plain(path, follow=follow)
    except OSError as error:
        raise UsageError(f"The file {str(path)!r} cannot be read: {sentence(error.strerror or error)}") from error


def _time_of(path: Path) -> datetime | None:
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OSError, ValueError, OverflowError):
        return None


def _broken(name: str, error: Exception) -> UsageError:
    return UsageError(f"The file {name!r} of the archive is broken: {sentence(error)}", remedy=_READ_AGAIN)


def _too_many(title: str, count: int) -> UsageError:
    number = f"{count:,}" if count != MOST_FILES + 1 else f"more than {MOST_FILES:,}"
    message = f"The export {title!r} has {number} files, and at most {MOST_FILES:,} are read."
    return UsageError(message, remedy="Import it in parts: give one of its folders at a time.")
