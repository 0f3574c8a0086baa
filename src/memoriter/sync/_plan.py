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


_K = TypeVar("_K", bound=Known)


@dataclass(frozen=True, slots=True)
class Plan:
    """Files by what they need; each tuple in the order of their paths."""

    added: tuple[Source, ...] = ()
    suspect: tuple[Source, ...] = ()
    """Size or time differ: the content decides."""
    removed: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        return not (self.added or self.suspect or self.removed)


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
    changed = [source for path, source in found.items() if path in known and not _same_stat(source, known[path])]
    suspect = [source for source in changed if due(source, known[source.path])]
    return Plan(tuple(added), tuple(suspect), tuple(sorted(known.keys() - found.keys())))


def _same_stat(source: Source, known: Known) -> bool:
    return source.size == known.size and source.mtime_ns == known.mtime_ns
