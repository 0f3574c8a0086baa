"""Roles and databases with other settings than PostgreSQL's defaults: answers stay the same, or give a reason."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from faults import answered, found, health, refused
from memory_env import QUESTION, MemoryEnv
from server_faults import LEDGER, configure, schema_of

if TYPE_CHECKING:
    from collections.abc import Generator

    from breakable_postgres import BreakableServer

pytestmark = pytest.mark.slow
pytest_plugins = ["server_fault_fixtures"]

ODD = "# Käse\n\nFrüchte 日本語 한국어 back\\slash 'quote' \"other\" 10$ %s {} NULL.\n"
QUESTIONS = (QUESTION, "Früchte back\\slash 'quote'", "日本語", "NULL")
OTHERWISE = {
    "array_nulls": "off",
    "bytea_output": "escape",
    "client_encoding": "LATIN1",
    "datestyle": "'German, DMY'",
    "default_transaction_deferrable": "on",
    "default_transaction_isolation": "serializable",
    "extra_float_digits": "-15",
    "idle_in_transaction_session_timeout": "'1s'",
    "idle_session_timeout": "'1s'",
    "intervalstyle": "iso_8601",
    "lock_timeout": "'50ms'",
    "plan_cache_mode": "force_generic_plan",
    "quote_all_identifiers": "on",
    "row_security": "off",
    "search_path": "nowhere",
    "standard_conforming_strings": "off",
    "statement_timeout": "'1s'",
    "timezone": "'Asia/Kathmandu'",
    "transaction_timeout": "'1s'",
    "transform_null_equals": "on",
}


@contextmanager
def user(server: BreakableServer, *statements: str) -> Generator[str]:
    """A user of the server who may create a schema."""
    server.run("CREATE ROLE odd LOGIN IN ROLE passwordless", "GRANT CREATE ON DATABASE postgres TO odd", *statements)
    try:
        yield "odd"
    finally:
        server.run("DROP OWNED BY odd CASCADE", "DROP ROLE odd")


def hits(env: MemoryEnv) -> list[Any]:
    answers = [answered(env, "search", question)["results"] for question in QUESTIONS]
    return [[(hit["path"], hit["startLine"], hit["score"], hit["snippet"]) for hit in answer] for answer in answers]


def test_settings_of_a_role_change_no_answer(env: MemoryEnv, server: BreakableServer) -> None:
    env.write("memory/odd.md", ODD)
    answered(env, "index")
    usual = hits(env)
    assert usual[0][0][0] == LEDGER
    assert usual[2][0][0] == "memory/odd.md"
    settings = [f"ALTER ROLE odd SET {name} = {value}" for name, value in OTHERWISE.items()]
    with user(server, *settings) as odd:
        configure(env, server, dsn=server.dsn(odd), schema=f"{schema_of(env)} odd")
        report = answered(env, "index")
        assert (report["added"], report["pending"]) == (5, 0)
        assert hits(env) == usual
        assert answered(env, "index", "--force")["pending"] == 0
        answered(env, "compact")
        assert hits(env) == usual
        assert health(env) == {}


def test_a_role_that_may_only_read_searches_what_others_have_indexed(env: MemoryEnv, server: BreakableServer) -> None:
    with user(server) as odd:
        configure(env, server, dsn=server.dsn(odd))
        answered(env, "index")
        server.run("ALTER ROLE odd SET default_transaction_read_only = on")
        env.write("memory/new.md", "# Kettle\n\nThe kettle is descaled on Fridays.\n")
        assert found(env, QUESTION)[0] == LEDGER
        assert "can only be read" in health(env)["index_read_only"]["message"]
        error = refused(env, "index")
        assert "can only be read" in error["message"]
        server.run("ALTER ROLE odd SET default_transaction_read_only = off")
        assert found(env, "when is the kettle descaled")[0] == "memory/new.md"


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_cannot_hold_every_text_is_named_with_the_statement_for_another_one(
    encoding: str, env: MemoryEnv, server: BreakableServer
) -> None:
    server.run(f"CREATE DATABASE narrow TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'")
    try:
        configure(env, server, dsn=server.dsn(database="narrow"))
        error = refused(env, "index")
        assert f"has the encoding {encoding}" in error["message"]
        statement = error["remedy"].split("`")[1]
        server.run(statement)
        configure(env, server, dsn=server.dsn(database="memoriter"))
        assert found(env, QUESTION)[0] == LEDGER
    finally:
        server.run("DROP DATABASE narrow WITH (FORCE)", "DROP DATABASE IF EXISTS memoriter WITH (FORCE)")


@pytest.mark.parametrize("locale", ["LOCALE 'C'", "LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8' LOCALE 'C'"])
def test_the_locale_of_a_database_changes_no_answer(locale: str, env: MemoryEnv, server: BreakableServer) -> None:
    env.write("memory/odd.md", ODD)
    answered(env, "index")
    usual = hits(env)
    server.run(f"CREATE DATABASE elsewhere TEMPLATE template0 ENCODING 'UTF8' {locale}")
    try:
        configure(env, server, dsn=server.dsn(database="elsewhere"))
        answered(env, "index")
        assert hits(env) == usual
    finally:
        server.run("DROP DATABASE elsewhere WITH (FORCE)")


def test_notes_with_text_that_the_server_cannot_store_are_found(env: MemoryEnv) -> None:
    odd = b"# Nul\n\nbefore\x00after broken\xff\xfe surrogate \xed\xa0\x80 kettle\n"
    (env.notes / "memory" / "nul.md").write_bytes(odd)
    env.write("memory/long.md", f"# Long\n\n{'wordy ' * 180_000}teapot\n")
    env.write("memory/unbroken.md", f"# Unbroken\n\n{'x' * 1_000_000} samovar\n")
    report = answered(env, "index")
    assert (report["pending"], report["files"]) == (0, 7)
    for word, path in (("kettle", "nul"), ("teapot", "long"), ("samovar", "unbroken")):
        assert answered(env, "search", "--min-score", "0", word)["results"][0]["path"] == f"memory/{path}.md"
    assert "index_repaired" not in health(env)
    assert (env.notes / "memory" / "nul.md").read_bytes() == odd
