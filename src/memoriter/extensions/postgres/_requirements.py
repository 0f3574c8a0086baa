"""What the store needs of a server: the extension, rights, roles, sessions of its own, and spaces for the user."""

from __future__ import annotations

import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple

from memoriter.environment import Deadline, work_deadline, work_until
from memoriter.errors import IndexUnavailable, sentence
from memoriter.extensions.postgres._schema import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.extensions.postgres._connections import Connection

_MAY_ADD_EXTENSION = (
    "SELECT count(*) > 0, coalesce(bool_or(of_user.rolsuper OR (NOT superuser OR trusted)"
    " AND has_database_privilege(current_database(), 'CREATE')), false)"
    " FROM pg_available_extension_versions, pg_roles of_user"
    " WHERE name = 'vector' AND of_user.rolname = current_user"
)
_MAY_CREATE = (
    "SELECT CASE WHEN to_regnamespace(quote_ident(%s)) IS NULL"
    " THEN has_database_privilege(current_database(), 'CREATE')"
    " ELSE has_schema_privilege(to_regnamespace(quote_ident(%s)), 'CREATE') END"
)

MOST_MILLISECONDS = 2_000
"""How long a proxy may delay the check; without a result, nothing is refused."""
TRIES = 3
"""How often two connections are compared; between their statements, a busy proxy may give a session to another one."""
_PROCESS = "SELECT pg_backend_pid()"

FOREIGN = (
    "Let a member of the role that owns it add you with GRANT, or set another name in"
    " memorySearch.store.postgres.workspace."
)
"""The remedy for a space of another role."""


def check_usage(connection: Connection, schema: str, place: str) -> None:
    """Raise IndexUnavailable if the user may not use a schema that exists; `place` is its name for messages."""
    user = connection.info.user
    refused = "SELECT true FROM pg_namespace WHERE nspname = %s AND NOT has_schema_privilege(oid, 'USAGE')"
    if connection.execute(refused, (schema,)).fetchone() is not None:
        raise IndexUnavailable(
            f"The user {user!r} may not use the schema {schema!r} of {place}.",
            remedy=f"Let its owner run `GRANT USAGE ON SCHEMA {quoted(schema)} TO {quoted(user)};` there.",
        )


def check_extension(connection: Connection, place: str) -> None:
    """Raise IndexUnavailable if a database lacks pgvector and the user may not add it; `place` is for messages."""
    if connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone() is not None:
        return
    ((available, allowed),) = connection.execute(_MAY_ADD_EXTENSION).fetchall()
    if not (available and allowed):
        raise no_extension(place, installed=available)


def no_extension(place: str, *, installed: bool, reason: str = "") -> IndexUnavailable:
    """Return the error of a database without pgvector, with the sentence with which the server refused to add it."""
    statement = "`CREATE EXTENSION vector;`"
    if installed:
        remedy = f"Let an administrator run {statement} there."
    else:
        remedy = f"Install pgvector on the server, and let its administrator run {statement}."
    if reason:
        return IndexUnavailable(f"The database of {place} has no extension pgvector: {sentence(reason)}", remedy=remedy)
    return IndexUnavailable(f"The database of {place} has no extension pgvector.", remedy=remedy)


def check_creation(connection: Connection, schema: str, place: str) -> None:
    """Raise IndexUnavailable if the user may not create what is missing in a schema, or the schema itself."""
    if connection.execute(_MAY_CREATE, (schema, schema)).fetchone() != (True,):
        raise no_schema(connection, schema, place)


def no_schema(connection: Connection, schema: str, place: str, reason: str = "") -> IndexUnavailable:
    """Return the error of a user who may not create a schema, with the sentence with which the server refused it."""
    user = connection.info.user
    name = quoted(schema)
    remedy = f"Let an administrator run `CREATE SCHEMA {name} AUTHORIZATION {quoted(user)};` there."
    exists = "SELECT to_regnamespace(quote_ident(%s)) IS NOT NULL"
    if connection.execute(exists, (schema,)).fetchone() == (True,):
        remedy = f"Let its owner run `GRANT CREATE ON SCHEMA {name} TO {quoted(user)};` there."
    if reason:
        return IndexUnavailable(
            f"The user {user!r} may not create the schema {name} of {place}: {sentence(reason)}", remedy=remedy
        )
    return IndexUnavailable(f"The user {user!r} may not create the schema {name} of {place}.", remedy=remedy)


def check_sessions(connection: Connection, connect: Callable[[], Connection], name: str) -> None:
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


def _share_a_session(connection: Connection, connect: Callable[[], Connection]) -> bool:
    """Return whether a new connection uses the session of one that is open."""
    with closing(connect()) as other:
        for _ in range(TRIES):
            own = connection.execute(_PROCESS).fetchone()
            if other.execute(_PROCESS).fetchone() == own:
                return True
    return False


class Space(NamedTuple):
    """A space that the user may use."""

    id: int
    has_content: bool
    """Whether the process that created it finished."""
    as_wanted: bool
    """Whether it belongs to the role of the settings, if they name one, and the user may read its tables."""


def find_space(connection: Connection, place: str, name: str, role: str) -> Space | None:
    """Return a space, or None if there is none of the name.

    The connection is in autocommit mode, with the schema first in its search path. `role` shall own the space; empty:
    the user of the connection, or the role that owns it already.

    Raises:
        IndexUnavailable: it belongs to a role of which the user is not a member; the user is not a member of `role`, or
            there is no such role.
    """
    if role:
        check_role(connection, place, role)
    ((space, has_content, as_wanted, foreign),) = connection.execute(
        "SELECT spaces.id, edition > 0, (%s = '' OR owner = to_regrole(quote_ident(%s)))"
        # DROP OWNED also takes a role's rights on its own memories.
        " AND coalesce(has_table_privilege(to_regclass('chunks_of_' || spaces.id), 'SELECT'), false), is_foreign(%s)"
        " FROM (VALUES (1)) AS one LEFT JOIN spaces ON name = %s",
        (role, role, name, name),
    ).fetchall()
    if foreign:
        user = connection.info.user
        raise IndexUnavailable(
            f"{place} refuses the memory {name!r}: it belongs to another role than those of the user {user!r}.",
            remedy=FOREIGN,
        )
    return None if space is None else Space(int(space), has_content, as_wanted)


def check_role(connection: Connection, place: str, role: str) -> None:
    """Raise IndexUnavailable if there is no role of a name, or if the user is not a member of it."""
    user = connection.info.user
    known = "SELECT pg_has_role(session_user, oid, 'USAGE') FROM pg_roles WHERE rolname = %s"
    row = connection.execute(known, (role,)).fetchone()
    if row is None:
        raise IndexUnavailable(
            f"There is no role {role!r} on {place}.",
            remedy=f"Let an administrator run `CREATE ROLE {quoted(role)}; GRANT {quoted(role)} TO {quoted(user)};`"
            " there, or correct memorySearch.store.postgres.role.",
        )
    if row != (True,):
        raise IndexUnavailable(
            f"The user {user!r} is not a member of the role {role!r} of {place}.",
            remedy=f"Let an administrator run `GRANT {quoted(role)} TO {quoted(user)};` there, or correct"
            " memorySearch.store.postgres.role.",
        )
