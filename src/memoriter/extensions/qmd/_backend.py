"""The backend `qmd`, from its parts."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from memoriter.config import in_home
from memoriter.errors import QmdMissing
from memoriter.extensions.qmd._cache import ProgramCache, cache_key
from memoriter.extensions.qmd._driver import NAME, QmdDriver, QmdPlace
from memoriter.extensions.qmd._engine import QmdProgram
from memoriter.extensions.qmd._fallback import FallbackBackend
from memoriter.extensions.qmd._plan import plan_qmd
from memoriter.extensions.qmd.settings import KEY, QmdSettings
from memoriter.service_guard import ServiceGuard, doubling
from memoriter.types import Diagnostic
from memoriter.workspace import split_citation

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoriter.backends import MemoryBackend
    from memoriter.config import Configuration
    from memoriter.environment import Environment
    from memoriter.extensions.qmd._plan import QmdPlan
    from memoriter.types import Excerpt
    from memoriter.workspace import Transcripts, Workspace

PAUSES = doubling(30.0, 900.0)
"""How long a program that failed is left alone."""
PROGRAMS = ProgramCache()
"""The open programs of this process."""


class QmdBackend(FallbackBackend):
    """Searches with QMD, and with the builtin engine where QMD fails; reads files of QMD's collections."""

    def __init__(
        self, builtin: MemoryBackend, plan: QmdPlan, place: QmdPlace, *, programs: ProgramCache = PROGRAMS
    ) -> None:
        """Store the parts. Nothing is started."""
        key = cache_key(place.agent, {"state": place.state_dir, "workspace": place.workspace.root, "qmd": plan})
        guard = ServiceGuard(PAUSES, place.monotonic)
        super().__init__(NAME, lambda: programs.lease(key, self._create), builtin, guard, plan.scope)
        self.plan = plan
        self._place = place
        self._files = QmdDriver.open(plan, place)

    def _create(self) -> QmdProgram:
        return QmdProgram(QmdDriver.open(self.plan, self._place), self.plan)

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
        for each in self._plan.collections:
            if each.kind == "custom" and not each.path.exists():
                message = (
                    f"The folder {str(each.path)!r} of memory.qmd.paths does not exist, so QMD does not search it."
                )
                remedy = "Create the folder, or correct memory.qmd.paths."
                problems.append(Diagnostic("qmd_root_missing", message, remedy))
        return tuple(problems)

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
