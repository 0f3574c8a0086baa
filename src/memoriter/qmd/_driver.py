"""Drive QMD: one object for each agent, safe to share between threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from memoriter.config import QmdPlan
    from memoriter.qmd._values import QmdAnswer, QmdProbe, QmdState, QmdUpdated
    from memoriter.types import Excerpt
    from memoriter.workspace import Transcripts, Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class QmdPlace:
    """Where QMD works for one agent, and its clocks."""

    agent: str
    workspace: Workspace
    state_dir: Path
    """Memoriter's home; QMD's own is `agents/<agent>/qmd` in it."""
    environ: Mapping[str, str]
    wall: Callable[[], float]
    """Seconds since 1970."""
    monotonic: Callable[[], float]
    transcripts: Transcripts | None = None
    """The transcripts to export if `memory.qmd.sessions.enabled` is set."""


class QmdDriver:
    """QMD for one agent."""

    @classmethod
    def open(cls, plan: QmdPlan, place: QmdPlace) -> Self:
        """Return a driver; nothing is started or written."""
        raise NotImplementedError

    def probe(self) -> QmdProbe:
        """Find the program and ask for its version, once. Raises QmdFailure."""
        raise NotImplementedError

    def start(self) -> None:
        """Update and embed in the background at the intervals of the settings, until `close`.

        With `update.onBoot` the first update starts now, and with `update.waitForBootSync` this waits for it.

        Raises:
            QmdFailure: the update that it waits for failed.
        """
        raise NotImplementedError

    def search(self, text: str, *, limit: int | None = None, timeout: float | None = None) -> QmdAnswer:
        """Return the hits of a query. Before the first search of a memory, its files are indexed.

        Args:
            text: the query; lines that start with `lex:`, `vec:`, `hyde:` or `intent:` are a typed query.
            limit: number of hits; None: `limits.maxResults`.
            timeout: seconds; None: `limits.timeoutMs`.

        Raises:
            QmdFailure: QMD gave no usable answer.
        """
        raise NotImplementedError

    def update(self, *, force: bool = False) -> QmdUpdated:
        """Index what changed. Without `force`, do nothing within `update.debounceMs` after an update.

        Raises:
            QmdFailure: the update failed.
        """
        raise NotImplementedError

    def embed(self, *, force: bool = False) -> bool:
        """Compute missing vectors; no two processes of this machine's user do so at once.

        Returns:
            Whether QMD ran. False in the mode `search`, within `update.embedInterval` after the last run and during the
            pause after a failure, unless `force` is set, and if another process is embedding.

        Raises:
            QmdFailure: the run failed.
        """
        raise NotImplementedError

    def notes_changed(self) -> None:
        """Let the next search wait for an update (bounded)."""
        raise NotImplementedError

    def status(self) -> QmdState:
        """Return what is known without starting the program. Nothing is created or changed."""
        raise NotImplementedError

    def cites(self, path: str) -> bool:
        """Return whether a path is `qmd/<collection>/<relative path>`, or in a folder of `memory.qmd.paths`."""
        raise NotImplementedError

    def read(
        self, path: str, *, start: int | None = None, lines: int | None = None, max_chars: int = 100_000
    ) -> Excerpt:
        """Read lines of a file of a collection, as `Workspace.read` does.

        Args:
            path: the path of a hit: relative to the workspace, or `qmd/<collection>/<relative path>`.
            start: first line, 1-based.
            lines: number of lines.
            max_chars: limit of the text in characters.

        Raises:
            PathRefused: the path is not a file of a collection.
        """
        raise NotImplementedError

    def close(self) -> None:
        """End the background work and every program that runs."""
        raise NotImplementedError
