"""QMD as a program that answers searches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.errors import QmdTimeout
from memoriter.extensions.qmd._results import to_result

if TYPE_CHECKING:
    from memoriter.extensions.qmd._driver import QmdDriver
    from memoriter.extensions.qmd._plan import QmdPlan
    from memoriter.types import Diagnostic, Query, SearchResult, SidecarStatus

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
        """Let the next search wait for an update."""
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
        """End QMD."""
        self._driver.close()
