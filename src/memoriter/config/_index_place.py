"""Where an index is kept when its own place is on a network file system: pure, but for what `network_of` looks up."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class IndexPlace:
    """The file of an index, and why it is this one."""

    path: Path
    network: bool = False
    """On a network file system, where SQLite must not keep a write-ahead log."""
    reason: str = ""
    """For people; empty where there is nothing to tell."""


def cache_of(environ: Mapping[str, str], user_home: Path, *, mac: bool) -> Path:
    """The folder for what can be made anew: below `XDG_CACHE_HOME`, or where the system keeps such things."""
    given = environ.get("XDG_CACHE_HOME", "").strip()
    if given and Path(given).is_absolute():
        return Path(given) / "memoriter"
    return user_home / ("Library/Caches" if mac else ".cache") / "memoriter"


def place_index(
    path: Path, *, chosen: bool, workspace: Path, cache: Path, network_of: Callable[[Path], str]
) -> IndexPlace:
    """Keep an index off the network: in the local cache, unless its path was chosen or the cache is remote too.

    Args:
        path: Where it is kept on a local disk.
        chosen: Whether `store.path` says so.
        workspace: Whose index it is.
        cache: The cache folder.
        network_of: The kind of network file system that holds a folder; empty for a local disk.
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
    return IndexPlace(_cached(path, workspace=workspace, cache=cache), reason=reason)


def _cached(path: Path, *, workspace: Path, cache: Path) -> Path:
    """Another file for each path and each workspace."""
    # The path itself is a link to the generation that serves, which must not be followed.
    names = f"{path.parent.resolve() / path.name}\0{workspace.resolve()}"
    digest = hashlib.sha256(names.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return cache / "index" / f"{path.stem[:64]}-{digest}{path.suffix}"
