"""ZIP archives of an export, and the archives inside them that a format divides its export into.

An archive from elsewhere may be hostile, so its list of files is checked before anything is read: paths that lead out
of it, links, encrypted files, more files or bytes than an export has, and files that expand far more than text does.
The limits are those of the whole export, however many archives it has.
"""

from __future__ import annotations

import re
import stat
import tempfile
import zipfile
import zlib
from contextlib import ExitStack
from datetime import UTC, datetime
from io import BufferedReader, RawIOBase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, Self, cast

from memoriter.errors import UsageError, sentence
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

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
            raise too_many(self.title, MOST_FILES - self.files)
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


class Closing:
    """A context manager that closes what it holds."""

    def close(self) -> None:
        """Close the export."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ArchiveFiles(Closing):
    """The files of a ZIP archive, and of the archives directly inside it that a format divides its export into."""

    def __init__(
        self,
        archive: Path | BinaryIO,
        *,
        title: str,
        inner: str = "",
        budget: Budget | None = None,
    ) -> None:
        """Open an archive.

        Args:
            archive: a file, or a file that is open, which is closed with the archive.
            title: what messages name it.
            inner: a regular expression for the archives inside it whose files belong to it.
            budget: what is left of the limits of the export.

        Raises:
            UsageError: the archive is broken or hostile.
        """
        self.title = title
        self._held = ExitStack()
        self._budget = budget or Budget(title)
        if not isinstance(archive, Path):
            self._held.callback(archive.close)
        try:
            self._archive = self._held.enter_context(zipfile.ZipFile(archive))
            self._budget.take(self._archive.infolist())
            self._entries = _checked(self._archive.infolist(), title)
            self._inner = dict[str, tuple[ArchiveFiles, str]]()
            for number, name in enumerate(inner_of(self._entries, inner), 1):
                self._add_inner(number, name)
        except BaseException as error:
            self._held.close()
            if isinstance(error, zipfile.BadZipFile | zlib.error | NotImplementedError | EOFError | OSError):
                message = f"The archive {title!r} is broken: {sentence(error)}"
                raise UsageError(message, remedy=_READ_AGAIN) from error
            raise
        self.names = tuple(sorted({*self._entries, *self._inner}))

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
        time = self._entries[name].date_time
        try:
            return None if time == _NO_TIME else datetime(*time, tzinfo=UTC)
        except ValueError:
            return None

    def close(self) -> None:
        self._held.close()

    def _add_inner(self, number: int, name: str) -> None:
        """Replace an archive by its files. It is copied to a temporary file, because reading it needs to go back."""
        entry = self._entries.pop(name)
        self._budget.take_inner(entry.file_size)
        copy = self._held.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - closed with the archive
        with self._archive.open(entry) as opened:
            while part := opened.read(1 << 20):
                copy.write(part)
        copy.seek(0)
        files = self._held.enter_context(ArchiveFiles(cast("BinaryIO", copy), title=name, budget=self._budget))
        self._inner |= merged(files, number, {*self._entries, *self._inner})


def inner_of(names: Iterable[str], inner: str) -> list[str]:
    """Return the names of the archives whose files belong to an export."""
    return sorted(name for name in names if inner and re.fullmatch(inner, name, re.IGNORECASE))


def merged(files: ArchiveFiles, number: int, taken: Container[str]) -> dict[str, tuple[ArchiveFiles, str]]:
    """Return the files of the archive inside an export of a number, each with the name that it has in the export."""
    return {f"part {number}/{name}" if name in taken else name: (files, name) for name in files.names}


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


def too_many(title: str, count: int) -> UsageError:
    number = f"{count:,}" if count != MOST_FILES + 1 else f"more than {MOST_FILES:,}"
    message = f"The export {title!r} has {number} files, and at most {MOST_FILES:,} are read."
    return UsageError(message, remedy="Import it in parts: give one of its folders at a time.")
