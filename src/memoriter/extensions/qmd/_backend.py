"""The backend `qmd`: QMD answers searches, and the builtin engine whenever QMD cannot.

The first failure closes the program and removes it from the cache. The builtin engine answers this search and all
others, until the pause is over and a new attempt succeeds.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.config import in_home
from memoriter.errors import MemoriterError, QmdMissing, QmdTimeout, UsageError, sentence
from memoriter.extensions.qmd._collections import missing_root
from memoriter.extensions.qmd._driver import NAME, QmdDriver, QmdPlace
from memoriter.extensions.qmd._engine import ProgramCache, QmdProgram, cache_key
from memoriter.extensions.qmd._plan import plan_qmd, scope_allows, scope_denied
from memoriter.extensions.qmd.settings import KEY, QmdSettings
from memoriter.filters import split_filters
from memoriter.search import clean_query
from memoriter.service_guard import ServiceGuard, doubling
from memoriter.types import Diagnostic, Health, SearchResult
from memoriter.workspace import split_citation

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoriter.backends import ForgetPlan, Forgotten, MemoryBackend, WatchRun
    from memoriter.config import Configuration
    from memoriter.environment import Environment
    from memoriter.extensions.qmd._engine import Lease
    from memoriter.extensions.qmd._plan import QmdPlan
    from memoriter.extensions.qmd.settings import QmdScope
    from memoriter.sync import IndexJob, Progress
    from memoriter.types import BackgroundRun, Excerpt, Query, Status, SyncReport
    from memoriter.workspace import Transcripts, Workspace

PAUSES = doubling(30.0, 900.0)
"""How long a program that failed is left alone."""
PROGRAMS = ProgramCache()
"""The open programs of this process."""

log = logging.getLogger(__name__)


class FallbackBackend:
    """Searches with a program, and with the builtin engine where it fails. All else is the builtin engine's.

    Safe to share between threads.
    """

    def __init__(
        self,
        lease: Callable[[], Lease],
        builtin: MemoryBackend,
        guard: ServiceGuard,
        scope: QmdScope | None = None,
    ) -> None:
        """Store the parts. Nothing is opened yet."""
        self.name = NAME
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
        reason = _unsupported(query)
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
        reason = to_reason(error)
        if used is not None and isinstance(error, QmdTimeout) and used.program.is_hasty(query):
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
            self._give_up(to_reason(error), used)
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
            return (to_reason(error),)

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
            failure = to_reason(error)
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
            reason = to_reason(error)
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


def to_reason(error: Exception) -> Diagnostic:
    """Return why a program did not answer."""
    if isinstance(error, MemoriterError):
        return Diagnostic.of(error)
    return Diagnostic(
        "internal", sentence(f"{NAME} failed: {type(error).__name__}: {error}"), "Run `memoriter doctor`."
    )


def _unsupported(query: Query) -> Diagnostic | None:
    """Return why a program cannot answer a query, although nothing is wrong; None if it can."""
    filters = [part.words for part in split_filters(replace(query.filters, sources=None))]
    filters += [] if query.time is None else [f"the time {query.time.in_words()}"]
    if filters:
        message = f"The builtin engine answered, because {NAME} cannot restrict a search to {', '.join(filters)}."
    elif query.explain:
        message = f"The builtin engine answered, because {NAME} does not explain its scores."
    else:
        return None
    remedy = "Nothing is wrong; the program answers searches without these."
    return Diagnostic("qmd_not_asked", message, remedy)


class QmdBackend(FallbackBackend):
    """Searches with QMD, and with the builtin engine where QMD fails; reads files of QMD's collections."""

    def __init__(
        self, builtin: MemoryBackend, plan: QmdPlan, place: QmdPlace, *, programs: ProgramCache = PROGRAMS
    ) -> None:
        """Store the parts. Nothing is started."""
        key = cache_key(place.agent, {"state": place.state_dir, "workspace": place.workspace.root, "qmd": plan})
        guard = ServiceGuard(PAUSES, place.monotonic)
        super().__init__(lambda: programs.lease(key, self._create), builtin, guard, plan.scope)
        self.plan = plan
        self._place = place
        self._files = QmdDriver(plan, place)

    def _create(self) -> QmdProgram:
        return QmdProgram(QmdDriver(self.plan, self._place), self.plan)

    def read(self, path: str, *, start: int | None = None, lines: int | None = None) -> Excerpt:
        """Return lines of a note, or of a file that QMD alone searches if there is no such note. Raises PathRefused.

        QMD is not started.
        """
        name = split_citation(path)[0]
        if self._files.cites(name):
            _, note = self._place.workspace.find(name) or ("", None)
            if note is None:
                return self._files.read(path, start=start, lines=lines)
        return super().read(path, start=start, lines=lines)


class QmdSetup:
    """QMD, as the settings of an agent want it."""

    def __init__(self, configuration: Configuration, agent: str, env: Environment, workspace: Path) -> None:
        self._agent = agent
        self._env = env
        settings = configuration.extension(KEY, QmdSettings)
        self._plan = plan_qmd(settings, agent, workspace=workspace, user_home=env.user_home)

    def problems(self) -> tuple[Diagnostic, ...]:
        """Return what is missing: the program, or folders of the settings. Nothing is started or written."""
        env = self._env
        command = self._plan.command
        problems = list[Diagnostic]()
        if shutil.which(str(in_home(command, env.user_home)), path=env.environ.get("PATH", os.defpath)) is None:
            message = f"There is no program {command!r}, so the builtin engine answers instead of QMD."
            problems.append(Diagnostic("qmd_missing", message, QmdMissing.default_remedy))
        custom = [each.path for each in self._plan.collections if each.kind == "custom"]
        return (*problems, *(missing_root(path) for path in custom if not path.exists()))

    def open(
        self, builtin: MemoryBackend, workspace: Workspace, transcripts: Callable[[], Transcripts | None]
    ) -> QmdBackend:
        """Return the builtin engine with QMD before it. Nothing is started."""
        env = self._env
        place = QmdPlace(
            agent=self._agent,
            workspace=workspace,
            state_dir=env.home,
            environ=env.environ,
            wall=env.wall,
            monotonic=env.monotonic,
            transcripts=transcripts() if self._plan.sessions_enabled else None,
        )
        return QmdBackend(builtin, self._plan, place)
