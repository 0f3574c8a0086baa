"""The tables of the store. Each row belongs to a space (a workspace and an agent), by which tables are partitioned."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoriter.errors import IndexDamaged

if TYPE_CHECKING:
    from memoriter.extensions.postgres._connections import LimitedConnection

VERSION = 5
"""The number of the schema, kept in the table `schema_version`."""

SHARED = """
CREATE TABLE IF NOT EXISTS schema_version(version integer NOT NULL);
INSERT INTO schema_version SELECT {version} WHERE NOT EXISTS (SELECT 1 FROM schema_version);

-- edition: the content that serves; epoch: grows whenever a process takes the right to index; owner: the OID of a role,
-- since a name may pass to another role; a dump has its name, so that it can be restored on another server
CREATE TABLE IF NOT EXISTS spaces(
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL UNIQUE,
  edition bigint NOT NULL,
  epoch bigint NOT NULL DEFAULT 0,
  owner regrole NOT NULL
);

-- changes: grows with every write; content: with every change of chunks or vectors; newest: the last id of a chunk
CREATE TABLE IF NOT EXISTS editions(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  space integer NOT NULL,
  changes bigint NOT NULL DEFAULT 0,
  content bigint NOT NULL DEFAULT 0,
  newest bigint NOT NULL DEFAULT 0
);

CREATE SEQUENCE IF NOT EXISTS file_ids;
"""

TABLES = {
    "meta": 'key text COLLATE "C" NOT NULL, value text NOT NULL, PRIMARY KEY (space, edition, key)',
    "sets": (
        "id integer GENERATED ALWAYS AS IDENTITY, fingerprint text NOT NULL, dimensions integer NOT NULL,"
        " spec jsonb NOT NULL, created_at double precision NOT NULL, PRIMARY KEY (space, edition, fingerprint)"
    ),
    "files": (
        'id bigint NOT NULL, path text COLLATE "C" NOT NULL, kind text NOT NULL, hash text NOT NULL,'
        " size bigint NOT NULL, mtime_ns bigint NOT NULL, chunks bigint NOT NULL, length bigint NOT NULL,"
        " tail text NOT NULL, stamp bigint NOT NULL, PRIMARY KEY (space, edition, path)"
    ),
    "tags": 'file bigint NOT NULL, tag text COLLATE "C" NOT NULL, PRIMARY KEY (space, edition, file, tag)',
    "names": 'name text COLLATE "C" NOT NULL, file bigint NOT NULL, PRIMARY KEY (space, edition, name, file)',
    "chunks": (
        "id bigint NOT NULL, file bigint NOT NULL, day integer NOT NULL, ordinal integer NOT NULL,"
        " length integer NOT NULL, script text NOT NULL, key bytea NOT NULL, term_counts bytea NOT NULL,"
        " start_line integer NOT NULL, end_line integer NOT NULL, heading text NOT NULL, text text NOT NULL,"
        " words tsvector NOT NULL, PRIMARY KEY (space, edition, id)"
    ),
    "items": (
        "chunk bigint NOT NULL, first integer NOT NULL, last integer NOT NULL, script text NOT NULL,"
        " key bytea NOT NULL, PRIMARY KEY (space, edition, chunk, first)"
    ),
    "frequencies": 'term text COLLATE "C" NOT NULL, chunks bigint NOT NULL, PRIMARY KEY (space, edition, term)',
    "vectors": (
        "set integer NOT NULL, key bytea NOT NULL, used_at double precision NOT NULL, script text,"
        " vector {vector}, short bytea,"
        " CHECK (num_nonnulls(vector, short) = 1), PRIMARY KEY (space, edition, set, key)"
    ),
    "failures": (
        "set integer NOT NULL, key bytea NOT NULL, message text NOT NULL, failed_at double precision NOT NULL,"
        " PRIMARY KEY (space, edition, set, key)"
    ),
}
"""The columns of each table after `space` and `edition`."""

INDEXES = {
    "chunks": ("(space, edition, file, ordinal)", "(space, edition, key)", "USING gin (words)"),
    "items": ("(space, edition, key)",),
    "names": ("(space, edition, file)",),
    "files": ("(space, edition, id)",),
    "failures": ("(space, edition, key)",),
    "vectors": ("(space, edition, set, script)",),
}

_COLUMN = re.compile(r"(?:^|, )([a-z_]+) [a-z{]")
"""The name of a column in a definition of a table; what is no column is in capitals or in parentheses."""
_WITH_EXTENSION = {"vector"}
"""Columns that are dropped together with the extension and can be added again."""


def quoted(name: str) -> str:
    """Return a name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def shared_statements(vector_type: str) -> list[str]:
    """Return the statements that make an empty schema a store; `vector_type` is given with its schema."""
    made = [statement for statement in SHARED.format(version=VERSION).split(";\n") if statement.strip()]
    for table, columns in TABLES.items():
        made.append(
            f"CREATE TABLE IF NOT EXISTS {table}(space integer NOT NULL, edition bigint NOT NULL,"
            f" {columns.format(vector=vector_type)})"
            " PARTITION BY LIST (space)"
        )
    for table, indexes in INDEXES.items():
        for number, index in enumerate(indexes):
            on = index if index.startswith("USING") else f"USING btree {index}"
            made.append(f"CREATE INDEX IF NOT EXISTS {table}_index_{number} ON {table} {on}")
    return made


def partitions(space: int) -> list[str]:
    """Return the names of the tables of a space."""
    return [f"{table}_of_{space}" for table in TABLES]


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
