"""Where a space is, and whether the user may use it: one lookup for those who read and those who write."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memoriter.errors import IndexUnavailable
from memoriter.extensions.postgres._schema import quoted

if TYPE_CHECKING:
    from memoriter.extensions.postgres._connections import LimitedConnection

FOREIGN = (
    "Let a member of the role that owns it add you with GRANT, or set another name in"
    " memorySearch.store.postgres.workspace."
)
"""The remedy for a space of another role."""


class Space(NamedTuple):
    """A space that the user may use."""

    id: int
    has_content: bool
    """Whether the process that created it finished."""
    as_wanted: bool
    """Whether it belongs to the role of the settings, if they name one, and the user may read its tables."""


def find_space(connection: LimitedConnection, place: str, name: str, role: str) -> Space | None:
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


def check_role(connection: LimitedConnection, place: str, role: str) -> None:
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
