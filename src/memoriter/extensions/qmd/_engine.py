"""QMD as a program that answers searches, which the memories of a process with the same settings share."""

from __future__ import annotations

import json
import threading
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import QmdTimeout
from memoriter.times import path_date
from memoriter.types import Health, Hit, SearchResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoriter.extensions.qmd._driver import QmdDriver
    from memoriter.extensions.qmd._plan import QmdPlan
    from memoriter.extensions.qmd._searching import QmdAnswer, QmdHit
    from memoriter.types import Diagnostic, Mode, Query, SidecarStatus, SourceKind

MOST_FETCHED = 200
"""The most hits that QMD is asked for, from which those of one kind of source are chosen."""
SHARE = 0.5
"""The share of a query's own time limit that QMD gets, so that the builtin engine can still answer."""


class QmdProgram:
    """QMD for one agent, safe to share between threads."""

    def __init__(self, driver: QmdDriver, plan: QmdPlan) -> None:
        """Store the driver. Nothing is started."""
        self._driver = driver
        self._plan = plan

    def search(self, query: Query) -> SearchResult:
        """Return the hits of a query. The first search waits until QMD has indexed the notes. Raises QmdFailure."""
        limits = self._plan.limits
        limit = limits.max_results if query.max_results is None else query.max_results
        if self.is_hasty(query) and self._driver.status().last_update is None:
            raise QmdTimeout("QMD has not indexed the notes yet.", remedy="Run `memoriter index`.")
        chosen = query.filters.sources is not None or self._plan.sessions_enabled
        answer = self._driver.search(
            query.text, limit=max(limit, MOST_FETCHED) if chosen else limit, timeout=self._seconds(query)
        )
        return to_result(answer, query, limit=limit, snippet_chars=limits.max_snippet_chars)

    def is_hasty(self, query: Query) -> bool:
        """Return whether a query gives QMD less time than the settings do."""
        return self._seconds(query) < self._plan.limits.timeout_ms / 1000

    def _seconds(self, query: Query) -> float:
        usual = self._plan.limits.timeout_ms / 1000
        return usual if query.deadline_ms is None else min(usual, query.deadline_ms / 1000 * SHARE)

    def update(self, *, force: bool = False) -> tuple[Diagnostic, ...]:
        """Index what changed, and compute missing vectors unless words alone are searched. Raises QmdFailure."""
        notices = self._driver.update(force=force).notices
        if self._plan.search_mode != "search":
            self._driver.embed(force=force)
        return notices

    def notes_changed(self) -> None:
        self._driver.notes_changed()

    def start(self) -> str:
        """Find the program, and update in the background from now on. Raises QmdFailure."""
        probe = self._driver.probe()
        self._driver.start()
        text = f"QMD {probe.version or 'of an unknown version'} at {probe.binary}"
        mode = self._plan.search_mode
        if mode == "search" or self._driver.status().vectors:
            return text
        instead = "memoriter's own index answers" if mode == "vsearch" else "it searches by words only"
        return f"{text}. It has no vectors yet; until it has, {instead}"

    def forget(self) -> None:
        """Remove text that is in no file any more from QMD's database. Raises QmdFailure."""
        self._driver.forget()

    def status(self) -> SidecarStatus:
        """Return what is known, without starting QMD."""
        return self._driver.status()

    def close(self) -> None:
        self._driver.close()


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
        self.program = entry.program

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


MODES: dict[str, Mode] = {"search": "keyword", "vsearch": "vector", "query": "hybrid", "typed": "hybrid"}


def to_result(answer: QmdAnswer, query: Query, *, limit: int, snippet_chars: int) -> SearchResult:
    """Return QMD's answer as the result of a search of up to `limit` hits, each with so many characters of its text.

    Its scores do not tell whether a passage answers the query, so that hits are never called a match.
    """
    allowed = query.filters.sources
    lowest = query.min_score or 0.0
    found = [hit for hit in answer.hits if hit.score >= lowest and (allowed is None or hit.source in allowed)]
    hits = interleaved([_to_hit(hit, snippet_chars) for hit in found], limit)
    mode = MODES.get(answer.mode, "keyword")
    legs = {"keyword": mode != "vector", "vector": mode != "keyword"}
    health = Health(legs, reasons=tuple(dict.fromkeys(answer.notices)))
    return SearchResult(hits, "weak" if hits else "none", "qmd", answer.mode, mode, health)


def _to_hit(hit: QmdHit, snippet_chars: int) -> Hit:
    heading = (hit.title,) if hit.title else ()
    return Hit(
        hit.path,
        hit.start_line,
        hit.end_line,
        hit.score,
        hit.snippet[:snippet_chars].rstrip(),
        hit.source,
        heading,
        date=path_date(hit.path),
        text=hit.snippet,
    )


def interleaved(hits: Sequence[Hit], limit: int) -> tuple[Hit, ...]:
    """Return the best hits of each kind of source in turn, so that neither hides the other.

    The kind with the best hit begins. Where one kind has no more hits, the other fills the rest.

    >>> interleaved([], 6)
    ()
    """
    queues: dict[SourceKind, list[Hit]] = {}
    for hit in sorted(hits, key=lambda hit: -hit.score):
        queues.setdefault(hit.source, []).append(hit)
    order = [queue[::-1] for queue in queues.values()]
    chosen: list[Hit] = []
    while len(chosen) < limit and any(order):
        chosen += [queue.pop() for queue in order if queue]
    return tuple(chosen[: max(limit, 0)])
