"""Placement of an index whose usual path is on a network file system.

The functions are pure, except for the lookups of `network_of`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class IndexPlace:
    """The file of an index, with the reason for its placement."""

    path: Path
    network: bool = False
    """Whether it is on a network file system, where SQLite must not use a write-ahead log."""
    reason: str = ""
    """Reason for people; empty at the usual path."""
    foreign: Path | None = None
    """The file of another program at the usual path, which is left alone."""


def cache_of(environ: Mapping[str, str], user_home: Path, *, mac: bool) -> Path:
    """Return the cache folder: below `XDG_CACHE_HOME`, else below the cache folder of the system."""
    value = environ.get("XDG_CACHE_HOME", "").strip()
    if value and Path(value).is_absolute():
        return Path(value) / "memoriter"
    return user_home / ("Library/Caches" if mac else ".cache") / "memoriter"


def place_index(
    path: Path, *, chosen: bool, workspace: Path, cache: Path, network_of: Callable[[Path], str]
) -> IndexPlace:
    """Return the place of an index.

    An index on a network file system moves to the local cache, unless its path was chosen or the cache is remote too.

    Args:
        path: The path of the index on a local disk.
        chosen: Whether `store.path` sets this path.
        workspace: The workspace of the index.
        cache: The cache folder.
        network_of: Returns the kind of network file system that holds a folder; empty for a local disk.
    """
    kind = network_of(path.parent)
    if not kind:
        return IndexPlace(path)
    if chosen:
        return IndexPlace(path, network=True, reason=f"on {kind}, as store.path says: without a write-ahead log")
    if network_of(cache):
        why = f"on {kind}, and the cache {str(cache)!r} is remote too: without a write-ahead log"
        return IndexPlace(path, network=True, reason=f"{why}; set XDG_CACHE_HOME or store.path to a local disk")
    reason = f"in the local cache, because {str(path.parent)!r} is on {kind}"
    return IndexPlace(_cache_path(path, workspace=workspace, cache=cache), reason=reason)


def _cache_path(path: Path, *, workspace: Path, cache: Path) -> Path:
    """Return a file in the cache that is unique for the path and the workspace."""
    # The path itself is a symbolic link to the current generation, which must not be resolved.
    names = f"{path.parent.resolve() / path.name}\0{workspace.resolve()}"
    digest = hashlib.sha256(names.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return cache / "index" / f"{path.stem[:64]}-{digest}{path.suffix}"
