"""Which content an object reads, what it remembers of it, and how it learns of changes: `LISTEN` and `NOTIFY`.

Notifications only wake a process up. What it believes is the number of the content, which it then reads.
"""

from __future__ import annotations

import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from memoriter.errors import IndexDamaged, IndexUnavailable
from memoriter.extensions.postgres._files import Place
from memoriter.extensions.postgres._schema import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from threading import Event
    from typing import LiteralString

    from memoriter.extensions.postgres._connections import Connection
    from memoriter.extensions.postgres._nearest import Graphs, Share
    from memoriter.extensions.postgres._server import Server
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


RECHECK_SECONDS = 30.0
"""How often the number of the content is read without a notification, which may be lost."""
REPLICA_SECONDS = 2.0
"""How often it is read on a replica, which refuses `LISTEN`."""
STOP_SECONDS = 0.5
"""How often a waiting thread looks whether it is to stop."""


def channel_of(schema: str) -> str:
    """Return the channel of a schema: its name, within the 63 bytes that a name may have."""
    return schema.encode()[:63].decode(errors="ignore")


class Notifier:
    """Wakes up the processes that wait for a change of a space, once for all changes since the last time.

    A transaction that notifies is committed under a lock of the whole server, so it must not write anything, for which
    the server would wait for its disk. Every user of the database can read the payload: numbers of the space, of its
    edition and of its content.
    """

    def __init__(self, server: Server, state: State) -> None:
        """Notify of changes of the space of `state`; of an edition that is not published, nobody is notified."""
        self._server = server
        self._state = state
        self._unreported = False

    def changed(self, *, later: bool = False) -> None:
        """Notify of a change that was committed; with `later`, only the next `notify` does. Raises nothing."""
        if self._state.fixed is None:
            self._unreported = True
            if not later:
                with suppress(IndexUnavailable), self._server.connection() as connection:
                    self.notify(connection)

    def notify(self, connection: Connection) -> None:
        """Notify of the changes since the last call, if there are any; `connection` must not be in a transaction."""
        if self._unreported:
            self._unreported = False
            connection.execute(
                "SELECT pg_notify(%s, format('%%s %%s-%%s', editions.space, editions.id, content)) FROM editions"
                " WHERE id = (SELECT edition FROM spaces WHERE id = %s)",
                (channel_of(self._server.settings.schema), self._state.space),
            )


def changes(server: Server, state: State, stop: Event) -> Generator[str]:
    """Yield the name of the content now, and within a second after each change, until `stop` is set.

    It has a connection of its own, outside the pool. Raises IndexUnavailable: that one broke, or there is none.
    """
    with closing(server.connect()) as connection, server.translating():
        yield from _followed(connection, server.settings.schema, state, stop)


def _followed(connection: Connection, schema: str, state: State, stop: Event) -> Generator[str]:
    """Look at the content after each notification, and whenever it is time to."""
    listening = False
    seen = ""
    while not stop.is_set():
        row = connection.execute(
            "SELECT pg_is_in_recovery(), editions.id, content FROM (VALUES (1)) AS one"
            " LEFT JOIN editions ON editions.id = (SELECT edition FROM spaces WHERE id = %s)",
            (state.space,),
        ).fetchone()
        replica, edition, content = row or (True, None, 0)
        if not replica and not listening:
            connection.execute(f"LISTEN {quoted(channel_of(schema))}".encode())
            listening = True
            continue  # what changed before is seen now, and what changes later is heard
        if edition is not None and (version := name_of(int(edition), int(content))) != seen:
            seen = version
            yield version
        if listening:
            _await_notification(connection, state.space, stop)
        else:
            stop.wait(REPLICA_SECONDS)


def _await_notification(connection: Connection, space: int, stop: Event) -> None:
    """Return after a notification about the space, after `RECHECK_SECONDS`, or once `stop` is set."""
    until = time.monotonic() + RECHECK_SECONDS
    while not stop.is_set() and (left := until - time.monotonic()) > 0:
        with closing(connection.notifies(timeout=min(left, STOP_SECONDS))) as received:
            if any(each.payload.partition(" ")[0] == str(space) for each in received):
                return
