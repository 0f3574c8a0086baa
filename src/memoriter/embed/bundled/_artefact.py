"""Things that are made once and kept: a file that ends in the hash of its content, so that a broken one is noticed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.permissions import make_private_folder

if TYPE_CHECKING:
    from collections.abc import Callable

_DIGEST_BYTES = 32


def kept(file: Path, make: Callable[[], bytes]) -> bytes:
    """The content of the file; made and kept first if it is not there, cut short or damaged.

    Two processes may do so at once: each puts a whole file in place.
    """
    content = _intact(file)
    if content is None:
        content = make()
        write_whole(file, content + hashlib.sha256(content).digest())
    return content


def _intact(file: Path) -> bytes | None:
    try:
        whole = file.read_bytes()
    except OSError:
        return None
    content, digest = whole[:-_DIGEST_BYTES], whole[-_DIGEST_BYTES:]
    return content if hashlib.sha256(content).digest() == digest else None


def write_whole(file: Path, content: bytes) -> None:
    """Put a file in place at once or not at all. A disk that cannot be written is no error: this is for caches."""
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
