"""The open programs of a process, which memories with the same agent and settings share."""

from __future__ import annotations

import json
import threading
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.extensions.qmd._engine import QmdProgram


def cache_key(agent: str, settings: object) -> str:
    """Return the key of a program: the agent, and the settings as JSON with sorted keys.

    >>> cache_key("main", {"b": 1, "a": 2})
    'main:{"a":2,"b":1}'
    """
    return f"{agent}:{json.dumps(_sorted(settings), ensure_ascii=False, separators=(',', ':'))}"


def _sorted(value: Any) -> Any:
    """Return settings as JSON values, with keys in the order of a dictionary of words."""
    if isinstance(value, Path):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _sorted(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        return {key: _sorted(table[key]) for key in sorted(table, key=lambda key: (key.casefold(), key))}
    if isinstance(value, list | tuple):
        return [_sorted(each) for each in cast("list[Any]", value)]
    return value


class _Entry:
    """A program with the number of its users."""

    def __init__(self, program: QmdProgram) -> None:
        self.program = program
        self.users = 0
        self.closed = False


class Lease:
    """The use of a program by one memory."""

    def __init__(self, cache: ProgramCache, key: str, entry: _Entry) -> None:
        self._cache = cache
        self._key = key
        self._entry = entry

    @property
    def program(self) -> QmdProgram:
        """The program, which others may use too."""
        return self._entry.program

    def evict(self) -> None:
        """Close the program, so that nobody gets it from the cache again."""
        self._cache.drop(self._key, self._entry, last=False)

    def release(self) -> None:
        """End the use; the last user closes the program."""
        self._cache.drop(self._key, self._entry, last=True)


class ProgramCache:
    """Programs by key. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}

    def __len__(self) -> int:
        """Return the number of open programs."""
        return len(self._entries)

    def lease(self, key: str, create: Callable[[], QmdProgram]) -> Lease:
        """Return the use of the program of a key; `create` opens it if there is none. Raises what `create` raises."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                entry = self._entries[key] = _Entry(create())
            entry.users += 1
            return Lease(self, key, entry)

    def drop(self, key: str, entry: _Entry, *, last: bool) -> None:
        """End one use of an entry, and close its program; with `last`, only if nobody else uses it."""
        with self._lock:
            entry.users -= 1
            if entry.closed or (last and entry.users > 0):
                return
            entry.closed = True
            if self._entries.get(key) is entry:
                del self._entries[key]
        entry.program.close()
