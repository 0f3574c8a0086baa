"""`memoriter store copy`: the index goes to a PostgreSQL server and back, with its vectors and the same answers."""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING, Any

import json5
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from memory_env import MemoryEnv, compatible
from postgres_server import postgres_dsn
from servers.compatible import CompatibleServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from program import Run

NOTES = 12
QUESTIONS = ["many 3", "manyword7 beside", "manything11", "what lies beside a thing", "그림자", "Paid the rent"]
_SCHEMAS = count()


@pytest.fixture
def server() -> Iterator[CompatibleServer]:
    with CompatibleServer() as server:
        yield server


@pytest.fixture
def env(tmp_path: Path, server: CompatibleServer) -> Iterator[MemoryEnv]:
    """A memory in a file of SQLite, which knows a server and has the vectors of a service that counts its calls."""
    env = MemoryEnv.at(tmp_path, {"MEMORY.md": "# Log\n\n- Paid the rent.\n- Fed the cat.\n- 그림자 놀이.\n"})
    env.many(NOTES)
    configure(env, server)
    yield env
    env.close()


def configure(env: MemoryEnv, server: CompatibleServer, **postgres: Any) -> None:
    schema = f"copy_{os.getpid()}_{next(_SCHEMAS)}"
    store = {"postgres": {"dsn": postgres_dsn(), "schema": schema, **postgres}}
    env.configure(**compatible(server), store=store)


@pytest.fixture
def indexed(env: MemoryEnv) -> MemoryEnv:
    env.open().sync()
    return env


def store_of(env: MemoryEnv) -> dict[str, Any]:
    return json5.loads(env.config.read_text(encoding="utf-8"))["agents"]["defaults"]["memorySearch"]["store"]


def answers(env: MemoryEnv) -> list[list[tuple[str, float]]]:
    """Return the hits of all questions, as the memory is configured now."""
    memory = env.open()
    try:
        found = [memory.search(question, max_results=10, min_score=0.0) for question in QUESTIONS]
        return [[(hit.citation, pytest.approx(hit.score, abs=1e-3)) for hit in each.hits] for each in found]
    finally:
        memory.close()


def driver(env: MemoryEnv) -> str:
    memory = env.open()
    try:
        return memory.settings.store.driver
    finally:
        memory.close()


def calls_to(server: CompatibleServer) -> int:
    return len(server.calls)


@pytest.mark.slow
def test_a_copy_on_a_server_and_back_gives_the_same_answers_and_computes_no_vector(
    indexed: MemoryEnv, server: CompatibleServer, run: Run
) -> None:
    env = indexed
    before = answers(env)
    calls = calls_to(server)
    there = run("store", "copy", "--to", "postgres", "--switch", "--json")
    assert (there.exit_code, calls_to(server)) == (0, calls), there.out + there.err
    report = there.json
    assert (report["files"], report["copied"], report["waiting"], report["different"]) == (
        NOTES + 1,
        report["vectors"],
        0,
        [],
    )
    assert report["questions"] > 5
    assert driver(env) == "postgres"
    assert answers(env) == before
    assert {hit for hits in before for hit, _ in hits}, "the questions have hits"

    (env.notes / "MEMORY.md").write_text("# Log\n\n- Paid the rent.\n- Walked the dog.\n", encoding="utf-8")
    changed = answers(env)
    calls = calls_to(server)
    assert changed != before
    back = run("store", "copy", "--to", "sqlite", "--replace", "--switch", "--json")
    assert (back.exit_code, calls_to(server)) == (0, calls), back.out + back.err
    assert back.json["copied"] < report["copied"], "the file still has the vectors of what did not change"
    assert (driver(env), answers(env)) == ("sqlite", changed)


@pytest.mark.slow
def test_a_copy_takes_along_what_waits_and_what_was_refused_and_the_vectors_of_other_models(
    indexed: MemoryEnv, server: CompatibleServer, run: Run
) -> None:
    env = indexed
    env.configure(provider="fake", store=store_of(env))
    env.open().sync()
    env.write("memory/new.md", "# New\n\nA note that no vector was computed for.\n")
    copied = run("store", "copy", "--to", "postgres", "--switch", "--json")
    assert (copied.exit_code, copied.json["models"], copied.json["waiting"]) == (0, 2, 1), copied.out + copied.err
    memory = env.open()
    report = memory.sync()
    assert (report.embedded, report.pending) == (1, 0), "only the new note is computed"
    found = memory.search("a note without a vector", max_results=1)
    assert [hit.path for hit in found.hits] == ["memory/new.md"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [
        "store.PostgresStore.put_file = at(5, store.PostgresStore.put_file)",
        "store.PostgresStore.put_vectors = at(2, store.PostgresStore.put_vectors)",
        "store.PostgresStore.drop_meta = at(1, store.PostgresStore.drop_meta)",
    ],
)
def test_a_copy_that_was_killed_goes_on_where_it_was(
    indexed: MemoryEnv, server: CompatibleServer, run: Run, fault: str
) -> None:
    env = indexed
    kill = (
        "import os, signal\n"
        "from memoriter.backends import _store_copy\n"
        "from memoriter.extensions.postgres import _store as store\n"
        "_store_copy.BATCH = 4\n"
        "def at(number, real):\n"
        "    calls = []\n"
        "    def killed(*given, **named):\n"
        "        calls.append(1)\n"
        "        if len(calls) == number: os.kill(os.getpid(), signal.SIGKILL)\n"
        "        return real(*given, **named)\n"
        "    return killed\n"
        f"{fault}\n"
    )
    before = answers(env)
    calls = calls_to(server)
    assert env.run("store", "copy", "--to", "postgres", "--switch", before=kill).exit_code == -9
    assert driver(env) == "sqlite", "the setting changes last"
    again = run("store", "copy", "--to", "postgres", "--switch", "--json")
    assert (again.exit_code, calls_to(server)) == (0, calls), again.out + again.err
    assert again.json["files"] == NOTES + 1
    assert again.json["copied"] < again.json["vectors"] or "put_file" in fault
    assert answers(env) == before


@pytest.mark.slow
def test_a_copy_with_other_answers_is_refused_and_the_setting_stays(
    indexed: MemoryEnv, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = indexed
    from memoriter.extensions.postgres.api import PostgresStore

    real = PostgresStore.put_vectors
    monkeypatch.setattr(PostgresStore, "put_vectors", lambda store, keys, rows: real(store, keys, rows[::-1]))
    copied = run("store", "copy", "--to", "postgres", "--switch")
    assert copied.exit_code == 1
    assert "questions have other hits" in copied.err
    assert "--replace" in copied.err
    assert driver(env) == "sqlite"


@pytest.mark.slow
def test_a_dry_run_counts_and_copies_nothing(indexed: MemoryEnv, run: Run) -> None:
    env = indexed
    planned = run("store", "copy", "--to", "postgres", "--dry-run", "--json")
    assert (planned.exit_code, planned.json["dryRun"], planned.json["files"]) == (0, True, NOTES + 1), planned.err
    assert planned.json["vectors"] >= NOTES
    schema = store_of(env)["postgres"]["schema"]
    with psycopg.connect(postgres_dsn()) as connection:
        tables = connection.execute("SELECT 1 FROM pg_tables WHERE schemaname = %s", (schema,)).fetchall()
        files = connection.execute(f'SELECT count(*) FROM "{schema}".files').fetchone() if tables else (0,)
    assert files == (0,)


@pytest.mark.slow
@pytest.mark.usefixtures("indexed")
def test_a_store_that_is_not_empty_is_only_replaced_on_request(run: Run) -> None:
    assert run("store", "copy", "--to", "postgres").exit_code == 0
    again = run("store", "copy", "--to", "postgres")
    assert (again.exit_code, f"it holds {NOTES + 1} files" in again.err, "--replace" in again.err) == (2, True, True)
    assert run("store", "copy", "--to", "postgres", "--replace").exit_code == 0


def test_a_request_that_cannot_be_carried_out_says_what_to_do(
    env: MemoryEnv, server: CompatibleServer, run: Run
) -> None:
    same = run("store", "copy", "--to", "sqlite")
    assert (same.exit_code, "is sqlite already" in same.err, "--to postgres" in same.err) == (2, True, True)
    both = run("store", "copy", "--to", "postgres", "--dry-run", "--switch")
    assert (both.exit_code, "cannot be combined" in both.err) == (2, True)
    configure(env, server, dsn="host=127.0.0.1 port=1 dbname=none")
    missing = run("store", "copy", "--to", "postgres", "--switch")
    assert (missing.exit_code, "Traceback" in missing.err, driver(env)) == (1, False, "sqlite")
    assert "127.0.0.1" in missing.err


def test_an_index_without_files_is_nothing_to_copy(
    tmp_path: Path, server: CompatibleServer, run: Run, env: MemoryEnv
) -> None:
    (tmp_path / "empty").mkdir()
    done = run("-w", str(tmp_path / "empty"), "store", "copy", "--to", "postgres")
    assert (done.exit_code, "nothing to copy" in done.err, "memoriter index" in done.err) == (2, True, True)


@pytest.mark.slow
@pytest.mark.parametrize("driver", ["postgres", "sqlite"])
def test_a_copy_of_a_memory_that_is_not_there_creates_nothing_in_either_store(
    env: MemoryEnv, run: Run, driver: str
) -> None:
    place = store_of(env)["postgres"]
    source = "sqlite" if driver == "postgres" else "postgres"
    env.configure(provider="none", store={"driver": source, "postgres": place})
    copied = run("store", "copy", "--to", driver)
    assert copied.exit_code == 2
    assert "There is nothing to copy" in copied.err
    with psycopg.connect(postgres_dsn()) as connection:
        assert connection.execute("SELECT to_regnamespace(%s)", (place["schema"],)).fetchone() == (None,)
    assert list(env.home.rglob("*.sqlite")) == []


@pytest.mark.slow
def test_a_dry_run_names_the_statement_that_a_user_without_rights_needs(indexed: MemoryEnv, run: Run) -> None:
    user = f"copier_{os.getpid()}"
    place = store_of(indexed)["postgres"]
    with psycopg.connect(postgres_dsn(), autocommit=True) as connection:
        connection.execute(b"CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(f"CREATE ROLE {user} LOGIN".encode())
        try:
            place["dsn"] = make_conninfo(postgres_dsn(), user=user)
            indexed.configure(provider="none", store={"postgres": place})
            copied = run("store", "copy", "--to", "postgres", "--dry-run")
        finally:
            connection.execute(f"DROP ROLE {user}".encode())
    assert copied.exit_code == 1
    assert "`CREATE SCHEMA" in copied.err
    assert user in copied.err
