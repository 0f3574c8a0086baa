"""The files of an export: a folder, a ZIP or tar archive, or one file. Nothing is unpacked, and no link is followed."""

from __future__ import annotations

import os
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING, BinaryIO, Protocol, Self

from memoriter.errors import UsageError, sentence
from memoriter.extensions.importing._archive import (
    DEEPEST_FOLDER,
    MOST_FILES,
    ArchiveFiles,
    Budget,
    Closing,
    inner_of,
    merged,
    too_many,
)
from memoriter.extensions.importing._tar import zip_of
from memoriter.layout import FOLDER
from memoriter.plain_file import open_plain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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


def open_files(path: Path, inner: str = "") -> Files:
    """Open an export.

    Args:
        path: a file or a folder.
        inner: a regular expression for the archives inside it whose files belong to it.

    Raises:
        UsageError: it cannot be read, or it is not an archive of an export.
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
        return ArchiveFiles(zip_of(path), title=path.name.partition(".")[0], inner=inner)
    return OneFile(path)


class OneFile(Closing):
    """A single file, with the write-ahead log of a database."""

    def __init__(self, path: Path) -> None:
        self._path = path
        log = path.with_name(f"{path.name}-wal")
        self.title = path.stem
        self.names = (path.name, *([log.name] if log.is_file() else []))

    def open(self, name: str) -> BinaryIO:
        return _open(self._path.with_name(name), follow=name == self._path.name)

    def changed(self, name: str) -> datetime | None:
        return _time_of(self._path.with_name(name))


class FolderFiles(Closing):
    """The plain files below a folder, without hidden ones. `~/project/.memsearch/memory` has the title `project`."""

    def __init__(self, path: Path, inner: str = "") -> None:
        self._path = path
        names = [name for name in path.resolve().parts[1:] if name != FOLDER]
        self.title = next((name for name in reversed(names) if not name.startswith(".")), "folder")
        plain = set(_names_below(path))
        self._inner = dict[str, tuple[ArchiveFiles, str]]()
        with ExitStack() as held:
            budget = Budget(self.title)
            for number, name in enumerate(inner_of(plain, inner), 1):
                plain.remove(name)
                archive = held.enter_context(_open(path / name, follow=False))
                budget.take_inner(os.fstat(archive.fileno()).st_size)
                files = held.enter_context(ArchiveFiles(archive, title=name, budget=budget))
                self._inner |= merged(files, number, {*plain, *self._inner})
            self._held = held.pop_all()
        self.names = tuple(sorted({*plain, *self._inner}))

    def close(self) -> None:
        self._held.close()

    def open(self, name: str) -> BinaryIO:
        if name in self._inner:
            files, path = self._inner[name]
            return files.open(path)
        return _open(self._path / name, follow=False)

    def changed(self, name: str) -> datetime | None:
        if name in self._inner:
            files, path = self._inner[name]
            return files.changed(path)
        return _time_of(self._path / name)


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
                    raise too_many(str(folder), count)
                yield f"{prefix}{entry.name}"


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
