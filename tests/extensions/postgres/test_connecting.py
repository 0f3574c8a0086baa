"""Why a connection cannot be made: each cause has its own message and remedy, and names what was really used."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from breakable_postgres import free_port
from memoriter.errors import IndexUnavailable
from memoriter.extensions.postgres._server import Server
from memoriter.extensions.postgres.api import ServerSettings

if TYPE_CHECKING:
    from pathlib import Path

    from breakable_postgres import BreakableServer

PORT = free_port()
pytestmark = pytest.mark.slow
pytest_plugins = ["server_fault_fixtures"]


def refused(dsn: str = "", **settings: Any) -> IndexUnavailable:
    server = Server(ServerSettings(dsn=dsn, **settings))
    try:
        with pytest.raises(IndexUnavailable) as error:
            server.prepare(create=False)
    finally:
        server.close()
    return error.value


def test_each_reason_for_which_a_server_refuses_a_connection_has_a_message_and_a_remedy(
    server: BreakableServer,
) -> None:
    server.run("CREATE ROLE keyed LOGIN PASSWORD 'right'", "CREATE ROLE single LOGIN IN ROLE passwordless")
    server.run("ALTER ROLE single CONNECTION LIMIT 0")
    place = f"host=127.0.0.1 port={server.port}"
    cases = {
        f"{place} user=keyed password=wrong dbname=postgres": ("does not accept the password", "postgres.password"),
        f"{place} user=postgres dbname=none": ("has no such database", 'CREATE DATABASE "none"'),
        f"{place} user=single dbname=postgres": ("has no free connection", "max_connections"),
        f"{place} user=postgres dbname=postgres sslmode=require": ("cannot be encrypted", "sslmode"),
        f"{place} user=postgres dbname=postgres sslmode=bad": ("has an unknown sslmode", "sslmode"),
        f"host=127.0.0.1 port={free_port()} dbname=postgres": ("does not answer", "Check that it runs"),
    }
    for dsn, (message, remedy) in cases.items():
        error = refused(dsn)
        assert message in error.message, dsn
        assert remedy in error.remedy, dsn
        assert ("does not answer" in error.message) == (message == "does not answer"), dsn


def test_faults_of_a_service_file_and_two_addresses_at_once_are_named(
    server: BreakableServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "services"
    file.write_text(f"[notes]\nhost=127.0.0.1\nport={server.port}\nuser=postgres\ndbname=none\n[broken]\nnonsense\n")
    monkeypatch.setenv("PGSERVICEFILE", str(file))
    assert "does not have the service" in refused(service="missing").message
    assert "cannot be read" in refused(service="broken").message
    assert refused(service="notes").message.startswith("The server of 127.0.0.1/none:memoriter has no such database")
    assert "are both set" in refused("dbname=postgres", service="notes").message


def test_a_message_names_the_database_that_the_connection_uses(
    server: BreakableServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGDATABASE", raising=False)
    server.run("CREATE ROLE diary LOGIN IN ROLE passwordless", "CREATE DATABASE diary")
    used = Server(ServerSettings(dsn=f"host=127.0.0.1 port={server.port} user=diary"))
    assert used.name == "127.0.0.1/diary:memoriter"
    with used.connection():
        assert used.name == "127.0.0.1/diary:memoriter"
    used.close()


def test_an_outage_is_logged_once_and_not_at_each_attempt() -> None:
    records = list[logging.LogRecord]()
    root = logging.getLogger()

    class Recorder(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    recorder = Recorder(logging.WARNING)
    root.addHandler(recorder)
    try:
        for _ in range(3):
            refused(f"host=127.0.0.1 port={PORT} dbname=postgres")
    finally:
        root.removeHandler(recorder)
    (message,) = (
        each.getMessage() for each in records if each.name.startswith(("psycopg", "memoriter.extensions.postgres"))
    )
    assert "no connection to the server" in message
