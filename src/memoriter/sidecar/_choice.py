"""The choice of the backend. Nothing else of this package is imported if the builtin engine answers alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.backends import MemoryBackend
    from memoriter.config import Configuration, Place
    from memoriter.environment import Environment
    from memoriter.types import Diagnostic, Excerpt
    from memoriter.workspace import Transcripts, Workspace


def choose_backend(
    builtin: MemoryBackend,
    configuration: Configuration,
    agent: str,
    env: Environment,
    *,
    workspace: Workspace,
    transcripts: Callable[[], Transcripts | None],
) -> MemoryBackend:
    """Return the backend that `memory.backend` names. Nothing is started.

    Args:
        builtin: the builtin engine.
        configuration: the settings.
        agent: the agent whose settings apply.
        env: the environment.
        workspace: the notes.
        transcripts: returns the transcripts of the agent, which QMD may search too.
    """
    if configuration.settings.memory.backend == "builtin":
        return builtin
    from memoriter.sidecar._acquire import qmd_backend

    return qmd_backend(builtin, configuration, agent, env, workspace=workspace, transcripts=transcripts)


def sidecar_problems(
    configuration: Configuration, agent: str, place: Place, env: Environment
) -> tuple[Diagnostic, ...]:
    """Return what is missing for the backend that `memory.backend` names: its program, or folders. Starts nothing."""
    if configuration.settings.memory.backend == "builtin":
        return ()
    from memoriter.sidecar._acquire import qmd_problems

    return qmd_problems(configuration, agent, place.workspace, env)


def read_file(
    backend: MemoryBackend, workspace: Workspace, path: str, *, start: int | None = None, lines: int | None = None
) -> Excerpt:
    """Return lines of a note, or of a file that QMD alone searches if there is no such note. Raises PathRefused."""
    from memoriter.workspace import split_citation

    name = split_citation(path)[0]
    if hasattr(backend, "cites"):
        from memoriter.sidecar._acquire import QmdBackend

        if isinstance(backend, QmdBackend) and backend.cites(name):
            _, note = workspace.find(name) or ("", None)
            if note is None:
                return backend.read(path, start=start, lines=lines)
    return workspace.read(path, start=start, lines=lines)
