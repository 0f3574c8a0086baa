"""Who may use a space: the members of the role that owns it. The server enforces it, by policies on every table.

Only the functions here, which run with the rights of the owner of the schema, create spaces and their partitions. A
role that shall use the schema needs nothing but USAGE on it. Whoever owns the schema sees the names of all spaces, and
the rows of its own ones, unless it first changes the policies, as the owner of a table can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.errors import IndexUnavailable
from memoriter.extensions.postgres._schema import TABLES, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.extensions.postgres._connections import LimitedConnection

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


def check_usage(connection: LimitedConnection, schema: str, place: str) -> None:
    """Raise IndexUnavailable if the user may not use a schema that exists; `place` is its name for messages."""
    user = connection.info.user
    refused = "SELECT true FROM pg_namespace WHERE nspname = %s AND NOT has_schema_privilege(oid, 'USAGE')"
    if connection.execute(refused, (schema,)).fetchone() is not None:
        raise IndexUnavailable(
            f"The user {user!r} may not use the schema {schema!r} of {place}.",
            remedy=f"Let its owner run `GRANT USAGE ON SCHEMA {quoted(schema)} TO {quoted(user)};` there.",
        )


def enter_owner(connection: LimitedConnection) -> None:
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
