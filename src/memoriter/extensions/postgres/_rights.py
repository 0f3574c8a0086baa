"""The rights of one process at a time, as advisory locks of the server."""

from __future__ import annotations

import os
import threading
import time
from contextlib import closing, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, NoReturn

from memoriter.environment import Deadline, work_deadline, work_until
from memoriter.errors import IndexBusy, IndexUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager

    from memoriter.extensions.postgres._connections import Connection
    from memoriter.extensions.postgres._server import Server

POLL_SECONDS = 0.05
"""How often a waiting process tries the lock."""
STORING_MILLISECONDS = 10_000
"""How long a server that hangs may delay a search that has just computed vectors."""
_INHERITED = list["Connection"]()
"""Connections of a parent process, which still speaks on their sockets: never used and never closed."""
DOING = {
    "index": "is indexing {}",
    "embed": "is computing vectors for {}",
    "background": "is indexing {} in the background",
    "graphs": "is making graphs of the vectors of {}",
    "watch": "is watching the notes of {}",
}
"""The rights of a process to work on a space, each with what its holder does, around the name of the space."""


class Right:
    """A lock that belongs to a connection of its own; the server releases it whenever and however that one ends."""

    def __init__(
        self,
        server: Server,
        space: str,
        kind: str,
        remedy: str,
        *,
        taken: Callable[[Connection], None] = lambda _: None,
        released: Callable[[Connection], None] = lambda _: None,
    ) -> None:
        """Name a right on a space by its name; nothing is locked yet. `kind` is a key of `DOING`."""
        self._server = server
        self._name = f"{server.settings.schema}/{space}/{kind}"
        self._doing = DOING[kind].format(repr(space))
        self._remedy = remedy
        self._taken = taken
        self._released = released
        self._threads = threading.RLock()
        self._connection: Connection | None = None
        self._process = os.getpid()
        self._depth = 0

    @property
    def held(self) -> bool:
        """Whether a thread of this object has it."""
        return self._depth > 0

    @contextmanager
    def hold(self, wait: float) -> Generator[None]:
        """Hold the right; the thread that holds it may do so again. Raises IndexBusy after `wait` seconds."""
        deadline = time.monotonic() + wait
        if not self._threads.acquire(timeout=max(wait, 0.0)):
            raise IndexBusy(f"This process {self._doing} already.", remedy=self._remedy)
        try:
            if not self._depth:
                self._lock(deadline)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if not self._depth:
                    self._unlock()
        finally:
            self._threads.release()

    @contextmanager
    def hold_to_store(self, wait: float, *, after: Right) -> Generator[None]:
        """Hold the right to keep what was computed, even if the search that asked for it has no time left.

        This process may have lost `after`, the right to compute, meanwhile.

        Raises:
            IndexBusy: another process has the right.
            IndexUnavailable: the connection of the right to compute has broken.
        """
        with _storing_in_time():
            after.check()
            # Whoever waited long for the right must not lack the time to use it.
            with self.hold(wait), _storing_in_time():
                yield

    def check(self) -> None:
        """Raise IndexUnavailable if this process has the right and the connection that it belongs to has broken."""
        connection = self._connection
        if connection is not None and self.held:
            from memoriter.extensions.postgres._connections import check

            with self._server.translating():
                check(connection)

    def is_taken(self) -> bool:
        """Return whether any process has it."""
        with self._server.connection() as connection:
            return self._holder(connection) is not None

    def _lock(self, deadline: float) -> None:
        connection = self._server.connect()
        try:
            with self._server.translating():
                while not self._try_lock(connection):
                    if time.monotonic() >= deadline:
                        self._refuse(connection)
                    time.sleep(POLL_SECONDS)
                self._taken(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        self._process = os.getpid()

    def _try_lock(self, connection: Connection) -> bool:
        statement = "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))"
        return connection.execute(statement, (self._name,)).fetchone() == (True,)

    def _refuse(self, connection: Connection) -> NoReturn:
        holder = self._holder(connection)
        who = f": {holder}" if holder else ""
        raise IndexBusy(f"Another process {self._doing}{who}.", remedy=self._remedy)

    def _holder(self, connection: Connection) -> str | None:
        """Return the program, host and process that have the lock, as they named themselves; None: it is free."""
        row = connection.execute(
            "SELECT coalesce(nullif(a.application_name, ''), 'process ' || l.pid) FROM pg_locks l"
            " JOIN pg_stat_activity a ON a.pid = l.pid, hashtextextended(%s, 0) AS wanted"
            " WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1"
            " AND l.classid::bigint = ((wanted >> 32) & 4294967295) AND l.objid::bigint = (wanted & 4294967295)"
            " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())",
            (self._name,),
        ).fetchone()
        return None if row is None else str(row[0])

    def _unlock(self) -> None:
        connection = self._connection
        self._connection = None
        if connection is not None and self._process != os.getpid():
            _INHERITED.append(connection)
        elif connection is not None:
            # A connection that is closed keeps its locks until the server has noticed.
            with suppress(IndexUnavailable), closing(connection), self._server.translating():
                with suppress(IndexUnavailable), self._server.translating():
                    self._released(connection)
                connection.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", (self._name,))


def _storing_in_time() -> AbstractContextManager[None]:
    """Give a search that stores vectors its time anew; an index run, for which nobody waits, has no deadline."""
    if work_deadline() is None:
        return nullcontext()
    return work_until(Deadline.within(STORING_MILLISECONDS, time.monotonic))
