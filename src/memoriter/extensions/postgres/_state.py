"""Which content an object reads, and what is remembered of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from memoriter.errors import IndexDamaged, IndexUnavailable
from memoriter.extensions.postgres._files import Place

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import LiteralString

    from memoriter.extensions.postgres._graphs import Graphs
    from memoriter.extensions.postgres._nearest import Share
    from memoriter.extensions.postgres._vectors import VectorSet
    from memoriter.records import Corpus, IndexedFile
    from memoriter.types import Filters

T = TypeVar("T")
_MOST_FILTERS = 8
"""Filters of which something is remembered while the content stays the same."""


def remembered(known: dict[Filters, T], filters: Filters, find: Callable[[], T]) -> T:
    """Return what is known of filters; if nothing is, find it, and remember it."""
    if filters not in known:
        found = find()
        if len(known) >= _MOST_FILTERS:
            known.clear()
        known[filters] = found
        return found
    return known[filters]


EDITION_BITS = 40
"""The bits of a number of the content below the number of its edition."""


def name_of(edition: int, content: int) -> str:
    """Return the name of a state of the content; another state has another name, the same in every process.

    `content` is how often the chunks or vectors of the edition that serves have changed.
    """
    return f"{edition}-{content}"


class Content:
    """One state of the content, and what is remembered of it. Threads may fill it at the same time, with the same."""

    def __init__(self, place: Place, version: int, content: int) -> None:
        self.place = place
        self.version = version
        self.content = content
        self.corpus: Corpus | None = None
        self.files: dict[str, IndexedFile] | None = None
        self.phrases: dict[Filters, list[int]] = {}
        self.shares: dict[Filters, dict[str, Share]] = {}
        """What filters leave of each script, if there are graphs."""
        self.sets: dict[str, VectorSet] = {}
        """The sets of models, by fingerprint; `NO_SET` where a model has none."""
        self.counts: dict[tuple[int, str], tuple[int, ...]] = {}
        """What was counted of a set, by its number and what it is."""
        self.metas: dict[str, dict[str, str]] = {}
        """Settings, by the start of their names."""
        self.graphs: dict[int, Graphs] = {}
        """What was measured of the graphs of sets, by their numbers."""
        self.scripts: dict[int, list[str]] = {}
        """The scripts of the sets that have graphs."""


class State:
    """Which content an object reads."""

    def __init__(self, space: int, edition: int | None = None) -> None:
        self.space = space
        self.fixed = edition
        """An edition that does not serve yet; None: the one that serves."""
        self.known = Content(Place(space, edition or 0), -1, 0)
        """The content that was read last."""

    @property
    def place(self) -> Place:
        """The place of the content that was read last."""
        return self.known.place

    @property
    def statement(self) -> tuple[LiteralString, tuple[int | None, int]]:
        """The statement that reads what `found` takes, with its values."""
        statement = (
            "SELECT editions.id, changes, content FROM editions"
            " WHERE id = coalesce(%s, (SELECT edition FROM spaces WHERE id = %s))"
        )
        return statement, (self.fixed, self.space)

    def found(self, row: tuple[Any, ...] | None) -> Content:
        """Return the content that serves now: the known one, if no process changed anything."""
        if row is None and self.fixed is None:
            raise IndexDamaged("The memory was deleted from the server.", remedy="Run `memoriter index`.")
        if row is None:
            raise IndexUnavailable("The index was replaced while it was read.", remedy="Search again.")
        edition, changes, content = (int(each) for each in row)
        version = (edition << EDITION_BITS) + changes
        known = self.known
        if version != known.version:
            self.known = known = Content(Place(self.space, edition), version, (edition << EDITION_BITS) + content)
        return known
