"""How a process learns that another one changed the content: `LISTEN` and `NOTIFY`.

Notifications only wake a process up. What it believes is the number of the content, which it then reads.
"""

from __future__ import annotations

import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from memoriter.errors import IndexUnavailable
from memoriter.extensions.postgres._schema import quoted
from memoriter.extensions.postgres._state import name_of

if TYPE_CHECKING:
    from collections.abc import Generator
    from threading import Event

    from memoriter.extensions.postgres._server import Connection, Server
    from memoriter.extensions.postgres._state import State

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
