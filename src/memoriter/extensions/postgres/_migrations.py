"""The steps that bring the schema of an earlier version up to date. Vectors and all other rows stay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.errors import IndexUnavailable, sentence
from memoriter.extensions.postgres._schema import TABLES, VERSION
from memoriter.extensions.postgres._tenants import enter_owner, tenant_statements

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from memoriter.extensions.postgres._connections import LimitedConnection


def _add_owners(_: str) -> list[str]:
    """Give each space to the role that made its tables, let vectors be short, and add the scripts of their chunks."""
    maker = (
        "SELECT tableowner FROM pg_tables WHERE schemaname = current_schema AND tablename = 'chunks_of_' || spaces.id"
    )
    same = "chunks.space = vectors.space AND chunks.edition = vectors.edition AND chunks.key = vectors.key"
    return [
        "ALTER TABLE vectors ALTER COLUMN vector DROP NOT NULL",
        "ALTER TABLE vectors ADD COLUMN IF NOT EXISTS short bytea",
        "ALTER TABLE vectors ADD CHECK (num_nonnulls(vector, short) = 1)",
        "ALTER TABLE vectors ADD COLUMN IF NOT EXISTS script text",
        f"UPDATE vectors SET script = chunks.script FROM chunks WHERE {same}",  # noqa: S608 (fixed text)
        "CREATE INDEX IF NOT EXISTS vectors_index_0 ON vectors USING btree (space, edition, set, script)",
        "ALTER TABLE spaces ADD COLUMN IF NOT EXISTS owner name",
        f"UPDATE spaces SET owner = coalesce(({maker}), current_user) WHERE owner IS NULL",  # noqa: S608 (fixed text)
        "ALTER TABLE spaces ALTER COLUMN owner SET NOT NULL",
    ]


def _own_by_oid(schema: str) -> list[str]:
    """Let spaces belong to roles by their OIDs, and renew all policies and functions.

    The policies of a partition hold the OID of the role that has owned it, whatever became of its name. If somebody
    dropped that role, its space belongs to nobody.
    """
    part = "to_regclass(quote_ident('chunks_of_' || spaces.id))"
    by_policy = f"SELECT polroles[1] FROM pg_policy WHERE polrelid = {part} AND polname = 'members'"  # noqa: S608 (fixed text)
    by_name = "to_regrole(quote_ident(owner))"
    # A partition without row security is of an earlier version, and has no policy.
    has_policy = f"SELECT relrowsecurity FROM pg_class WHERE oid = {part}"  # noqa: S608 (fixed text)
    owner = f"coalesce(CASE WHEN ({has_policy}) THEN ({by_policy}) ELSE {by_name} END, 0::oid)"
    return [
        "ALTER TABLE spaces ADD COLUMN role regrole",
        f"UPDATE spaces SET role = {owner}",  # noqa: S608 (fixed text)
        *(f"DROP POLICY IF EXISTS members ON {table}" for table in ("spaces", "editions", *TABLES)),
        "ALTER TABLE spaces DROP COLUMN owner",
        "ALTER TABLE spaces RENAME COLUMN role TO owner",
        "ALTER TABLE spaces ALTER COLUMN owner SET NOT NULL",
        "DROP FUNCTION IF EXISTS keep_others_out(integer, name)",
        *tenant_statements(schema),
        "SELECT open_space(name, '') FROM spaces WHERE pg_has_role(session_user, owner, 'USAGE')",
        "SELECT keep_others_out(id, owner) FROM spaces",
    ]


STEPS: dict[int, Callable[[str], list[str]]] = {
    1: _add_owners,
    2: lambda _: [],
    3: lambda _: [],
    4: _own_by_oid,
}
"""For each version, the statements that make the next one of it, for the quoted name of a schema."""


def stored_version(connection: LimitedConnection) -> int:
    """Return the number of the schema; 0 if it is not recorded."""
    row = connection.execute("SELECT max(version) FROM schema_version").fetchone()
    return 0 if row is None or row[0] is None else int(row[0])


def check_version(
    connection: LimitedConnection,
    schema: str,
    place: str,
    *,
    create: bool,
    unlimited: Callable[[LimitedConnection], AbstractContextManager[None]],
) -> None:
    """Bring an older schema up to date.

    Args:
        connection: in autocommit mode, with the schema first in its search path.
        schema: its quoted name.
        place: its name for messages.
        create: False: an older schema is refused instead.
        unlimited: lets statements of a connection take as long as they need.

    Raises:
        IndexUnavailable: the schema is newer, or this user may not change it.
    """
    import psycopg

    version = stored_version(connection)
    if version > VERSION:
        raise IndexUnavailable(
            f"The schema of {place} has version {version}; the newest that is supported is {VERSION}.",
            remedy="Update memoriter.",
        )
    if version < VERSION and not create:
        raise IndexUnavailable(
            f"The schema of {place} has version {version}; version {VERSION} is needed.",
            remedy="Run `memoriter index`, which brings it up to date and keeps all vectors.",
        )
    if version < VERSION:
        try:
            with unlimited(connection):
                migrate(connection, schema)
        except psycopg.errors.InsufficientPrivilege as error:
            raise IndexUnavailable(
                f"The schema of {place} has version {version}, and {connection.info.user!r} may not bring it up"
                f" to date: {sentence(str(error).partition(chr(10))[0])}",
                remedy="Let the owner of the schema run `memoriter index` once with this version of memoriter.",
            ) from error


def migrate(connection: LimitedConnection, schema: str) -> None:
    """Bring a schema up to date, in one transaction; of several processes, one does and the others wait.

    Args:
        connection: in autocommit mode, with the schema first in its search path.
        schema: its quoted name.
    """
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"create {schema}",))
        enter_owner(connection)
        for version in range(stored_version(connection), VERSION):
            for statement in STEPS[version](schema):
                connection.execute(statement.encode())
            connection.execute("UPDATE schema_version SET version = %s", (version + 1,))
