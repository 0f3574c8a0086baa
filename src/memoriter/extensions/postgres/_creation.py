"""What the store needs to be created on a server: the extension, and the right to create a schema and its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.errors import IndexUnavailable, sentence
from memoriter.extensions.postgres._schema import quoted

if TYPE_CHECKING:
    from memoriter.extensions.postgres._connections import LimitedConnection

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


def check_extension(connection: LimitedConnection, place: str) -> None:
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


def check_creation(connection: LimitedConnection, schema: str, place: str) -> None:
    """Raise IndexUnavailable if the user may not create what is missing in a schema, or the schema itself."""
    if connection.execute(_MAY_CREATE, (schema, schema)).fetchone() != (True,):
        raise no_schema(connection, schema, place)


def no_schema(connection: LimitedConnection, schema: str, place: str, reason: str = "") -> IndexUnavailable:
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
