"""Schemas of other versions: an older one is brought up to date with nothing lost, a newer one is left alone."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from memoriter.errors import IndexUnavailable
from memoriter.extensions.postgres._schema import TABLES, VERSION
from memoriter.extensions.postgres._server import Server
from memoriter.extensions.postgres.api import PostgresStore, ServerSettings
from memoriter.ids import vector_key
from memoriter.records import ChunkRecord
from memoriter.types import Chunk, ModelSpec, Source
from postgres_server import postgres_dsn

if TYPE_CHECKING:
    from collections.abc import Iterator

SPEC = ModelSpec("fake", "versions", 2)
FIRST = (Path(__file__).parent / "v1.sql").read_text(encoding="utf-8")
_NUMBERS = count()


@pytest.fixture
def schema() -> Iterator[str]:
    name = f"versions_{os.getpid()}_{next(_NUMBERS)}"
    yield name
    with connect() as connection:
        for each in (name, f"{name}_new"):
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(each)))


def connect(schema: str = "public") -> psycopg.Connection:
    return psycopg.connect(postgres_dsn(), autocommit=True, options=f"-c search_path={schema},public")


def open_(schema: str, **settings: Any) -> PostgresStore:
    made = ServerSettings(**{"dsn": postgres_dsn(), "schema": schema, **settings})
    store = PostgresStore.open(made, "notes", clock=lambda: 0.0)
    store.use_vectors(SPEC)
    return store


def fill(store: PostgresStore) -> None:
    chunks = [Chunk(1, 1, "paid the rent"), Chunk(2, 2, "fed the cat")]
    entries = [ChunkRecord(chunk, vector_key(chunk), chunk.text, 3, b"", 1) for chunk in chunks]
    with store.lease():
        store.put_file(Source("a.md", "memory", Path("/a.md"), 1, 1), "hash", entries, tags=["t"], names=["a", "b"])
        store.set_meta("key", "value")
        store.put_vectors([entries[0].key], np.ones((1, 2), dtype=np.float32))
        store.put_failure(entries[1].key, "no")


def contents(store: PostgresStore) -> Any:
    found = store.keyword_search(["cat", "rent"], limit=5)
    ids = store.all_ids()
    keys, vectors = store.stored_vectors(b"", 9)
    nearest = store.vector_search(np.ones(2, dtype=np.float32), limit=2)
    counts = store.vectors(), store.waiting(), dict(store.refused()), store.get_meta("key")
    return store.files(), store.corpus(), found, store.rows(ids), list(keys), vectors.tolist(), nearest, counts


def make_first_version(schema: str) -> Any:
    """Make a schema of version 1 with the rows of a store, and return what the store gives of them."""
    new = f"{schema}_new"
    store = open_(new)
    fill(store)
    expected = contents(store)
    space = store._state.space
    edition = store._state.place.edition
    store.close()
    with connect() as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        connection.execute(sql.SQL("SET search_path = {}, public").format(sql.Identifier(schema)))
        connection.execute(FIRST.encode())
        assert space == 1
        for table in ("spaces", "editions", *TABLES):
            listing = "SELECT column_name FROM information_schema.columns WHERE table_schema = %s AND table_name = %s"
            columns = sql.SQL(", ").join(
                sql.Identifier(name) for (name,) in connection.execute(listing, (schema, table)).fetchall()
            )
            connection.execute(
                sql.SQL("INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE SELECT {} FROM {}").format(
                    sql.Identifier(table), columns, columns, sql.Identifier(new, table)
                )
            )
        assert edition
        for table in ("spaces", "editions"):
            connection.execute(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), 100)".encode())
    return expected


def structure(schema: str) -> Any:
    """Return the columns, constraints, indexes, policies and rights of a schema, whatever its name."""
    here = "current_schema::regnamespace"
    queries = [
        """SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns
        WHERE table_schema = current_schema ORDER BY 1, 2""",
        f"""SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = {here} ORDER BY 1, 2, 3""",
        """SELECT tablename, policyname, roles::text, cmd, qual, with_check FROM pg_policies
        WHERE schemaname = current_schema ORDER BY 1, 2""",
        f"""SELECT relname, relrowsecurity, relforcerowsecurity, relacl::text FROM pg_class
        WHERE relnamespace = {here} AND relkind IN ('r', 'p', 'S') ORDER BY 1""",
        f"SELECT proname, proowner::regrole::text, prosecdef FROM pg_proc WHERE pronamespace = {here} ORDER BY 1",
        "SELECT indexname FROM pg_indexes WHERE schemaname = current_schema ORDER BY 1",
    ]
    with connect(schema) as connection:
        return [connection.execute(query.encode()).fetchall() for query in queries]


def version(schema: str) -> int:
    with connect(schema) as connection:
        ((number,),) = connection.execute("SELECT version FROM schema_version").fetchall()
        return int(number)


@pytest.mark.slow
def test_an_older_schema_becomes_the_present_one_and_keeps_every_row(schema: str) -> None:
    expected = make_first_version(schema)
    assert version(schema) == 1
    store = open_(schema)
    assert contents(store) == expected
    assert (version(schema), store.waiting()) == (VERSION, 0)
    assert structure(schema) == structure(f"{schema}_new")
    with store.rebuild():
        pass
    assert (store.files(), store.models()) == ({}, {SPEC: 1})
    store.close()


@pytest.mark.slow
def test_processes_that_open_an_older_schema_at_once_bring_it_up_to_date_once(schema: str) -> None:
    expected = make_first_version(schema)
    together = Barrier(4)

    def work(_: int) -> Any:
        together.wait()
        store = open_(schema)
        try:
            return contents(store)
        finally:
            store.close()

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(work, range(4))) == [expected] * 4
    assert version(schema) == VERSION


@pytest.mark.slow
def test_a_schema_whose_update_fails_stays_as_it_is(schema: str) -> None:
    expected = make_first_version(schema)
    before = structure(schema)
    with connect(schema) as connection:
        connection.execute(
            "CREATE FUNCTION open_space(wanted text, team text) RETURNS text LANGUAGE sql AS 'SELECT wanted'"
        )
    with pytest.raises(IndexUnavailable):
        open_(schema)
    assert version(schema) == 1
    with connect(schema) as connection:
        connection.execute("DROP FUNCTION open_space(text, text)")
    assert structure(schema) == before
    store = open_(schema)
    assert contents(store) == expected
    store.close()


@pytest.mark.slow
def test_an_older_schema_is_neither_changed_by_an_inspection_nor_by_a_user_who_does_not_own_it(schema: str) -> None:
    make_first_version(schema)
    server = Server(ServerSettings(dsn=postgres_dsn(), schema=schema))
    with pytest.raises(IndexUnavailable, match="has version 1; version") as refused:
        server.prepare(create=False)
    assert "memoriter index" in refused.value.remedy
    server.close()
    user = f"{schema}_user"
    with connect(schema) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(user)))
        names = sql.Identifier(schema), sql.Identifier(user)
        connection.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(*names))
        connection.execute(sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA {} TO {}").format(*names))
        try:
            with pytest.raises(IndexUnavailable, match="may not bring it up to date") as refused:
                open_(schema, dsn=make_conninfo(postgres_dsn(), user=user))
            assert "owner of the schema" in refused.value.remedy
        finally:
            connection.execute(sql.SQL("DROP OWNED BY {}").format(names[1]))
            connection.execute(sql.SQL("DROP ROLE {}").format(names[1]))
    assert version(schema) == 1


def test_a_newer_schema_is_refused_and_left_alone(schema: str) -> None:
    open_(schema).close()
    with connect(schema) as connection:
        connection.execute("UPDATE schema_version SET version = %s", (VERSION + 1,))
    with pytest.raises(
        IndexUnavailable, match=f"has version {VERSION + 1}; the newest that is supported is"
    ) as refused:
        open_(schema)
    assert "Update memoriter" in refused.value.remedy
    assert version(schema) == VERSION + 1


def test_connections_that_were_open_before_the_schema_was_made_take_vectors(schema: str) -> None:
    server = Server(ServerSettings(dsn=postgres_dsn(), schema=schema))
    with server.connection(), server.connection():
        pass
    server.prepare(create=True)
    sent = "SELECT (%b::vector)::text"
    with server.connection() as one, server.connection() as other:
        rows = [each.execute(sent, (np.ones(2, dtype=np.float32),)).fetchone() for each in (one, other)]
    server.close()
    assert rows == [("[1,1]",), ("[1,1]",)]
