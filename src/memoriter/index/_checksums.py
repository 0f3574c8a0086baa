"""Page checksums: SQLite's `cksumvfs` extension, which is part of apsw's wheels, verifies every page that is read."""

from __future__ import annotations

from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoriter.index._database import Database

VFS = "cksmvfs"
RESERVED = 8
"""Bytes at the end of each page that hold its checksum."""
_SUFFIXES = (".so", ".dylib", ".dll")


@cache
def vfs() -> str | None:
    """Return the name of the file system layer that verifies pages; None if apsw has no such extension.

    A file is verified if its pages have room for checksums. Any other file is read and written as it is.
    """
    import apsw

    library = _library()
    if library is None:
        return None
    names = apsw.vfs_names()
    try:
        with closing(apsw.Connection(":memory:")) as scratch:
            scratch.enable_load_extension(True)
            scratch.load_extension(library)
        # Loading makes the layer the default of the whole process; the application decides that.
        apsw.set_default_vfs(names[0])
    except (apsw.Error, ValueError):
        return None
    return VFS if VFS in apsw.vfs_names() else None


def begin(connection: Database) -> None:
    """Reserve space for checksums in a database that is still empty, or in one that `VACUUM` rewrites next."""
    if vfs() is not None:
        connection.reserve_bytes("main", RESERVED)


def verified(connection: Database) -> bool:
    """Return whether the pages of this file have checksums that are verified."""
    return vfs() is not None and int(connection.pragma("checksum_verification") or 0) == 1


def _library() -> str | None:
    """Return the path of the extension, as `apsw.sqlite_extra.path` does, without the imports that it needs."""
    import apsw

    folder = Path(apsw.__file__).parent / "sqlite_extra_binaries"
    candidates = (folder / f"cksumvfs{suffix}" for suffix in _SUFFIXES)
    return next((str(library) for library in candidates if library.exists()), None)
