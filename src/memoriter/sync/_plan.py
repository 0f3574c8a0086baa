"""The plan of changes that brings the index up to date with the files. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from memoriter.types import Source


class FileRecord(Protocol):
    """The fields that the index stores of a file."""

    @property
    def size(self) -> int: ...
    @property
    def mtime_ns(self) -> int: ...
    @property
    def stamp(self) -> int: ...


_K = TypeVar("_K", bound=FileRecord)


@dataclass(frozen=True, slots=True)
class Plan:
    """The files to index or remove; each tuple in the order of the paths."""

    added: tuple[Source, ...] = ()
    suspect: tuple[Source, ...] = ()
    """Files whose size, time or inode differs. Their content decides whether they changed."""
    removed: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        return not self.size

    @property
    def size(self) -> int:
        """The number of files in the plan."""
        return len(self.added) + len(self.suspect) + len(self.removed)

    @property
    def sources(self) -> tuple[Source, ...]:
        """All files to read."""
        return (*self.added, *self.suspect)


STEP_SECONDS = 0.1
"""The longest time step of a file system that stores fractions of a millisecond: a kernel tick, with a margin."""
COARSE_SECONDS = 2.5
"""The longest time step of other file systems. FAT has two seconds."""
UNSURE = -1
"""The stamp of a file that may change without a change of its stat. The next scan reads it again."""


def may_change_unseen(inode_changed_ns: int, now: float) -> bool:
    """Return whether another write could leave the size, times and inode of a file unchanged.

    File systems store times in steps: two writes within one step have the same time. If the step of the last write may
    not be over, the file cannot be told from a later version of the same size.

    Args:
        inode_changed_ns: when the inode changed, in nanoseconds since 1970.
        now: a time before the file was read, in seconds since 1970.
    """
    step = COARSE_SECONDS if inode_changed_ns % 1_000_000 == 0 else STEP_SECONDS
    return abs(now - inode_changed_ns / 1e9) < step


def _always(source: Source, indexed: FileRecord) -> bool:
    del source, indexed
    return True


def make_plan(sources: Iterable[Source], known: Mapping[str, _K], due: Callable[[Source, _K], bool] = _always) -> Plan:
    """Compare a scan with the index. A cheap stat finds candidates, and the checksum decides later.

    Args:
        sources: the files that exist.
        known: the files in the index, by path.
        due: returns whether a changed file is to be indexed now; otherwise a later scan indexes it.
    """
    sources_by_path = {source.path: source for source in sources}
    added = [source for path, source in sources_by_path.items() if path not in known]
    changed = [
        source for path, source in sources_by_path.items() if path in known and not same_stat(source, known[path])
    ]
    suspect = [source for source in changed if due(source, known[source.path])]
    return Plan(tuple(added), tuple(suspect), tuple(sorted(known.keys() - sources_by_path.keys())))


def same_stat(source: Source, indexed: FileRecord) -> bool:
    """Return whether the file has the size, the times and the inode that the index stores."""
    return (source.size, source.mtime_ns, source.stamp) == (indexed.size, indexed.mtime_ns, indexed.stamp)
