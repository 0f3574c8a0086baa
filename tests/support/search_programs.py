"""A search program and an engine that do what a test tells them, and a wrapper of both."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from memoriter.errors import QmdCrashed
from memoriter.extensions.qmd._backend import PAUSES
from memoriter.extensions.qmd.api import FallbackBackend, ProgramCache
from memoriter.service_guard import ServiceGuard
from memoriter.types import Health, Query, SearchResult, SidecarStatus

DEAD = QmdCrashed("qmd died.")
QUERY = Query("which database")
HEALTHY = Health({"keyword": True, "vector": True})


def answer(provider: str) -> SearchResult:
    return SearchResult((), "none", provider, "", "keyword", HEALTHY)


@dataclass
class Scripted:
    """A program that raises what it is told to, and records its calls."""

    log: list[str]
    failure: Exception | None = None
    hasty: bool = False
    name: str = "qmd"

    def _call(self, name: str) -> None:
        self.log.append(f"primary.{name}")
        if self.failure is not None:
            raise self.failure

    def search(self, query: Query) -> SearchResult:
        self._call("search")
        return answer("qmd")

    def is_hasty(self, query: Query) -> bool:
        return self.hasty

    def update(self, *, force: bool = False) -> tuple[Any, ...]:
        self._call("update")
        return ()

    def notes_changed(self) -> None:
        self._call("notes_changed")

    def start(self) -> str:
        self._call("start")
        return "QMD 2.8.3"

    def forget(self) -> None:
        self._call("forget")

    def status(self) -> SidecarStatus:
        return SidecarStatus("qmd", "qmd")

    def close(self) -> None:
        self.log.append("primary.close")


@dataclass
class Builtin:
    """An engine whose searches return or raise what they are told to."""

    log: list[str]
    failure: Exception | None = None

    def search(self, query: Query, *, progress: Any = None) -> SearchResult:
        self.log.append("fallback.search")
        if self.failure is not None:
            raise self.failure
        return answer("bundled")

    def close(self) -> None:
        self.log.append("fallback.close")

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


@dataclass
class Parts:
    """A wrapper with a scripted program, and a clock."""

    log: list[str] = field(default_factory=list)
    now: float = 0.0
    failure: Exception | None = None
    cannot_open: Exception | None = None
    hasty: bool = False
    engine: Any = None
    cache: ProgramCache = field(default_factory=ProgramCache)

    def __post_init__(self) -> None:
        self.program = Scripted(self.log)
        self.engine = self.engine or Builtin(self.log)
        self.backend = FallbackBackend(
            lambda: self.cache.lease("main", self.create),
            self.engine,
            ServiceGuard(PAUSES, lambda: self.now),
        )

    def create(self) -> Scripted:
        if self.cannot_open is not None:
            raise self.cannot_open
        self.program = Scripted(self.log, self.failure, self.hasty)
        return self.program

    def fail(self, error: Exception | None) -> None:
        self.failure = self.program.failure = error
