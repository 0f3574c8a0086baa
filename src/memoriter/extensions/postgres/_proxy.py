"""Proxies before a server, such as PgBouncer: which of them the store can work with."""

from __future__ import annotations

import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from memoriter.environment import Deadline, work_deadline, work_until
from memoriter.errors import IndexUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.extensions.postgres._connections import LimitedConnection

MOST_MILLISECONDS = 2_000
"""How long a proxy may delay the check; without a result, nothing is refused."""
TRIES = 3
"""How often two connections are compared; between their statements, a busy proxy may give a session to another one."""
_PROCESS = "SELECT pg_backend_pid()"


def check_sessions(connection: LimitedConnection, connect: Callable[[], LimitedConnection], name: str) -> None:
    """Raise IndexUnavailable if a proxy lets several connections use one session of the server in turns.

    Locks, settings, prepared statements and `LISTEN` belong to a session, so that the store would give wrong answers.
    To find out, a second connection is opened: if it uses the session of the first one, which is still open, sessions
    are shared. Call this if the process number of a connection is not that of its session, as with such a proxy.
    """
    import psycopg

    outer = work_deadline()
    milliseconds = MOST_MILLISECONDS if outer is None else min(MOST_MILLISECONDS, outer.left * 1000)
    shared = False
    # A proxy without a session to spare lets a new connection wait.
    with suppress(IndexUnavailable, psycopg.Error), work_until(Deadline.within(milliseconds, time.monotonic)):
        shared = _share_a_session(connection, connect)
    if shared:
        raise IndexUnavailable(
            f"A proxy before the server {name} lets connections share sessions"
            " (pooling of transactions or statements).",
            remedy="Let it pool sessions (PgBouncer: `pool_mode = session`), or name the server itself in"
            " memorySearch.store.postgres.dsn.",
        )


def _share_a_session(connection: LimitedConnection, connect: Callable[[], LimitedConnection]) -> bool:
    """Return whether a new connection uses the session of one that is open."""
    with closing(connect()) as other:
        for _ in range(TRIES):
            own = connection.execute(_PROCESS).fetchone()
            if other.execute(_PROCESS).fetchone() == own:
                return True
    return False
