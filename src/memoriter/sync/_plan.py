"""What has to be done to make the index say what the files say: pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from memoriter.types import Source


class Known(Protocol):
    """What the index remembers of a file."""

    @property
    def size(self) -> int: ...
    @property
    def mtime_ns(self) -> int: ...
    @property
    def stamp(self) -> int: ...


_K = TypeVar("_K", bound=Known)


@dataclass(frozen=True, slots=True)
class Plan:
    """Files by what they need; each tuple in the order of their paths."""

    added: tuple[Source, ...] = ()
    suspect: tuple[Source, ...] = ()
    """Size, time or inode differ: the content decides."""
    removed: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        return not self.size

    @property
    def size(self) -> int:
        """Files that need anything."""
        return len(self.added) + len(self.suspect) + len(self.removed)

    @property
    def sources(self) -> tuple[Source, ...]:
        """All that is to be read."""
        return (*self.added, *self.suspect)


STEP_SECONDS = 0.1
"""Longest step of the times of a file system that keeps parts of a millisecond: a tick of the kernel, with room."""
COARSE_SECONDS = 2.5
"""Longest step of any other: FAT has two seconds."""
UNSURE = -1
"""The stamp of a file that may change without a change of its stat: the next look reads it again."""


def may_change_unseen(inode_changed_ns: int, now: float) -> bool:
    """Return whether another write could leave size, times and inode of a file as they are.

    File systems keep times in steps: two writes within one step have the same time. A file that was written to so
    recently that the step may not be over cannot be told from a later version of the same size.

    Args:
        inode_changed_ns: when the inode changed, in nanoseconds since 1970.
        now: a moment before the file was read, in seconds since 1970.
    """
    step = COARSE_SECONDS if inode_changed_ns % 1_000_000 == 0 else STEP_SECONDS
    return abs(now - inode_changed_ns / 1e9) < step


def _always(source: Source, known: Known) -> bool:
    del source, known
    return True


def make_plan(sources: Iterable[Source], known: Mapping[str, _K], due: Callable[[Source, _K], bool] = _always) -> Plan:
    """Compare a look at the disk with the index; a cheap stat decides first, the hash second.

    Args:
        sources: what the disk has.
        known: what the index has, by path.
        due: whether a file that changed is to be read now; one that is not stays as it is until a later look.
    """
    found = {source.path: source for source in sources}
    added = [source for path, source in found.items() if path not in known]
    changed = [source for path, source in found.items() if path in known and not same_stat(source, known[path])]
    suspect = [source for source in changed if due(source, known[source.path])]
    return Plan(tuple(added), tuple(suspect), tuple(sorted(known.keys() - found.keys())))


def same_stat(source: Source, known: Known) -> bool:
    """Return whether the file has the size, the times and the inode that the index remembers."""
    return (source.size, source.mtime_ns, source.stamp) == (known.size, known.mtime_ns, known.stamp)
