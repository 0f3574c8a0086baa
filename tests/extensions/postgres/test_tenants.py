"""Roles of a server: only members of the role that owns a memory may use it, whichever way they try."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from memoriter.errors import IndexUnavailable, UsageError
from memoriter.extensions.postgres import _nearest, _vectors
from memoriter.extensions.postgres._schema import TABLES, partitions
from memoriter.extensions.postgres.api import InspectedStore, PostgresStore, ServerSettings, drop_space, list_spaces
from memoriter.ids import vector_key
from memoriter.records import ChunkRecord
from memoriter.types import Chunk, Filters, ModelSpec, Source
from memory_env import MemoryEnv, codes
from postgres_server import postgres_dsn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoriter import Memory

SPEC = ModelSpec("fake", "tenants", 2)
_NUMBERS = count()


class Tenants(NamedTuple):
    """A schema whose owner is no superuser, and the roles that use it. No role is a member of another one."""

    schema: str
    keeper: str
    anna: str
    ben: str
    team: str

    def settings(self, user: str, role: str = "") -> ServerSettings:
        return ServerSettings(dsn=make_conninfo(postgres_dsn(), user=user), schema=self.schema, role=role)

    def connect(self, user: str) -> psycopg.Connection:
        options = f"-c search_path={self.schema},public"
        return psycopg.connect(postgres_dsn(), user=user, options=options, autocommit=True)

    def administer(self, statement: str, *names: str) -> None:
        with psycopg.connect(postgres_dsn(), autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


@pytest.fixture
def tenants() -> Iterator[Tenants]:
    mark = f"{os.getpid()}_{next(_NUMBERS)}"
    made = Tenants(f"tenants_{mark}", *(f"{name}_{mark}" for name in ("keeper", "anna", "ben", "team")))
    for role in made[1:4]:
        made.administer("CREATE ROLE {} LOGIN", role)
    made.administer("CREATE ROLE {}", made.team)
    made.administer("CREATE EXTENSION IF NOT EXISTS vector")
    made.administer("CREATE SCHEMA {} AUTHORIZATION {}", made.schema, made.keeper)
    yield made
    made.administer("DROP SCHEMA {} CASCADE", made.schema)
    for role in made[1:]:
        made.administer("DROP ROLE {}", role)


@pytest.fixture
def opened(tenants: Tenants) -> Iterator[Callable[..., PostgresStore]]:
    stores = list[PostgresStore]()

    def open_(user: str, name: str, role: str = "") -> PostgresStore:
        stores.append(PostgresStore.open(tenants.settings(user, role), name, clock=lambda: 0.0))
        stores[-1].use_vectors(SPEC)
        return stores[-1]

    open_(tenants.keeper, "of the keeper")
    tenants.administer("GRANT USAGE ON SCHEMA {} TO {}, {}", tenants.schema, tenants.anna, tenants.ben)
    yield open_
    for store in stores:
        store.close()


def fill(store: PostgresStore, text: str) -> None:
    """Store a note with a tag, two names, a vector, a failure and a setting."""
    chunks = [Chunk(1, 1, text), Chunk(2, 2, f"refused {text}")]
    entries = [ChunkRecord(chunk, vector_key(chunk), chunk.text, 2, b"", 1) for chunk in chunks]
    with store.lease():
        store.put_file(Source("a.md", "memory", Path("/a.md"), 1, 1), "hash", entries, tags=["t"], names=["a", "b"])
        store.set_meta("key", text)
        store.put_vectors([entries[0].key], np.ones((1, 2), dtype=np.float32))
        store.put_failure(entries[1].key, "no")


def put_text(store: PostgresStore, chunk: Chunk) -> None:
    with store.lease():
        entry = ChunkRecord(chunk, vector_key(chunk), chunk.text, 2, b"", 1)
        store.put_file(Source("a.md", "memory", Path("/a.md"), 1, 1), "hash", [entry])


def texts(store: PostgresStore, term: str) -> list[str]:
    rows = store.keyword_search([term], limit=5)
    return [row.chunk.text for row in store.rows([each for each, _ in rows]).values()]


def rows_of(connection: psycopg.Connection, table: str) -> list[tuple[object, ...]]:
    """Return what a user can read or delete of a table by its own name."""
    name = sql.Identifier(table)
    try:
        rows = connection.execute(sql.SQL("SELECT * FROM {}").format(name)).fetchall()
        return rows + connection.execute(sql.SQL("DELETE FROM {} RETURNING *").format(name)).fetchall()
    except psycopg.errors.InsufficientPrivilege:
        return []


@pytest.mark.slow
def test_a_role_neither_reads_nor_writes_rows_of_another_one_by_sql(
    tenants: Tenants, opened: Callable[..., PostgresStore]
) -> None:
    stores = {user: opened(user, f"of {user}") for user in (tenants.anna, tenants.ben)}
    for user, store in stores.items():
        fill(store, f"secret{user}")
    spaces = {user: store._state.space for user, store in stores.items()}
    for user, other in ((tenants.anna, tenants.ben), (tenants.ben, tenants.anna), (tenants.keeper, tenants.anna)):
        foreign = spaces[other]
        own = spaces.get(user, -1)
        with tenants.connect(user) as connection:
            for table in ("editions", *(each for each in TABLES if each != "items")):
                name = sql.Identifier(table)
                seen = {row[0] for row in connection.execute(sql.SQL("SELECT DISTINCT space FROM {}").format(name))}
                assert foreign not in seen, table
                assert own in seen or own == -1, table
                for change in ("UPDATE {} SET space = space WHERE space = %s", "DELETE FROM {} WHERE space = %s"):
                    assert connection.execute(sql.SQL(change).format(name), (foreign,)).rowcount == 0, (table, change)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("INSERT INTO meta(space, edition, key, value) VALUES (%s, 1, 'x', 'y')", (foreign,))
            if own != -1:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute("UPDATE meta SET space = %s WHERE space = %s", (foreign, own))
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(
                        "UPDATE spaces SET owner = current_user::text::regrole WHERE id = %s", (foreign,)
                    )
                assert connection.execute("UPDATE spaces SET epoch = 9 WHERE id = %s", (foreign,)).rowcount == 0
            for table in partitions(foreign):
                assert rows_of(connection, table) == [], table
    assert [texts(store, f"secret{user}") for user, store in stores.items()] == [
        [f"secret{user}", f"refused secret{user}"] for user in stores
    ]


@pytest.mark.slow
def test_a_memory_of_another_role_is_refused_with_what_to_do(
    tenants: Tenants, opened: Callable[..., PostgresStore]
) -> None:
    fill(opened(tenants.anna, "plans"), "secret")
    for user in (tenants.ben, tenants.keeper):
        with pytest.raises(IndexUnavailable, match="belongs to another role") as refused:
            opened(user, "plans")
        assert "memorySearch.store.postgres.workspace" in refused.value.remedy
    with pytest.raises(IndexUnavailable, match="is not a member of the role"):
        opened(tenants.ben, "new", tenants.team)
    with pytest.raises(IndexUnavailable, match="There is no role") as refused:
        opened(tenants.ben, "new", "nobody at all")
    assert "memorySearch.store.postgres.role" in refused.value.remedy
    assert 'CREATE ROLE "nobody at all"' in refused.value.remedy
    tenants.administer("REVOKE USAGE ON SCHEMA {} FROM {}", tenants.schema, tenants.ben)
    with pytest.raises(IndexUnavailable, match="may not use the schema") as refused:
        opened(tenants.ben, "of ben")
    assert "GRANT USAGE ON SCHEMA" in refused.value.remedy


@pytest.mark.slow
def test_a_look_at_a_memory_is_refused_with_the_reason_for_which_its_use_is(
    tenants: Tenants, opened: Callable[..., PostgresStore]
) -> None:
    fill(opened(tenants.anna, "plans"), "secret")

    def both(user: str, name: str, role: str = "") -> set[str]:
        errors = set[str]()
        for act in (PostgresStore.open, InspectedStore.inspect):
            with pytest.raises(IndexUnavailable) as refused:
                act(tenants.settings(user, role), name, clock=lambda: 0.0)
            errors.add(f"{refused.value.message} {refused.value.remedy}")
        return errors

    for user in (tenants.ben, tenants.keeper):
        (error,) = both(user, "plans")
        assert "belongs to another role" in error
    (error,) = both(tenants.ben, "new", tenants.team)
    assert "is not a member of the role" in error
    (error,) = both(tenants.ben, "new", "nobody at all")
    assert "There is no role 'nobody at all'" in error
    with closing(InspectedStore.inspect(tenants.settings(tenants.anna), "plans", clock=lambda: 0.0)) as look:
        assert texts(look, "secret") == ["secret", "refused secret"]
    with closing(InspectedStore.inspect(tenants.settings(tenants.ben), "new", clock=lambda: 0.0)) as look:
        assert look.files() == {}


@pytest.mark.slow
def test_members_of_a_role_share_its_memory_until_they_leave(
    tenants: Tenants, opened: Callable[..., PostgresStore]
) -> None:
    tenants.administer("GRANT {} TO {}, {}", tenants.team, tenants.anna, tenants.ben)
    fill(opened(tenants.anna, "plans", tenants.team), "shared")
    of_ben = opened(tenants.ben, "plans", tenants.team)
    assert texts(of_ben, "shared") == ["shared", "refused shared"]
    assert (of_ben.vectors(), of_ben.failures(), of_ben.get_meta("key")) == (1, 1, "shared")
    with of_ben.lease():
        of_ben.set_meta("key", "from ben")
        of_ben.compact(max_entries=10, max_bytes=10_000)
        with of_ben.rebuild() as rebuilt:
            assert rebuilt.files() == {}
    assert opened(tenants.anna, "plans").files() == {}
    fill(of_ben, "again")
    tenants.administer("REVOKE {} FROM {}", tenants.team, tenants.ben)
    with pytest.raises(IndexUnavailable):
        texts(of_ben, "again")
    with pytest.raises(IndexUnavailable, match="belongs to another role"):
        opened(tenants.ben, "plans")
    assert texts(opened(tenants.anna, "plans"), "again") == ["again", "refused again"]


@pytest.mark.slow
def test_an_owner_gives_a_memory_to_a_role_and_only_then_others_find_it(
    tenants: Tenants, opened: Callable[..., PostgresStore]
) -> None:
    tenants.administer("GRANT {} TO {}, {}", tenants.team, tenants.anna, tenants.ben)
    fill(opened(tenants.anna, "plans"), "shared")
    with pytest.raises(IndexUnavailable, match="belongs to another role"):
        opened(tenants.ben, "plans", tenants.team)
    opened(tenants.anna, "plans", tenants.team)
    store = opened(tenants.ben, "plans")
    assert texts(store, "shared") == ["shared", "refused shared"]
    tenants.administer("REVOKE {} FROM {}", tenants.team, tenants.anna)
    for user in (tenants.anna, tenants.keeper):
        with tenants.connect(user) as connection:
            for table in partitions(store._state.space):
                assert rows_of(connection, table) == [], table


@pytest.mark.slow
def test_a_role_that_is_renamed_keeps_its_memories_and_its_old_name_gives_nobody_access(
    tenants: Tenants, opened: Callable[..., PostgresStore]
) -> None:
    store = opened(tenants.anna, "of anna")
    fill(store, "secret")
    space = store._state.space
    new_name = f"{tenants.anna}_married"
    store.close()
    tenants.administer("ALTER ROLE {} RENAME TO {}", tenants.anna, new_name)
    tenants.administer("CREATE ROLE {} LOGIN", tenants.anna)
    try:
        tenants.administer("GRANT USAGE ON SCHEMA {} TO {}", tenants.schema, tenants.anna)
        sees_nothing(tenants, tenants.anna, space)
        with pytest.raises(IndexUnavailable, match="belongs to another role"):
            opened(tenants.anna, "of anna")
        (listed,) = list_spaces(tenants.settings(new_name))
        assert (listed.name, listed.owner) == ("of anna", new_name)
        renamed = opened(new_name, "of anna")
        assert texts(renamed, "secret") == ["secret", "refused secret"]
        put_text(renamed, Chunk(2, 2, "written later"))
        renamed.close()
        drop_space(tenants.settings(new_name), "of anna")
        assert list_spaces(tenants.settings(new_name)) == []
    finally:
        tenants.administer("DROP OWNED BY {}", new_name)
        tenants.administer("DROP ROLE {}", new_name)


@pytest.mark.slow
def test_a_role_with_the_name_of_one_that_was_dropped_gets_none_of_its_memories(
    tenants: Tenants, opened: Callable[..., PostgresStore]
) -> None:
    store = opened(tenants.anna, "of anna")
    fill(store, "secret")
    opened(tenants.keeper, "of the keeper")
    space = store._state.space
    store.close()
    tenants.administer("DROP OWNED BY {}", tenants.anna)
    tenants.administer("DROP ROLE {}", tenants.anna)
    tenants.administer("CREATE ROLE {} LOGIN", tenants.anna)
    tenants.administer("GRANT USAGE ON SCHEMA {} TO {}", tenants.schema, tenants.anna)
    opened(tenants.keeper, "of the keeper")
    sees_nothing(tenants, tenants.anna, space)
    with pytest.raises(IndexUnavailable, match="belongs to another role"):
        opened(tenants.anna, "of anna")
    with pytest.raises(UsageError, match="no memory"):
        drop_space(tenants.settings(tenants.anna), "of anna")
    own = opened(tenants.anna, "another one")
    put_text(own, Chunk(1, 1, "secret"))
    assert own.shared_vectors([vector_key(Chunk(1, 1, "secret"))]) == set()
    administrator = ServerSettings(dsn=postgres_dsn(), schema=tenants.schema)
    assert "of anna" in {each.name for each in list_spaces(administrator)}
    drop_space(administrator, "of anna")
    assert "of anna" not in {each.name for each in list_spaces(administrator)}


def sees_nothing(tenants: Tenants, user: str, space: int) -> None:
    """Check that a user finds no row of a space, in the tables of all and in its own."""
    with tenants.connect(user) as connection:
        for table in ("editions", *TABLES):
            statement = sql.SQL("SELECT count(*) FROM {} WHERE space = %s").format(sql.Identifier(table))
            assert connection.execute(statement, (space,)).fetchone() == (0,), table
        assert connection.execute("SELECT name FROM spaces").fetchall() == []
        for table in partitions(space):
            with suppress(psycopg.errors.InsufficientPrivilege):
                assert rows_of(connection, table) == [], table
    assert list_spaces(tenants.settings(user)) == []


@pytest.mark.slow
def test_a_role_whose_rights_were_dropped_and_that_exists_uses_its_memory_again(
    tenants: Tenants, opened: Callable[..., PostgresStore]
) -> None:
    store = opened(tenants.anna, "of anna")
    fill(store, "mine")
    store.close()
    tenants.administer("DROP OWNED BY {}", tenants.anna)
    tenants.administer("GRANT USAGE ON SCHEMA {} TO {}", tenants.schema, tenants.anna)
    assert texts(opened(tenants.anna, "of anna"), "mine") == ["mine", "refused mine"]


@pytest.mark.slow
def test_objects_that_pass_to_another_role_take_no_memory_along(
    tenants: Tenants, opened: Callable[..., PostgresStore]
) -> None:
    store = opened(tenants.anna, "of anna")
    fill(store, "mine")
    tenants.administer("REASSIGN OWNED BY {} TO {}", tenants.anna, tenants.ben)
    sees_nothing(tenants, tenants.ben, store._state.space)
    tenants.administer("REASSIGN OWNED BY {} TO {}", tenants.keeper, tenants.ben)
    try:
        fill(opened(tenants.ben, "of ben"), "his")  # who owns the schema now, and can create spaces in it
        assert [each.name for each in list_spaces(tenants.settings(tenants.ben))] == ["of ben"]
        assert texts(opened(tenants.anna, "of anna"), "mine") == ["mine", "refused mine"]
    finally:
        tenants.administer("REASSIGN OWNED BY {} TO {}", tenants.ben, tenants.keeper)


@pytest.mark.slow
def test_vectors_are_shared_with_memories_of_the_same_role_and_kept_from_others(
    tenants: Tenants, opened: Callable[..., PostgresStore]
) -> None:
    tenants.administer("GRANT {} TO {}, {}", tenants.team, tenants.anna, tenants.ben)
    of_anna = opened(tenants.anna, "of anna")
    of_ben = opened(tenants.ben, "of ben")
    fill(of_anna, "the same text")
    chunk = Chunk(1, 1, "the same text")
    key = vector_key(chunk)
    put_text(of_ben, chunk)
    in_team = opened(tenants.ben, "of the team", tenants.team)
    put_text(in_team, chunk)
    for store in (of_ben, in_team):  # the user anna may read both, but they belong to other roles
        assert store.shared_vectors([key]) == set()
        with store.storing():
            assert store.take_vectors([key]) == set()
        assert [text for _, text in store.missing(9)] == ["the same text"]
    with in_team.storing():
        in_team.put_vectors([key], np.ones((1, 2), dtype=np.float32))
    of_other = opened(tenants.anna, "another one of the team", tenants.team)
    put_text(of_other, chunk)
    with of_other.storing():
        assert of_other.take_vectors([key]) == {key}
    assert (of_ben.missing(9), of_other.missing(9)) == ([(key, "the same text")], [])


@pytest.mark.slow
def test_the_server_gives_no_vector_of_another_role_even_if_it_is_asked_for(
    tenants: Tenants, opened: Callable[..., PostgresStore]
) -> None:
    store = opened(tenants.anna, "of anna")
    fill(store, "the same text")
    key = vector_key(Chunk(1, 1, "the same text"))
    with store._server.connection() as connection:
        found = _vectors.find_set(connection, SPEC, *store._state.place)
        assert found is not None
        assert _vectors.held_by(connection, [found], [key]) == {key}
    of_ben = opened(tenants.ben, "of ben")
    put_text(of_ben, Chunk(1, 1, "the same text"))
    with of_ben.storing(), of_ben._active() as (connection, own):
        assert _vectors.held_by(connection, [found], [key]) == set()
        assert _vectors.take_from(connection, own, [found], [key], now=0.0) == set()


@pytest.mark.slow
def test_only_members_of_its_role_list_a_memory_or_delete_it(
    tenants: Tenants, opened: Callable[..., PostgresStore]
) -> None:
    for store in (opened(tenants.anna, "plans"), opened(tenants.ben, "of ben")):
        fill(store, "kept")
        store.close()
    for user in (tenants.ben, tenants.keeper):
        assert "plans" not in [each.name for each in list_spaces(tenants.settings(user))]
        with pytest.raises(UsageError, match="no memory 'plans' that you may delete"):
            drop_space(tenants.settings(user), "plans")
        with tenants.connect(user) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT drop_space('plans')")
    (mine,) = list_spaces(tenants.settings(tenants.anna))
    assert (mine.name, mine.owner, mine.passages, mine.vectors) == ("plans", tenants.anna, 2, 1)
    drop_space(tenants.settings(tenants.anna), "plans")
    assert list_spaces(tenants.settings(tenants.anna)) == []
    assert [each.passages for each in list_spaces(tenants.settings(tenants.ben))] == [2]


@pytest.mark.slow
def test_a_status_says_who_must_make_the_graphs_that_a_user_may_not_make(
    tenants: Tenants, tmp_path: Path, opened: Callable[..., PostgresStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    def memory_of(user: str) -> Memory:
        env = MemoryEnv.at(tmp_path / user)
        dsn = make_conninfo(postgres_dsn(), user=user)
        place = {"dsn": dsn, "schema": tenants.schema, "workspace": "plans"}
        env.configure(provider="fake", store={"driver": "postgres", "postgres": place}, query={"scoring": "rrf"})
        return env.open()

    opened(tenants.anna, "plans/main").close()
    with memory_of(tenants.anna) as memory:
        assert memory.sync().pending == 0
        assert codes(memory.status()) == []
        monkeypatch.setattr(_nearest, "MOST_COMPARED", 1)
        monkeypatch.setattr(_nearest, "LARGE", 1)
        (reason,) = memory.status().health.reasons
        assert (reason.code, "GRANT" in reason.message) == ("graphs_missing", False)
        assert memory.search("ledger").health.ok
        statement = reason.remedy.split("`")[1]
        assert statement == f"GRANT {tenants.anna} TO {tenants.keeper};"
    tenants.administer("GRANT {} TO {}", tenants.anna, tenants.keeper)
    monkeypatch.setattr(_nearest, "MOST_TIME", 1e9)
    with memory_of(tenants.keeper) as memory:
        memory.sync()
        memory.compact()
        assert codes(memory.status()) == []


@pytest.mark.slow
def test_a_filter_by_vector_words_and_tag_finds_the_own_note_with_the_rights_of_a_plain_user(
    tenants: Tenants, opened: Callable[..., PostgresStore]
) -> None:
    store = opened(tenants.anna, "plans")
    fill(store, "mine")
    nearest = store.vector_search(np.ones(2, dtype=np.float32), limit=3, filters=Filters(tags=("t",)))
    assert [round(cosine, 4) for _, cosine in nearest] == [1.0]
    assert len(store.keyword_search_all(["mine", "refused"], limit=3)) == 1
    with tenants.connect(tenants.anna) as connection:
        connection.execute("SET enable_seqscan = off")
        table = sql.Identifier(f"chunks_of_{store._state.space}")
        query = sql.SQL("EXPLAIN SELECT id FROM {} WHERE words @@ 'mine'::tsquery").format(table)
        plan = "\n".join(row[0] for row in connection.execute(query))
    assert "Bitmap Index Scan" in plan, "policies must not keep the index of words from being used"
