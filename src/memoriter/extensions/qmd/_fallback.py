"""A backend whose searches another program answers, and the builtin engine whenever that program cannot.

The first failure closes the program and removes it from the cache. The builtin engine answers this search and all
others, until the pause is over and a new attempt succeeds.
"""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.errors import MemoriterError, UsageError, sentence
from memoriter.extensions.qmd._scope import scope_allows, scope_denied
from memoriter.filters import split_filters
from memoriter.search import clean_query
from memoriter.types import Diagnostic, Health, SearchResult

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoriter.backends import ForgetPlan, Forgotten, MemoryBackend, WatchRun
    from memoriter.extensions.qmd._cache import Lease
    from memoriter.extensions.qmd.settings import QmdScope
    from memoriter.service_guard import ServiceGuard
    from memoriter.sync import IndexJob, Progress
    from memoriter.types import BackgroundRun, Excerpt, Query, Status, SyncReport

log = logging.getLogger(__name__)


class FallbackBackend:
    """Searches with a program, and with the builtin engine where it fails. All else is the builtin engine's.

    Safe to share between threads.
    """

    def __init__(
        self,
        name: str,
        lease: Callable[[], Lease],
        builtin: MemoryBackend,
        guard: ServiceGuard,
        scope: QmdScope | None = None,
    ) -> None:
        """Store the parts. Nothing is opened yet."""
        self.name = name
        self._lease = lease
        self.builtin = builtin
        self._guard = guard
        self._scope = scope
        self._gate = threading.RLock()
        self._current: Lease | None = None
        # What a program has no part in is the builtin engine's.
        self.changes = builtin.changes
        self.compact = builtin.compact
        self.content_version = builtin.content_version
        self.draw_map = builtin.draw_map
        self.egress_notice = builtin.egress_notice
        self.estimate = builtin.estimate
        self.finish = builtin.finish
        self.plan_forget = builtin.plan_forget
        self.refresh = builtin.refresh
        self.stop = builtin.stop
        self.varied = builtin.varied
        self.warm = builtin.warm
        self.watch_lease = builtin.watch_lease
        self.why_not = builtin.why_not

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """Why the provider of vectors cannot be used."""
        return self.builtin.problems

    @property
    def background_run(self) -> BackgroundRun | None:
        return self.builtin.background_run

    @property
    def failure(self) -> Diagnostic | None:
        """Why the builtin engine answers; None: the program does."""
        return self._guard.reason

    def search(self, query: Query, *, progress: Callable[[Progress], None] | None = None) -> SearchResult:
        """Return the hits of a query, from the program or else from the builtin engine. Raises InvalidQuery."""
        clean_query(query.text)
        if query.session is not None and not scope_allows(self._scope, query.session):
            return self._denied(query.session)
        reason = _unsupported(query, self.name)
        if reason is None and self._guard.admit():
            used: Lease | None = None
            try:
                used = self._leased()
                result = used.program.search(query)
            except UsageError:
                self._guard.abandoned()
                raise
            except Exception as error:  # noqa: BLE001 - whatever the program does, the search has an answer
                reason = self._record(error, query, used)
            except BaseException:
                self._guard.abandoned()
                raise
            else:
                self._recover()
                return result
        reason = reason or self._guard.reason
        result = self.builtin.search(query, progress=progress)
        if reason is None:
            return result
        health = result.health
        if reason.code != "qmd_not_asked":
            health = replace(health, reasons=(reason, *health.reasons))
        return replace(result, health=health, fallback=reason, fallback_from=self.name)

    def _denied(self, session: str) -> SearchResult:
        """Return the empty result for a conversation that the rules do not allow."""
        reason = scope_denied(session)
        log.warning("%s", reason.message)
        health = Health({"keyword": True, "vector": False})
        return SearchResult((), "none", self.name, "", "keyword", health, reasons=(reason,))

    def _leased(self) -> Lease:
        """Return the use of the program, which is opened if it is not. Raises MemoriterError."""
        with self._gate:
            if self._current is None:
                self._current = self._lease()
            return self._current

    def _record(self, error: Exception, query: Query, used: Lease | None) -> Diagnostic:
        """Close the program after a failure, and return the reason. A late answer to a hasty query closes nothing."""
        reason = to_reason(error, self.name)
        if used is not None and is_late(error) and used.program.is_hasty(query):
            self._guard.abandoned()
        else:
            self._give_up(reason, used)
        return reason

    def _give_up(self, reason: Diagnostic, used: Lease | None) -> None:
        """Ask the program no more for a pause, and close it unless another thread did."""
        if self._guard.reason is None:
            log.info("%s fails, and the builtin engine answers: %s", self.name, reason.message)
        self._guard.failed(reason)
        with self._gate:
            is_current = self._current is used
            if is_current:
                self._current = None
        if used is not None and is_current:
            with suppress(Exception):
                used.evict()

    def _recover(self) -> None:
        if self._guard.reason is not None:
            log.info("%s answers again", self.name)
        self._guard.succeeded()

    def start(self) -> str:
        used: Lease | None = None
        try:
            used = self._leased()
            text = used.program.start()
        except Exception as error:
            self._give_up(to_reason(error, self.name), used)
            raise
        self._recover()
        return text

    def sync(
        self, *, force: bool = False, vectors: bool = False, progress: Callable[[Progress], None] | None = None
    ) -> SyncReport:
        """Update both indexes to the current files; a failure of the program is one of the `reasons`.

        Raises:
            IndexBusy: another process is indexing.
        """
        report = self.builtin.sync(force=force, vectors=vectors, progress=progress)
        reasons = self._update()
        return replace(report, reasons=(*report.reasons, *reasons)) if reasons else report

    def _update(self) -> tuple[Diagnostic, ...]:
        try:
            return self._leased().program.update(force=True)
        except Exception as error:  # noqa: BLE001 - the builtin index is up to date whatever the program does
            return (to_reason(error, self.name),)

    def notes_changed(self, *paths: Path) -> tuple[Diagnostic, ...]:
        self._mark_changed()
        return self.builtin.notes_changed(*paths)

    def follow(self, job: IndexJob, clock: Callable[[], float]) -> WatchRun:
        """Index changes for a watcher, and let the program's next search wait for an update of its own."""
        run = self.builtin.follow(job, clock)
        report = run.report
        if report is not None and (report.added or report.changed or report.removed):
            self._mark_changed()
        return run

    def _mark_changed(self) -> None:
        """Tell the program of changes, if it is in use. A new one looks for changes by itself."""
        with self._gate:
            current = self._current
        if current is not None:
            with suppress(Exception):
                current.program.notes_changed()

    def forget(self, plan: ForgetPlan) -> Forgotten:
        receipt = self.builtin.forget(plan)
        try:
            self._leased().program.forget()
        except Exception as error:  # noqa: BLE001 - the notes are changed already, so the receipt tells what is left
            failure = to_reason(error, self.name)
            message = f"The index of {self.name} may still contain the text: {sentence(failure.message)}"
            left = Diagnostic("forgetting_unfinished", message, "Run `memoriter index`.")
            return replace(receipt, left=(*receipt.left, left))
        return receipt

    def status(self, *, deep: bool = False) -> Status:
        """Return the state of the builtin engine, with that of the program. The program is not started."""
        status = self.builtin.status(deep=deep)
        try:
            state = self._leased().program.status()
        except Exception as error:  # noqa: BLE001 - the status of the memory does not depend on the program
            state = None
            reason = to_reason(error, self.name)
        else:
            reason = self._guard.reason or state.reason
            state = replace(
                state,
                answering="builtin" if reason is not None else self.name,
                reason=reason,
                seconds_left=self._guard.seconds_left,
            )
        health = status.health
        if reason is not None:
            health = replace(health, reasons=(reason, *health.reasons))
        return replace(status, backend=self.name, sidecar=state, health=health)

    def read(self, path: str, *, start: int | None = None, lines: int | None = None) -> Excerpt:
        """Return lines of a note. Raises PathRefused."""
        return self.builtin.read(path, start=start, lines=lines)

    def close(self) -> None:
        """Close the program, unless others use it, and the builtin engine."""
        with self._gate:
            current = self._current
            self._current = None
        try:
            if current is not None:
                current.release()
        finally:
            self.builtin.close()


LATE = "qmd_timeout"


def is_late(error: Exception) -> bool:
    """Return whether a program only took too long."""
    return isinstance(error, MemoriterError) and error.code == LATE


def to_reason(error: Exception, name: str) -> Diagnostic:
    """Return why a program did not answer."""
    if isinstance(error, MemoriterError):
        return Diagnostic.of(error)
    return Diagnostic(
        "internal", sentence(f"{name} failed: {type(error).__name__}: {error}"), "Run `memoriter doctor`."
    )


def _unsupported(query: Query, name: str) -> Diagnostic | None:
    """Return why a program cannot answer a query, although nothing is wrong; None if it can."""
    filters = [part.words for part in split_filters(replace(query.filters, sources=None))]
    filters += [] if query.time is None else [f"the time {query.time.in_words()}"]
    if filters:
        message = f"The builtin engine answered, because {name} cannot restrict a search to {', '.join(filters)}."
    elif query.explain:
        message = f"The builtin engine answered, because {name} does not explain its scores."
    else:
        return None
    remedy = "Nothing is wrong; the program answers searches without these."
    return Diagnostic("qmd_not_asked", message, remedy)
