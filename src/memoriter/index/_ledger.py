"""What must outlive every index: what was spent at services, when they may be asked again, what they told of models."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, cast

from memoriter.errors import IndexDamaged, IndexUnavailable, ProviderUnavailable
from memoriter.index import _connection
from memoriter.index._errors import translated
from memoriter.index._network import on_network
from memoriter.permissions import make_private_folder
from memoriter.types import Spending, Spent

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from pathlib import Path

    from memoriter.index._database import Database

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
def _named(path: Path) -> Generator[None]:
    """Without a ledger no service may be asked; the index has nothing to do with it."""
    try:
        yield
    except IndexUnavailable as error:
        message = error.message.replace("The index", "The ledger", 1)
        damaged = isinstance(error, IndexDamaged)
        lost = f"Delete {str(path)!r}: only the record of what was spent is lost."
        raise ProviderUnavailable(message, remedy=lost if damaged else error.remedy) from error


class Ledger:
    """A small database of its own, made when it is first written. Threads and processes may share it."""

    def __init__(self, path: Path, *, wall: Callable[[], float], network: bool | None = None) -> None:
        """`wall` gives seconds since 1970; `network` says whether the file is on a network file system, None: find out.

        Methods raise ProviderUnavailable where the file cannot be used.
        """
        self._path = path
        self._wall = wall
        self._network = network
        self._process = os.getpid()
        self._turn = threading.RLock()
        self._connection: Database | None = None

    def add(self, provider: str, model: str, tokens: int, dollars: float | None) -> None:
        """Note one answer of a service; `dollars` is None where nobody knows the price."""
        row = (self._today().isoformat(), provider, model, tokens, 0 if dollars is not None else tokens, dollars or 0.0)
        with self._opened(create=True) as connection:
            assert connection is not None
            connection.execute(
                "INSERT INTO spending(day, provider, model, calls, tokens, unpriced, dollars)"
                " VALUES (?, ?, ?, 1, ?, ?, ?) ON CONFLICT(day, provider, model) DO UPDATE SET calls = calls + 1,"
                " tokens = tokens + excluded.tokens, unpriced = unpriced + excluded.unpriced,"
                " dollars = dollars + excluded.dollars",
                row,
            )

    def today(self) -> Spent:
        """What was spent since midnight (UTC), at whatever service."""
        rows = self.rows(days=1)
        return Spent(sum(row.tokens for row in rows), sum(row.dollars for row in rows))

    def rows(self, *, days: int) -> tuple[Spending, ...]:
        """The last so many days (UTC), today included, the newest first."""
        since = (self._today() - timedelta(days=max(days, 1) - 1)).isoformat()
        with self._opened(create=False) as connection:
            if connection is None:
                return ()
            found = connection.execute(
                "SELECT day, provider, model, calls, tokens, unpriced, dollars FROM spending WHERE day >= ?"
                " ORDER BY day DESC, dollars DESC, tokens DESC, provider, model",
                (since,),
            )
            rows = cast("Iterable[tuple[str, str, str, int, int, int, float]]", found.fetchall())
        return tuple(
            Spending(date.fromisoformat(day), provider, model, calls, tokens, unpriced, dollars)
            for day, provider, model, calls, tokens, unpriced, dollars in rows
        )

    def get(self, name: str) -> str | None:
        """A remembered value."""
        with self._opened(create=False) as connection:
            if connection is None:
                return None
            value = connection.execute("SELECT value FROM kept WHERE name = ?", (name,)).get
            return None if value is None else str(value)

    def set(self, name: str, value: str) -> None:
        """Remember a value."""
        with self._opened(create=True) as connection:
            assert connection is not None
            connection.execute(
                "INSERT INTO kept(name, value) VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value",
                (name, value),
            )

    def swap(self, name: str, old: str, new: str) -> bool:
        """Remember a value in place of another one; False if it is not that one any more."""
        with self._opened(create=True) as connection:
            assert connection is not None
            statement = "UPDATE kept SET value = ? WHERE name = ? AND value = ? RETURNING 1"
            return connection.execute(statement, (new, name, old)).get is not None

    def close(self) -> None:
        """Let go of the file; it is opened again when it is needed."""
        with self._turn:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _today(self) -> date:
        return datetime.fromtimestamp(self._wall(), tz=UTC).date()

    @contextmanager
    def _opened(self, *, create: bool) -> Generator[Database | None]:
        """The database; None where there is none and none is wanted."""
        if self._process != os.getpid():
            self._process, self._turn = os.getpid(), threading.RLock()
            if self._connection is not None:
                _connection.abandon(self._connection)
                self._connection = None
        with self._turn, _named(self._path), translated(self._path):
            if self._connection is None and (create or self._path.exists()):
                make_private_folder(self._path.parent)
                network = on_network(self._path.parent) if self._network is None else self._network
                connection = _connection.connect(self._path, network=network, create=True)
                connection.execute(_SCHEMA).fetchall()
                self._connection = connection
            yield self._connection
