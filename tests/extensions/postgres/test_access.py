"""Who may use a PostgreSQL server: rights, versions, passwords, and settings that come with a folder."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from faults import answered, found, refused, run
from memoriter.extensions.postgres import _server
from memoriter.extensions.postgres.api import ServerSettings
from memory_env import QUESTION, MemoryEnv, Outcome
from server_faults import LEDGER, configure, schema_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from breakable_postgres import BreakableServer

pytestmark = pytest.mark.slow
pytest_plugins = ["server_fault_fixtures"]

CANARY = "c4nary+p4ssw0rd"


def statement_of(remedy: str) -> str:
    """The statement of SQL that a remedy tells an administrator to run."""
    return remedy.split("`")[1]


LOOKS = ("status", "doctor")
"""Commands that create nothing on a server."""


def told(env: MemoryEnv, command: str) -> str:
    """Return what a command prints that finds something wrong."""
    done = run(env, *command.split())
    assert "Traceback" not in done.err, done.err
    return (done.out + done.err).replace('\\"', '"')


@contextmanager
def role(server: BreakableServer, name: str, *statements: str) -> Generator[None]:
    server.run(f"CREATE ROLE {name} LOGIN IN ROLE passwordless", *statements)
    try:
        yield
    finally:
        server.run(f"DROP OWNED BY {name} CASCADE", f"DROP ROLE {name}")


def test_a_user_who_may_create_no_schema_is_told_the_statement_which_then_works(
    env: MemoryEnv, server: BreakableServer
) -> None:
    with role(server, "guest"):
        configure(env, server, dsn=server.dsn("guest"))
        error = refused(env, "index")
        assert "'guest' may not create the schema" in error["message"]
        statement = statement_of(error["remedy"])
        for command in LOOKS:
            assert statement in told(env, command), command
        assert statement == f'CREATE SCHEMA "{schema_of(env)}" AUTHORIZATION "guest";'
        server.run(statement)
        assert found(env, QUESTION)[0] == LEDGER


def test_a_user_without_rights_in_a_schema_gets_the_statement_which_does_not_open_memories_of_others(
    env: MemoryEnv, server: BreakableServer
) -> None:
    answered(env, "index")
    with role(server, "stranger"):
        configure(env, server, dsn=server.dsn("stranger"))
        error = refused(env, "search", QUESTION)
        assert "'stranger' may not use the schema" in error["message"]
        server.run(statement_of(error["remedy"]))
        assert "belongs to another role" in refused(env, "search", QUESTION)["message"]


def test_a_database_without_the_extension_names_the_statement_which_then_works(
    env: MemoryEnv, server: BreakableServer
) -> None:
    with role(server, "owner"):
        server.run("CREATE DATABASE bare", "GRANT TEMPORARY ON DATABASE bare TO owner")
        try:
            configure(env, server, dsn=server.dsn("owner", "bare"))
            server.run(f'CREATE SCHEMA "{schema_of(env)}" AUTHORIZATION owner', database="bare")
            error = refused(env, "index")
            assert "has no extension pgvector" in error["message"]
            for command in LOOKS:
                assert statement_of(error["remedy"]) in told(env, command), command
            server.run(statement_of(error["remedy"]), database="bare")
            assert found(env, QUESTION)[0] == LEDGER
        finally:
            server.run("DROP DATABASE bare WITH (FORCE)")


def test_servers_and_extensions_that_are_too_old_are_named(
    env: MemoryEnv, server: BreakableServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_server, "OLDEST_SERVER", 990_000)
    assert "is PostgreSQL 18, which is too old" in refused(env, "search", QUESTION)["message"]
    monkeypatch.undo()
    monkeypatch.setattr(_server, "OLDEST_VECTOR", (99, 0))
    error = refused(env, "search", QUESTION)
    assert "which is too old" in error["message"]
    assert statement_of(error["remedy"]) == "ALTER EXTENSION vector UPDATE;"


@pytest.fixture
def secret_role(server: BreakableServer) -> Iterator[str]:
    server.run(f"CREATE ROLE keeper LOGIN PASSWORD '{CANARY}' SUPERUSER")
    yield "keeper"
    server.run("DROP OWNED BY keeper CASCADE", "DROP ROLE keeper")


def test_a_password_is_printed_nowhere_whichever_way_it_is_given(
    env: MemoryEnv, server: BreakableServer, secret_role: str
) -> None:
    plain = server.dsn(secret_role)
    address = f"127.0.0.1:{server.port}/postgres"
    services = env.home / "services.conf"
    parts = {"host": "127.0.0.1", "port": server.port, "user": secret_role, "dbname": "postgres", "password": CANARY}
    services.write_text("[memory]\n" + "".join(f"{name}={value}\n" for name, value in parts.items()))
    ways: list[tuple[dict[str, Any], dict[str, str]]] = [
        ({"dsn": f"postgresql://{secret_role}:{CANARY}@{address}"}, {}),
        ({"dsn": plain}, {"PGPASSWORD": CANARY}),
        ({"dsn": plain, "password": CANARY}, {}),
        ({"dsn": plain, "password": "${MEMORY_SECRET}"}, {"MEMORY_SECRET": CANARY}),
        ({"dsn": None, "service": "memory"}, {"PGSERVICEFILE": str(services)}),
    ]
    printed = list[str]()

    def outputs(*words: str) -> Outcome:
        done = run(env, *words)
        printed.extend((done.out, done.err, repr(done)))
        return done

    for settings, variables in ways:
        configure(env, server, **settings)
        env.environ = variables
        assert outputs("search", QUESTION).exit_code == 0, settings
        for words in (("config", "list"), ("config", "list", "--all"), ("status",), ("doctor",), ("index",)):
            outputs(*words)
    env.environ = {}
    for settings in (
        {"dsn": f"postgresql://{secret_role}:{CANARY}@127.0.0.1:1/postgres"},
        {"dsn": f"postgresql://{secret_role}:{CANARY}/x@{address}"},
        {"dsn": f"postgresql://{secret_role}:x@{CANARY}@{address}"},
        {"dsn": f"postgresql://{secret_role}:x?{CANARY}@{address}"},
        {"dsn": f"host=127.0.0.1 password=x {CANARY}"},
        {"dsn": f"postgresql://nobody:{CANARY}@{address}"},
    ):
        configure(env, server, **settings)
        assert outputs("search", QUESTION).json["error"]["remedy"], settings
        outputs("status")
    assert not [text for text in printed if CANARY in str(text) or CANARY.partition("+")[0] in str(text)]
    assert CANARY not in repr(ServerSettings(dsn=plain, password=CANARY))


def test_a_projects_own_settings_cannot_name_a_server(env: MemoryEnv, server: BreakableServer) -> None:
    settings = {"memorySearch": {"store": {"driver": "postgres", "postgres": {"dsn": server.dsn()}}}}
    (env.notes / ".memoriter.json5").write_text(json.dumps({"agents": {"defaults": settings}}))
    error = refused(env, "search", QUESTION)
    assert error["code"] == "config"
    assert "store.postgres.dsn may not be set by" in error["message"]
