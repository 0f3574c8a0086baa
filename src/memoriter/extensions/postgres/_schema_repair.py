"""What a schema lacks, if somebody dropped or changed a part of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoriter.errors import IndexDamaged
from memoriter.extensions.postgres._schema import TABLES

if TYPE_CHECKING:
    from memoriter.extensions.postgres._connections import LimitedConnection

_COLUMN = re.compile(r"(?:^|, )([a-z_]+) [a-z{]")
"""The name of a column in a definition of a table; what is no column is in capitals or in parentheses."""
_WITH_EXTENSION = {"vector"}
"""Columns that are dropped together with the extension and can be added again."""


def check_columns(connection: LimitedConnection, schema: str, place: str) -> None:
    """Raise IndexDamaged if a table that exists lacks columns; `place` is the name of the schema for messages."""
    names = {table: {"space", "edition", *_COLUMN.findall(columns)} for table, columns in TABLES.items()}
    rows = connection.execute(
        "SELECT c.relname, array_agg(a.attname::text) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
        " WHERE n.nspname = %s AND c.relname = ANY(%s) GROUP BY c.relname",
        (schema, list(names)),
    ).fetchall()
    for table, columns in rows:
        if lacking := sorted(names[table] - {*columns} - _WITH_EXTENSION):
            raise IndexDamaged(
                f"The tables of {place} are not those of memoriter: {table!r} has no column {lacking[0]!r}.",
                remedy="Restore them from a backup, or name another schema in memorySearch.store.postgres.schema.",
            )


def restore_vectors(connection: LimitedConnection, vector_type: str) -> None:
    """Add the column of vectors again if it went with the extension; rows without any vector go.

    The connection is in a transaction, with the rights of the owner of the tables.
    """
    lacking = (
        "SELECT NOT EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('vectors')"
        " AND attname = 'vector' AND NOT attisdropped)"
    )
    if connection.execute(lacking).fetchone() == (True,):
        # Policies hide the rows of other owners from DELETE, and these rows have lost their vectors, too.
        connection.execute("TRUNCATE vectors")
        connection.execute(f"ALTER TABLE vectors ADD COLUMN vector {vector_type}".encode())
        connection.execute("ALTER TABLE vectors ADD CHECK (num_nonnulls(vector, short) = 1)")
