"""Read a compressed tar archive, as Google Takeout offers one: its files go into a ZIP archive in a temporary file.

A file in a compressed tar archive can only be found by reading all before it, so it is read once, to its end.
"""

from __future__ import annotations

import shutil
import tarfile
import tempfile
import time
import zipfile
import zlib
from typing import TYPE_CHECKING, BinaryIO, cast

from memoriter.errors import UsageError, sentence
from memoriter.extensions.importing._archive import LARGEST_RATIO, MOST_BYTES, MOST_FILES, SMALL_FILES, too_many

if TYPE_CHECKING:
    from pathlib import Path

_FIRST_TIME = 315_532_800
_LAST_TIME = 4_354_819_200
"""The times that a ZIP archive can have, in seconds since 1970: the years from 1980 to 2107."""
_READ_AGAIN = "Export again, and give the whole file."


def zip_of(path: Path) -> BinaryIO:
    """Return an open ZIP archive with the plain files of a compressed tar archive. Raises UsageError."""
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    try:
        with tarfile.open(path, "r|gz") as archive, zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED) as zipped:
            _copy(archive, zipped, most=min(MOST_BYTES, max(SMALL_FILES, LARGEST_RATIO * path.stat().st_size)))
    except BaseException as error:
        copy.close()
        if isinstance(error, tarfile.TarError | zlib.error | EOFError | OSError):
            message = f"The archive {path.name!r} is broken: {sentence(error)}"
            raise UsageError(message, remedy=_READ_AGAIN) from error
        raise
    copy.seek(0)
    return cast("BinaryIO", copy)


def _copy(archive: tarfile.TarFile, zipped: zipfile.ZipFile, *, most: int) -> None:
    size = 0
    for count, member in enumerate(archive, start=1):
        size += member.size
        if count > MOST_FILES:
            raise too_many("archive", count)
        if size > most:
            message = f"The archive would expand to more than {most:,} bytes."
            raise UsageError(message, remedy="Unpack what you need, and import it as a folder.")
        if member.issym() or member.islnk() or not (member.isfile() or member.isdir()):
            message = f"The archive is refused: {member.name!r} is no plain file."
            raise UsageError(message, remedy="If you trust it, unpack it yourself and import the folder.")
        if member.isfile() and (opened := archive.extractfile(member)):
            with opened, zipped.open(_entry(member), "w") as written:
                shutil.copyfileobj(opened, written, 1 << 20)


def _entry(member: tarfile.TarInfo) -> zipfile.ZipInfo:
    """Return the entry of a file of the tar archive, with its time if a ZIP archive can have it."""
    entry = zipfile.ZipInfo(member.name.removeprefix("./"))
    if _FIRST_TIME <= member.mtime < _LAST_TIME:
        entry.date_time = time.gmtime(member.mtime)[:6]
    return entry
