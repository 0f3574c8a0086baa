"""From a path to a connection that works: make what is missing, migrate what is old, set aside what is not ours."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from memoriter.errors import IndexUnavailable
from memoriter.index import _cache, _migrations
from memoriter.index._connection import connect, file_kind
from memoriter.index._errors import is_damage
from memoriter.index._lease import identity
from memoriter.index._seal import check_if_strange
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoriter.index._connection import FileKind
    from memoriter.index._database import Database
    from memoriter.index._index_files import IndexFiles

_ATTEMPTS = 20
"""Others may delete and replace the file meanwhile; nobody does it twenty times in a row."""
_IDS = 1 << 32
"""Chunk ids that a generation has for itself: an id of an older one never comes back."""
_WHY: dict[FileKind, str] = {
    "foreign": "belongs to another program",
    "newer": "was made by a newer version",
    "damaged": "is damaged",
}


@dataclass(frozen=True, slots=True)
class Opened:
    """A connection and the file it reads."""

    connection: Database
    file: Path
    identity: tuple[int, int]
    generation: int
    reading: Diagnostic | None = None
    """Why it can only be read; None where it can be written."""


def open_home(
    home: IndexFiles,
    *,
    clock: Callable[[], float],
    network: bool,
    notice: Callable[[Diagnostic], None],
    after: int = 0,
    damaged: Path | None = None,
) -> Opened:
    """Open the index that serves, whatever is found at its path; `apsw` errors that are not damage pass through.

    A new index takes over the vectors of a `damaged` one that was set aside.
    """
    for _ in range(_ATTEMPTS):
        target = home.target()
        if target is None:
            home.create(partial(build, home, clock=clock, network=network, damaged=damaged), after=after)
            continue
        seen = identity(target)
        reading: Diagnostic | None = None
        try:
            connection, kind = _attempt(home, target, clock=clock, network=network)
        except Exception as error:
            if identity(home.path) != seen:
                continue  # another generation took its place while it was opened, and its log went
            from memoriter.index._reading import connect_reading, may_be_read, reason_of

            connection, kind = connect_reading(target) if may_be_read(error) else None, None
            if connection is None:
                raise
            reading = reason_of(home.path, error)
        if connection is not None and seen is not None and identity(home.path) == seen:
            return Opened(connection, target, seen, home.generation_of(target), reading)
        if connection is not None:
            connection.close()
        if kind in _WHY:
            damaged = set_aside(home, seen, _WHY[kind], clock=clock, notice=notice) or damaged
    raise IndexUnavailable(
        f"The index {str(home.path)!r} keeps changing", remedy="Stop the other process and try again."
    )


def _attempt(
    home: IndexFiles, target: Path, *, clock: Callable[[], float], network: bool
) -> tuple[Database | None, FileKind | None]:
    """A connection, or what is wrong with the file, or neither when it has gone."""
    import apsw

    try:
        connection = connect(target, network=network, trusted=False)
    except apsw.Error as error:
        if is_damage(error):
            return None, "damaged"
        if isinstance(error, apsw.CantOpenError) and not target.exists():
            return None, None
        raise
    try:
        kind = prepared(connection, home.generation_of(target), clock=clock)
        if kind == "ours":
            check_if_strange(connection, target, home.seal, home.lease)
    except BaseException as error:
        if not is_damage(error):
            connection.close()
            raise
        kind = "damaged"
    if kind in _WHY:
        connection.close()
        return None, kind
    return connection, kind


def build(
    home: IndexFiles, fresh: Path, *, clock: Callable[[], float], network: bool, damaged: Path | None = None
) -> None:
    """Make a new, empty generation file, with the sound vectors of a `damaged` index if one is given."""
    home.discard(fresh)
    connection = connect(fresh, network=network, create=True)
    try:
        prepared(connection, home.generation_of(fresh), clock=clock)
        if damaged is not None:
            from memoriter.index._salvage import salvage

            salvage(connection, damaged)
    finally:
        connection.close()


def carried_over(
    home: IndexFiles,
    file: Path,
    source: str | None,
    without: _cache.VectorSet | None,
    *,
    clock: Callable[[], float],
    network: bool,
) -> Opened:
    """Create an index file with the vectors of another one, and open it.

    Args:
        home: where the index is.
        file: what to create.
        source: the file whose vectors are copied; None: none are.
        without: the set of vectors that is left out; None: none is.
        clock: gives seconds since 1970.
        network: whether the file is on a network file system.
    """
    build(home, file, clock=clock, network=network)
    connection = connect(file, network=network)
    try:
        if source is not None:
            _cache.carry_over(connection, source, without=without)
    except BaseException:
        connection.close()
        raise
    return Opened(connection, file, identity(file) or (0, 0), home.generation_of(file))


def prepared(connection: Database, generation: int, *, clock: Callable[[], float]) -> FileKind:
    """What the file was before it was created or migrated as needed; a file that is not ours is not touched."""
    kind = file_kind(connection)
    if kind == "empty":
        _migrations.create(connection, now=clock(), first_id=1 + _IDS * max(0, generation - 1))
    elif kind == "old":
        _migrations.migrate(connection, now=clock())
        _migrations.add_checksums(connection)
    if kind in {"ours", "old"} and _migrations.lost_checksums(connection):
        return "damaged"
    return kind


def set_aside(
    home: IndexFiles,
    seen: tuple[int, int] | None,
    why: str,
    *,
    clock: Callable[[], float],
    notice: Callable[[Diagnostic], None],
) -> Path | None:
    """Set the serving file aside, say so and return where it is now; None if another file serves by now."""
    stamp = datetime.fromtimestamp(clock(), UTC).strftime("%Y%m%dT%H%M%SZ")
    place = home.set_aside(seen, f"damaged-{stamp}")
    if place is not None:
        message = f"The index file {str(home.path)!r} {why}; it was moved to {place.name!r} and a new index was begun."
        notice(
            Diagnostic(
                "index_quarantined",
                message,
                "Run `memoriter index` to fill it; delete the moved file when nobody needs it.",
            )
        )
    return place
