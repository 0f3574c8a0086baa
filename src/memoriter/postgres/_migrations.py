"""The steps that bring the schema of an earlier version up to date. Vectors and all other rows stay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.postgres._schema import VERSION
from memoriter.postgres._tenants import enter_owner, tenant_statements

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.postgres._server import Connection


def _add_owners(schema: str) -> list[str]:
    """Give each space to the role that made its tables, and let vectors be short."""
    maker = (
        "SELECT tableowner FROM pg_tables WHERE schemaname = current_schema AND tablename = 'chunks_of_' || spaces.id"
    )
    return [
        "ALTER TABLE vectors ALTER COLUMN vector DROP NOT NULL",
        "ALTER TABLE vectors ADD COLUMN IF NOT EXISTS short bytea",
        "ALTER TABLE vectors ADD CHECK (num_nonnulls(vector, short) = 1)",
        "ALTER TABLE spaces ADD COLUMN IF NOT EXISTS owner name",
        f"UPDATE spaces SET owner = coalesce(({maker}), current_user) WHERE owner IS NULL",  # noqa: S608 (fixed text)
        "ALTER TABLE spaces ALTER COLUMN owner SET NOT NULL",
        *tenant_statements(schema),
        "SELECT open_space(name, '') FROM spaces",
    ]


STEPS: dict[int, Callable[[str], list[str]]] = {1: _add_owners}
"""For each version, the statements that make the next one of it, for the quoted name of a schema."""


def stored_version(connection: Connection) -> int:
    """Return the number of the schema; 0 if it is not recorded."""
    row = connection.execute("SELECT max(version) FROM schema_version").fetchone()
    return 0 if row is None or row[0] is None else int(row[0])


def migrate(connection: Connection, schema: str) -> None:
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
