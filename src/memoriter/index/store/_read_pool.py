"""Connections that only read, for threads that read one index at the same time."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from memoriter.index.store._connection import connect
from memoriter.index.store._lease import identity

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from memoriter.index.store._connection import Database

MAX_CONNECTIONS = 4
"""More threads wait for the index's own connection: few machines have more idle cores."""
_CACHE_KIB = 8 * 1024
"""Memory for pages of each connection; the index's own connection has four times as much."""


class ReadPool:
    """Connections to one file, opened when they are needed. They see what any connection has committed.

    They belong to one process and to one generation: with another one, there is another pool.
    """

    def __init__(self, file: Path, file_identity: tuple[int, int]) -> None:
        """Take a file with a write-ahead log, and its identity; nothing is opened yet."""
        self._file = file
        self._identity = file_identity
        self._condition = threading.Condition()
        self._free: list[Database] = []
        self._lent = 0
        self._paused = 0

    @contextmanager
    def lend(self) -> Generator[Database | None]:
        """Lend a connection for one read, or None if none is free or can be opened."""
        connection = self._take()
        try:
            yield connection
        except BaseException:
            # An unfinished statement would keep old pages in the log.
            self._put_back(connection, keep=False)
            raise
        self._put_back(connection, keep=True)

    @contextmanager
    def paused(self) -> Generator[None]:
        """Wait until no connection is lent, and lend none meanwhile."""
        with self._condition:
            self._paused += 1
            self._condition.wait_for(lambda: not self._lent)
        try:
            yield
        finally:
            with self._condition:
                self._paused -= 1

    def close(self) -> None:
        """Close all connections, as soon as none is lent, and lend none any more."""
        with self._condition:
            self._paused += 1
            self._condition.wait_for(lambda: not self._lent)
            for connection in self._free:
                connection.close()
            self._free.clear()

    def _take(self) -> Database | None:
        with self._condition:
            if self._paused or self._lent == MAX_CONNECTIONS:
                return None
            self._lent += 1
            if self._free:
                return self._free.pop()
        connection: Database | None = None
        try:
            connection = self._open()
        finally:
            if connection is None:
                self._end_loan(None)
        return connection

    def _put_back(self, connection: Database | None, *, keep: bool) -> None:
        if connection is None:
            return
        if not keep:
            connection.close()
        self._end_loan(connection if keep else None)

    def _end_loan(self, connection: Database | None) -> None:
        with self._condition:
            if connection is not None:
                self._free.append(connection)
            self._lent -= 1
            self._condition.notify_all()

    def _open(self) -> Database | None:
        """Return a new connection; None if the file is gone or another one, or cannot be opened once more."""
        import apsw

        with suppress(apsw.Error, OSError):
            connection = connect(self._file, network=False)
            with suppress(apsw.Error):
                connection.pragma("query_only", 1)
                connection.pragma("cache_size", -_CACHE_KIB)
                if identity(self._file) == self._identity:
                    return connection
            connection.close()
        return None
