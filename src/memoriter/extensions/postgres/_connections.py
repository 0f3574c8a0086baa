"""Connections to a server whose statements end in time, and the pool that lends them."""

from __future__ import annotations

import logging
import os
import select
import threading
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Self, cast

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from memoriter.environment import work_deadline

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from memoriter.environment import Deadline

SHORTEST_SECONDS = 1.0
"""A statement gets at least this long, so that a search that is late for another reason still gets its passages."""
RESERVED_SECONDS = 0.2
"""Seconds before the deadline of a search at which it stops waiting for the server."""
SLACK_SECONDS = 1.0
"""Seconds after the server should have cancelled a statement until the client stops waiting for it."""
LOOK_SECONDS = 0.1
"""How often a waiting thread looks at the clock."""
ALIVE = {
    "keepalives": "1",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
"""With these parameters of libpq a client notices that the server's host has gone; the connection string may differ."""
SESSION = {
    "jit": "off",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "20000",
    "client_connection_check_interval": "2000",
    "idle_in_transaction_session_timeout": "60000",
    # A role or a database may have other values, with which statements fail, or mean something else.
    "array_nulls": "on",
    "default_transaction_deferrable": "off",
    "default_transaction_isolation": "read committed",
    "extra_float_digits": "1",
    "idle_session_timeout": "0",
    "lock_timeout": "0",
    "row_security": "on",
    "standard_conforming_strings": "on",
    "transaction_timeout": "0",
}
"""Settings of each session. The server notices that a client has gone, even without a word, and frees its locks."""
_STARTING = (
    "starting up",
    "recovery mode",
    "shutting down",
    "not yet accepting connections",
    "server closed the connection unexpectedly",
)
"""Parts of the messages of a server that starts again, or that ends the processes of new connections after a crash."""

log = logging.getLogger(__name__)
log.addHandler(logging.NullHandler())
# The pool reports each attempt as a warning; the failures that matter become errors of memoriter.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())
logging.getLogger("psycopg.pool").propagate = False

_OUTAGES = set[str]()
"""Connection strings of servers to which the last attempt to connect failed; each outage is logged once."""

_INHERITED = list[Any]()
"""Pools of a parent process: never used and never closed, because the parent still speaks on their sockets."""


_IN_VAIN: ContextVar[tuple[Deadline, float] | None] = ContextVar("in_vain", default=None)
"""The deadline of a search that waited in vain, and when that ended first (monotonic seconds)."""


def _shortest(deadline: Deadline | None) -> float:
    """Return how long a statement may take at least: all that follow one that failed share `SHORTEST_SECONDS`."""
    known = _IN_VAIN.get()
    if deadline is None or known is None or known[0] is not deadline:
        return SHORTEST_SECONDS
    return max(known[1] + SHORTEST_SECONDS - time.monotonic(), 0.0)


class OutOfTime(psycopg.OperationalError):
    """The server did not answer in time; the connection is closed."""

    def __init__(self, seconds: float) -> None:
        """Record how long the caller waited, and the deadline of its search, which may have waited before."""
        super().__init__(f"no answer within {seconds:.1f} s")
        self.seconds = seconds
        self.deadline = work_deadline()
        known = _IN_VAIN.get()
        if self.deadline is not None and (known is None or known[0] is not self.deadline):
            _IN_VAIN.set((self.deadline, time.monotonic()))


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that stops waiting for a statement, even if the server hangs and cancels nothing."""

    limit: float | None = 10.0
    """Seconds that a statement may take; None: as long as it needs."""
    knows_vectors = False
    """Whether it converts vectors."""

    def wait(self, gen: Any, *options: Any, **more: Any) -> Any:
        """Wait for an answer; close the connection and raise OutOfTime when there is no more time."""
        more = {"interval": LOOK_SECONDS, **more} if not options else more
        try:
            return super().wait(self._limited(gen), *options, **more)
        except OutOfTime:
            self.pgconn.finish()
            raise

    def _limited(self, steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        began = time.monotonic()
        deadline = work_deadline()
        shortest = _shortest(deadline)
        try:
            wanted = next(steps)
            while True:
                ready = yield wanted
                if not ready:
                    waited = time.monotonic() - began
                    late = deadline is not None and deadline.left <= RESERVED_SECONDS and waited >= shortest
                    if late or (self.limit is not None and waited >= self.limit):
                        raise OutOfTime(waited)
                wanted = steps.send(ready)
        except StopIteration as end:
            return end.value


def connect(conninfo: str, *, seconds: float) -> Connection:
    """Return a new connection in autocommit mode; wait up to `seconds` for each host. Raises psycopg.Error."""
    if seconds <= 0:
        raise OutOfTime(seconds)
    whole = max(int(seconds), 2)
    try:
        return Connection.connect(conninfo, autocommit=True, connect_timeout=whole)
    except psycopg.errors.ConnectionTimeout as error:
        raise OutOfTime(whole) from error


def seconds_left(most: float) -> float:
    """Return how many seconds a caller may wait: `most`, or less before the deadline of a search."""
    deadline = work_deadline()
    return most if deadline is None else min(most, max(deadline.left - RESERVED_SECONDS, _shortest(deadline)))


def has_time() -> bool:
    """Return whether the search of this thread, if there is one, has time to ask the server once more."""
    deadline = work_deadline()
    return deadline is None or deadline.left > RESERVED_SECONDS


class Pool:
    """Lends connections to threads. A failed attempt to connect is reported at once."""

    def __init__(
        self, conninfo: str, configure: Callable[[Connection], None], lost: Callable[[], None], *, size: int
    ) -> None:
        self.size = size
        self._lost = lost
        self._conninfo = conninfo
        self.lent = 0
        self._count = threading.Lock()
        self._process = os.getpid()
        self._failed = -1.0, psycopg.Error()
        """The last failure to connect, and when it happened (monotonic seconds)."""
        pool = self

        class Recorded(Connection):
            """A connection that tells its pool why it could not be made."""

            @classmethod
            def connect(cls, conninfo: str = "", **options: Any) -> Self:  # type: ignore[override]
                try:
                    made = super().connect(conninfo, **options)
                except psycopg.Error as error:
                    pool._failed = time.monotonic(), error
                    if pool._conninfo not in _OUTAGES:
                        _OUTAGES.add(pool._conninfo)
                        log.warning("no connection to the server: %s", str(error).partition("\n")[0])
                    raise
                _OUTAGES.discard(pool._conninfo)
                return made

        def configured(connection: Connection) -> None:
            try:
                configure(connection)
            except psycopg.Error as error:
                pool._failed = time.monotonic(), error
                raise

        self._pool: ConnectionPool[Any] = ConnectionPool(
            conninfo,
            connection_class=Recorded,
            kwargs={"autocommit": True},
            min_size=0,
            max_size=size,
            configure=configured,
            check=self._check,
            reconnect_timeout=0.0,
            open=True,
        )

    @property
    def exhausted(self) -> bool:
        return self.lent >= self.size

    @property
    def inherited(self) -> bool:
        """Whether this process was forked from the one that made the pool."""
        return self._process != os.getpid()

    def take(self, seconds: float) -> Connection:
        """Return a connection, which must be given back. Raises psycopg.Error, and PoolTimeout if all are in use."""
        began = time.monotonic()
        while True:
            left = began + seconds - time.monotonic()
            try:
                taken = cast("Connection", self._pool.getconn(timeout=min(max(left, 0.01), LOOK_SECONDS)))
            except PoolTimeout:
                at, error = self._failed
                if at >= began and (left <= 0 or not any(part in str(error) for part in _STARTING)):
                    raise error from None
                if left <= 0 and self.exhausted:
                    raise
                if left <= 0:
                    raise OutOfTime(seconds) from None
                continue
            with self._count:
                self.lent += 1
            return taken

    def give_back(self, connection: Connection) -> None:
        with self._count:
            self.lent -= 1
        if connection.closed:
            self._lost()
        self._pool.putconn(connection)

    def close(self) -> None:
        if self.inherited:
            _INHERITED.append(self)
        else:
            self._pool.close(timeout=1.0)

    def _check(self, connection: Connection) -> None:
        try:
            check(connection)
        except psycopg.Error:
            self._lost()
            raise


def check(connection: Connection) -> None:
    """Raise psycopg.Error if a connection that is idle is broken.

    The server is asked only if the socket has something unexpected, such as its end.
    """
    if hasattr(select, "poll") and not connection.closed:
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN)
        if not poll.poll(0):
            return
    ConnectionPool.check_connection(connection)
