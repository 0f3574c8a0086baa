"""The tables of the store, and who may use their rows.

Each row belongs to a space (a workspace and an agent), by which tables are partitioned. The members of the role that
owns a space may use it, and the server enforces that by policies on every table.

Only the functions here, which run with the rights of the owner of the schema, create spaces and their partitions. A
role that shall use the schema needs nothing but USAGE on it. Whoever owns the schema sees the names of all spaces, and
the rows of its own ones, unless it first changes the policies, as the owner of a table can.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoriter.errors import IndexDamaged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.extensions.postgres._connections import Connection

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


def check_columns(connection: Connection, schema: str, place: str) -> None:
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


def restore_vectors(connection: Connection, vector_type: str) -> None:
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


IS_MEMBER = "pg_has_role(owner, 'USAGE')"
"""The condition of the spaces of a user. A role that was dropped has no members."""
_OWN_SPACES = f"space = ANY (ARRAY(SELECT id FROM spaces WHERE {IS_MEMBER}))"  # noqa: S608 (fixed text)
"""The condition is computed once for each statement."""
_IS_KEEPER = (
    "(SELECT relowner FROM pg_catalog.pg_class WHERE oid = 'spaces'::regclass) = to_regrole(quote_ident(current_user))"
)
"""The condition of the owner of the schema's tables, who may change as by REASSIGN OWNED."""

_KEEP_OTHERS_OUT = """
CREATE OR REPLACE FUNCTION keep_others_out(number integer, owning regrole) RETURNS void
LANGUAGE plpgsql SET search_path = {schema}, pg_temp AS $body$
DECLARE
  part text;
BEGIN
  FOREACH part IN ARRAY '{{{tables}}}'::text[] LOOP
    part := part || '_of_' || number;
    CONTINUE WHEN to_regclass(quote_ident(part)) IS NULL;
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', part);
    EXECUTE format('DROP POLICY IF EXISTS members ON %I', part);
    IF EXISTS (SELECT FROM pg_roles WHERE oid = owning) THEN
      -- A constant is no condition on rows, so the index of words stays usable.
      EXECUTE format('CREATE POLICY members ON %I TO %s USING (true) WITH CHECK (true)', part, owning);
    END IF;
  END LOOP;
END
$body$
"""

_OPEN_SPACE = """
CREATE OR REPLACE FUNCTION open_space(wanted text, team text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_temp AS $body$
DECLARE
  number integer;
  holder regrole;
  owning regrole := to_regrole(quote_ident(coalesce(nullif(team, ''), session_user)));
  part text;
BEGIN
  IF owning IS NULL THEN
    RAISE EXCEPTION 'There is no role "%".', team USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF NOT pg_has_role(session_user, owning, 'USAGE') THEN
    RAISE EXCEPTION 'The user "%" is not a member of the role "%".', session_user, team
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('{lock}' || wanted, 0));
  SELECT id, owner INTO number, holder FROM spaces WHERE name = wanted;
  IF number IS NULL THEN
    INSERT INTO spaces(name, edition, owner) VALUES (wanted, 0, owning) RETURNING id INTO number;
  ELSIF NOT pg_has_role(session_user, holder, 'USAGE') THEN
    RAISE EXCEPTION 'The memory "%" belongs to another role than those of the user "%".', wanted, session_user
      USING ERRCODE = 'insufficient_privilege';
  ELSIF team = '' THEN
    owning := holder;
  ELSIF holder <> owning THEN
    UPDATE spaces SET owner = owning WHERE id = number;
  END IF;
  FOREACH part IN ARRAY '{{{tables}}}'::text[] LOOP
    EXECUTE format('CREATE TABLE IF NOT EXISTS %I PARTITION OF %I FOR VALUES IN (%s)',
                   part || '_of_' || number, part, number);
    EXECUTE format('REVOKE ALL ON %I FROM PUBLIC', part || '_of_' || number);
    IF holder <> owning AND EXISTS (SELECT FROM pg_roles WHERE oid = holder) THEN
      EXECUTE format('REVOKE ALL ON %I FROM %s', part || '_of_' || number, holder);
    END IF;
    IF current_setting('server_version_num')::integer >= 170000 THEN
      EXECUTE format('GRANT MAINTAIN ON %I TO %s', part || '_of_' || number, owning);
    END IF;
  END LOOP;
  EXECUTE format('GRANT SELECT ON %I TO %s', 'chunks_of_' || number, owning);
  PERFORM keep_others_out(number, owning);
  RETURN number;
END
$body$
"""

_DROP_SPACE = """
CREATE OR REPLACE FUNCTION drop_space(wanted text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_temp AS $body$
DECLARE
  number integer;
  holder regrole;
  part text;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('{lock}' || wanted, 0));
  SELECT id, owner INTO number, holder FROM spaces WHERE name = wanted;
  IF NOT coalesce(pg_has_role(session_user, holder, 'USAGE'), false) THEN
    RAISE EXCEPTION 'The memory "%" belongs to another role than those of the user "%".', wanted, session_user
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  FOREACH part IN ARRAY '{{{tables}}}'::text[] LOOP
    EXECUTE format('DROP TABLE IF EXISTS %I', part || '_of_' || number);
  END LOOP;
  DELETE FROM spaces WHERE id = number;
END
$body$
"""

_IS_FOREIGN = """
CREATE OR REPLACE FUNCTION is_foreign(wanted text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {schema}, pg_temp AS $body$
  SELECT EXISTS (SELECT 1 FROM spaces WHERE name = wanted
    AND NOT pg_has_role(session_user, owner, 'USAGE'))
$body$
"""
"""A user does not see the spaces of others; this tells that a name is taken, as an attempt to open it does."""


def enter_owner(connection: Connection) -> None:
    """Act as the owner of the tables until the transaction ends, if there are any. Raises InsufficientPrivilege."""
    connection.execute(
        "SELECT set_config('role', tableowner, true) FROM pg_tables"
        " WHERE schemaname = current_schema AND tablename = 'schema_version' AND tableowner <> current_user"
    )


def tenant_statements(schema: str) -> list[str]:
    """Return the statements that let only members of its owner use a space. They may run again."""
    lock = schema.replace("'", "''") + "/"
    functions = [
        each.format(schema=schema, lock=lock, tables=",".join(TABLES)).strip()
        for each in (_KEEP_OTHERS_OUT, _OPEN_SPACE, _DROP_SPACE, _IS_FOREIGN)
    ]
    return [*functions, *_policies(), *_grants()]


def _policies() -> Iterator[str]:
    conditions = {"spaces": IS_MEMBER, "editions": _OWN_SPACES, **dict.fromkeys(TABLES, _OWN_SPACES)}
    for table, condition in conditions.items():
        yield f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"
        yield f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY"
        yield f"DROP POLICY IF EXISTS members ON {table}"
        yield f"CREATE POLICY members ON {table} USING ({condition}) WITH CHECK ({condition})"
    yield "DROP POLICY IF EXISTS administration ON spaces"
    yield f"CREATE POLICY administration ON spaces USING ({_IS_KEEPER}) WITH CHECK ({_IS_KEEPER})"


def _grants() -> Iterator[str]:
    yield "GRANT SELECT ON schema_version TO PUBLIC"
    yield "GRANT SELECT, UPDATE (edition, epoch) ON spaces TO PUBLIC"
    yield f"GRANT SELECT, INSERT, UPDATE, DELETE ON editions, {', '.join(TABLES)} TO PUBLIC"
    yield "GRANT USAGE ON SEQUENCE file_ids TO PUBLIC"
    yield "REVOKE ALL ON FUNCTION keep_others_out(integer, regrole) FROM PUBLIC"
