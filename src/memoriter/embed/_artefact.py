"""Files of models and caches: written completely or not at all, and known by the hash of their content."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import ProviderUnavailable, sentence
from memoriter.permissions import make_private_folder

if TYPE_CHECKING:
    from collections.abc import Callable

_DIGEST_BYTES = 32

_REVISION_DIGITS = 16


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
    content = stored[:-_DIGEST_BYTES]
    digest = stored[-_DIGEST_BYTES:]
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


def sha256_of(file: Path) -> str:
    """Return the SHA-256 of a file's content, in hex."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def revision_of(files: list[Path], cache_dir: Path) -> str:
    """Return 16 hex digits that identify the content of the files.

    A file is not read again if its path, size, time and inode are unchanged. Raises ProviderUnavailable: a file cannot
    be read.
    """
    try:
        hashes = [_cached_hash(file, cache_dir) for file in files]
    except OSError as error:
        raise ProviderUnavailable(
            f"The model file cannot be read: {error.filename}: {sentence(error.strerror)}",
            remedy="Check the path and its permissions.",
        ) from error
    digest = hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()
    return digest[:_REVISION_DIGITS]


def _cached_hash(file: Path, cache_dir: Path) -> str:
    stat = file.stat()
    identity = [str(file.absolute()), stat.st_size, stat.st_mtime_ns, stat.st_ino]
    cache_file = (
        cache_dir / "hashes" / f"{hashlib.sha256(str(identity[0]).encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
    )
    cached = read_json(cache_file)
    if cached.get("seen") == identity and isinstance(cached.get("sha256"), str):
        return cast("str", cached["sha256"])
    sha256 = sha256_of(file)
    write_whole(cache_file, json.dumps({"seen": identity, "sha256": sha256}).encode())
    return sha256


def read_json(file: Path) -> dict[str, Any]:
    """Return the JSON object in a file of a cache, or an empty one."""
    try:
        content = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", content) if isinstance(content, dict) else {}
