"""The backend that the settings name, from its parts."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from memoriter.config import in_home, plan_qmd
from memoriter.errors import QmdMissing
from memoriter.qmd import QmdDriver, QmdPlace
from memoriter.sidecar._breaker import Breaker
from memoriter.sidecar._cache import ProgramCache, cache_key
from memoriter.sidecar._fallback import FallbackBackend
from memoriter.sidecar._qmd import NAME, QmdProgram
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoriter.backends import MemoryBackend
    from memoriter.config import Configuration, QmdPlan
    from memoriter.environment import Environment
    from memoriter.types import Excerpt
    from memoriter.workspace import Transcripts, Workspace

PROGRAMS = ProgramCache()
"""The open programs of this process."""


class QmdBackend(FallbackBackend):
    """Searches with QMD, and with the builtin engine where QMD fails; reads files of QMD's collections."""

    def __init__(
        self, builtin: MemoryBackend, plan: QmdPlan, place: QmdPlace, *, programs: ProgramCache = PROGRAMS
    ) -> None:
        """Store the parts. Nothing is started.

        Args:
            builtin: the builtin engine.
            plan: QMD's settings.
            place: where QMD works.
            programs: the open programs.
        """
        key = cache_key(place.agent, {"state": place.state_dir, "workspace": place.workspace.root, "qmd": plan})
        breaker = Breaker(place.monotonic)
        super().__init__(NAME, lambda: programs.lease(key, self._create), lambda: builtin, breaker, plan.scope)
        self.plan = plan
        self._place = place
        self._files = QmdDriver.open(plan, place)

    def _create(self) -> QmdProgram:
        return QmdProgram(QmdDriver.open(self.plan, self._place), self.plan)

    def cites(self, path: str) -> bool:
        """Return whether a path is one of a file that QMD alone searches. QMD is not started."""
        return self._files.cites(path)

    def read(self, path: str, *, start: int | None = None, lines: int | None = None) -> Excerpt:
        """Return lines of a file of a collection. QMD is not started. Raises PathRefused."""
        return self._files.read(path, start=start, lines=lines)


def qmd_problems(configuration: Configuration, agent: str, folder: Path, env: Environment) -> tuple[Diagnostic, ...]:
    """Return what is missing for QMD: its program, or folders of the settings. Nothing is started or written."""
    plan = plan_qmd(configuration.settings.memory.qmd, agent, workspace=folder, user_home=env.user_home)
    problems = list[Diagnostic]()
    if shutil.which(str(in_home(plan.command, env.user_home)), path=env.environ.get("PATH", os.defpath)) is None:
        message = f"There is no program {plan.command!r}, so the builtin engine answers instead of QMD."
        problems.append(Diagnostic("qmd_missing", message, QmdMissing.default_remedy))
    for each in plan.collections:
        if each.kind == "custom" and not each.path.exists():
            message = f"The folder {str(each.path)!r} of memory.qmd.paths does not exist, so QMD does not search it."
            remedy = "Create the folder, or correct memory.qmd.paths."
            problems.append(Diagnostic("qmd_root_missing", message, remedy))
    return tuple(problems)


def qmd_backend(
    builtin: MemoryBackend,
    configuration: Configuration,
    agent: str,
    env: Environment,
    *,
    workspace: Workspace,
    transcripts: Callable[[], Transcripts | None],
) -> QmdBackend:
    """Return the builtin engine with QMD before it; see `choose_backend`."""
    plan = plan_qmd(configuration.settings.memory.qmd, agent, workspace=workspace.root, user_home=env.user_home)
    place = QmdPlace(
        agent=agent,
        workspace=workspace,
        state_dir=env.home,
        environ=env.environ,
        wall=env.wall,
        monotonic=env.monotonic,
        transcripts=transcripts() if plan.sessions_enabled else None,
    )
    return QmdBackend(builtin, plan, place)
