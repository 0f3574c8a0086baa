"""The hash of a local model file. Hashing takes a second per gigabyte, so the hash is cached."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, cast

from memoriter.embed.bundled._artefact import write_whole
from memoriter.embed.bundled._weights import sha256_of
from memoriter.errors import ProviderUnavailable, sentence

if TYPE_CHECKING:
    from pathlib import Path

_REVISION_DIGITS = 16


def revision_of(files: list[Path], cache_dir: Path) -> str:
    """Return 16 hex digits that identify the content of the files.

    A file is not read again if its path, size, time and inode are unchanged.

    Raises:
        ProviderUnavailable: a file cannot be read.
    """
    try:
        hashes = [_cached_hash(file, cache_dir) for file in files]
    except OSError as error:
        raise ProviderUnavailable(
            f"The model file cannot be read: {error.filename}: {sentence(error.strerror)}",
            remedy="Check the path and its rights.",
        ) from error
    digest = hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()
    return digest[:_REVISION_DIGITS]


def _cached_hash(file: Path, cache_dir: Path) -> str:
    stat = file.stat()
    identity = [str(file.absolute()), stat.st_size, stat.st_mtime_ns, stat.st_ino]
    cache_file = (
        cache_dir / "hashes" / f"{hashlib.sha256(str(identity[0]).encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
    )
    cached = _read_cache(cache_file)
    if cached.get("seen") == identity and isinstance(cached.get("sha256"), str):
        return cast("str", cached["sha256"])
    sha256 = sha256_of(file)
    write_whole(cache_file, json.dumps({"seen": identity, "sha256": sha256}).encode())
    return sha256


def _read_cache(cache_file: Path) -> dict[str, Any]:
    try:
        content = json.loads(cache_file.read_bytes())
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", content) if isinstance(content, dict) else {}
