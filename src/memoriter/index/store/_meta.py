"""Named values in the index: settings that are stored with the content, and counters. Writing expects a transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoriter.index.store._connection import Database


def get_meta(connection: Database, key: str) -> str | None:
    """Return a stored setting, or None."""
    value = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
    return None if value is None else str(value)


def set_meta(connection: Database, key: str, value: str) -> None:
    """Store a setting."""
    statement = "INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value"
    connection.execute(statement, (key, value))


def metas(connection: Database, prefix: str) -> dict[str, str]:
    """Return all stored settings whose names start with `prefix`, by name."""
    statement = "SELECT key, value FROM meta WHERE substr(key, 1, ?) = ? ORDER BY key"
    return {str(key): str(value) for key, value in connection.execute(statement, (len(prefix), prefix))}


def drop_meta(connection: Database, key: str) -> None:
    """Delete a setting; do nothing if it does not exist."""
    connection.execute("DELETE FROM meta WHERE key = ?", (key,))


def counter(connection: Database, name: str) -> int:
    """Return the value of a counter; 0 if it was never set."""
    value = connection.execute("SELECT value FROM counters WHERE name = ?", (name,)).get
    return int(value or 0)


def set_counter(connection: Database, name: str, value: int) -> None:
    connection.execute(
        "INSERT INTO counters(name, value) VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value",
        (name, value),
    )


def increment(connection: Database, name: str, by: int = 1) -> int:
    """Increase a counter and return its previous value."""
    before = counter(connection, name)
    set_counter(connection, name, before + by)
    return before
