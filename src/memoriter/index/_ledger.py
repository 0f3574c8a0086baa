"""Data that must outlive every index: spending at providers, retry times, and known properties of models."""

from __future__ import annotations

import os
import threading
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, cast

from memoriter.errors import IndexDamaged, IndexUnavailable, ProviderUnavailable
from memoriter.index import _connection
from memoriter.index._connection import connect_read_only, translate_errors
from memoriter.index._files import on_network
from memoriter.permissions import make_private_folder
from memoriter.types import Spending, Spent

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from pathlib import Path

    from memoriter.index._connection import Database

_TABLES = 2
_SCHEMA = """
CREATE TABLE IF NOT EXISTS spending(
  day TEXT NOT NULL,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  calls INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  unpriced INTEGER NOT NULL,
  dollars REAL NOT NULL,
  PRIMARY KEY(day, provider, model)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS kept(name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
"""


@contextmanager
def _translate_errors(path: Path) -> Generator[None]:
    """Turn index errors into ProviderUnavailable: without a ledger no provider may be called."""
    try:
        yield
    except IndexUnavailable as error:
        message = error.message.replace("The index", "The ledger", 1)
        damaged = isinstance(error, IndexDamaged)
        lost = f"Delete {str(path)!r}: only the record of what was spent is lost."
        raise ProviderUnavailable(message, remedy=lost if damaged else error.remedy) from error


class Ledger:
    """A small separate database, created when it is first written. Threads and processes may share it."""

    def __init__(self, path: Path, *, wall: Callable[[], float], network: bool | None = None) -> None:
        """Take the path of the database. Methods raise ProviderUnavailable if the file cannot be used."""
        self._path = path
        self._wall = wall
        self._network = network
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._connection: Database | None = None

    def add(self, provider: str, model: str, tokens: int, dollars: float | None) -> None:
        row = (self._today().isoformat(), provider, model, tokens, 0 if dollars is not None else tokens, dollars or 0.0)
        with self._database(create=True) as connection:
            assert connection is not None
            connection.execute(
                "INSERT INTO spending(day, provider, model, calls, tokens, unpriced, dollars)"
                " VALUES (?, ?, ?, 1, ?, ?, ?) ON CONFLICT(day, provider, model) DO UPDATE SET calls = calls + 1,"
                " tokens = tokens + excluded.tokens, unpriced = unpriced + excluded.unpriced,"
                " dollars = dollars + excluded.dollars",
                row,
            )

    def today(self) -> Spent:
        rows = self.rows(days=1)
        return Spent(sum(row.tokens for row in rows), sum(row.dollars for row in rows))

    def rows(self, *, days: int) -> tuple[Spending, ...]:
        """Return the spending of the last `days` days (UTC), including today, newest first."""
        since = (self._today() - timedelta(days=max(days, 1) - 1)).isoformat()
        with self._database(create=False) as connection:
            if connection is None:
                return ()
            cursor = connection.execute(
                "SELECT day, provider, model, calls, tokens, unpriced, dollars FROM spending WHERE day >= ?"
                " ORDER BY day DESC, dollars DESC, tokens DESC, provider, model",
                (since,),
            )
            rows = cast("Iterable[tuple[str, str, str, int, int, int, float]]", cursor.fetchall())
        return tuple(
            Spending(date.fromisoformat(day), provider, model, calls, tokens, unpriced, dollars)
            for day, provider, model, calls, tokens, unpriced, dollars in rows
        )

    def get(self, name: str) -> str | None:
        with self._database(create=False) as connection:
            if connection is None:
                return None
            value = connection.execute("SELECT value FROM kept WHERE name = ?", (name,)).get
            return None if value is None else str(value)

    def set(self, name: str, value: str) -> None:
        """Store a value."""
        with self._database(create=True) as connection:
            assert connection is not None
            connection.execute(
                "INSERT INTO kept(name, value) VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value",
                (name, value),
            )

    def swap(self, name: str, old: str, new: str) -> bool:
        with self._database(create=True) as connection:
            assert connection is not None
            statement = "UPDATE kept SET value = ? WHERE name = ? AND value = ? RETURNING 1"
            return connection.execute(statement, (new, name, old)).get is not None

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _today(self) -> date:
        return datetime.fromtimestamp(self._wall(), tz=UTC).date()

    @contextmanager
    def _database(self, *, create: bool) -> Generator[Database | None]:
        """Yield the database; None if there is none and `create` is false."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._lock = threading.RLock()
            if self._connection is not None:
                _connection.abandon(self._connection)
                self._connection = None
        with self._lock, _translate_errors(self._path), translate_errors(self._path):
            if self._connection is None and not create:
                with self._reading() as connection:
                    yield connection
                return
            if self._connection is None:
                make_private_folder(self._path.parent)
                network = on_network(self._path.parent) if self._network is None else self._network
                connection = _connection.connect(self._path, network=network, create=True)
                connection.execute(_SCHEMA).fetchall()
                self._connection = connection
            yield self._connection

    @contextmanager
    def _reading(self) -> Generator[Database | None]:
        """Yield a connection that changes no file; None if there is no ledger yet."""
        if not self._path.exists():
            yield None
            return
        with closing(connect_read_only(self._path)) as connection:
            statement = "SELECT count(*) FROM sqlite_schema WHERE name IN ('spending', 'kept')"
            yield connection if connection.execute(statement).get == _TABLES else None
