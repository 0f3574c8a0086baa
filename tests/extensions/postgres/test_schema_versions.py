"""Schemas of other versions are left alone."""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import psycopg
import pytest
from psycopg import sql

from memoriter.errors import IndexUnavailable
from memoriter.extensions.postgres._schema import VERSION
from memoriter.extensions.postgres._server import Server
from memoriter.extensions.postgres.api import PostgresStore, ServerSettings
from memoriter.types import ModelSpec
from postgres_server import postgres_dsn

if TYPE_CHECKING:
    from collections.abc import Iterator

SPEC = ModelSpec("fake", "versions", 2)
_NUMBERS = count()


@pytest.fixture
def schema() -> Iterator[str]:
    name = f"versions_{os.getpid()}_{next(_NUMBERS)}"
    yield name
    with connect() as connection:
        connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name)))


def connect(schema: str = "public") -> psycopg.Connection:
    return psycopg.connect(postgres_dsn(), autocommit=True, options=f"-c search_path={schema},public")


def open_(schema: str) -> PostgresStore:
    store = PostgresStore.open(ServerSettings(dsn=postgres_dsn(), schema=schema), "notes", clock=lambda: 0.0)
    store.use_vectors(SPEC)
    return store


def version(schema: str) -> int:
    with connect(schema) as connection:
        ((number,),) = connection.execute("SELECT version FROM schema_version").fetchall()
        return int(number)


@pytest.mark.parametrize(
    ("other", "message", "remedy"),
    [
        (VERSION + 1, "the newest that is supported is", "Update memoriter"),
        (VERSION - 1, f"version {VERSION} is needed", "Name another schema"),
    ],
)
def test_a_schema_of_another_version_is_refused_and_left_alone(
    schema: str, other: int, message: str, remedy: str
) -> None:
    open_(schema).close()
    with connect(schema) as connection:
        connection.execute("UPDATE schema_version SET version = %s", (other,))
    with pytest.raises(IndexUnavailable, match=f"has version {other}; {message}") as refused:
        open_(schema)
    assert remedy in refused.value.remedy
    assert version(schema) == other


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
