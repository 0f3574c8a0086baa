"""Cached files that end in the hash of their content, so that damage is detected."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.permissions import make_private_folder

if TYPE_CHECKING:
    from collections.abc import Callable

_DIGEST_BYTES = 32


def load_or_create(file: Path, make: Callable[[], bytes]) -> bytes:
    """Return the content of the file; create it first if it is missing, truncated or damaged.

    Two processes may do so at once: each puts a complete file in place.
    """
    content = _read_intact(file)
    if content is None:
        content = make()
        write_whole(file, content + hashlib.sha256(content).digest())
    return content


def _read_intact(file: Path) -> bytes | None:
    try:
        stored = file.read_bytes()
    except OSError:
        return None
    content, digest = stored[:-_DIGEST_BYTES], stored[-_DIGEST_BYTES:]
    return content if hashlib.sha256(content).digest() == digest else None


def write_whole(file: Path, content: bytes) -> None:
    """Put a file in place completely or not at all.

    This is for caches, so it is no error if the disk cannot be written.
    """
    import tempfile

    part: Path | None = None
    try:
        make_private_folder(file.parent)
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        part = Path(name)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        part.replace(file)
    except OSError:
        if part is not None:
            part.unlink(missing_ok=True)
