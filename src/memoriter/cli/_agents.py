"""Commands that serve every agent of the configuration, and go on if the folder of one is missing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from memoriter.errors import WorkspaceNotFound
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoriter.cli._options import GlobalOptions

T = TypeVar("T")


def agent_options(options: GlobalOptions, *, here: bool) -> list[GlobalOptions]:
    """Return the options for each agent that a command serves.

    Args:
        options: The options as given; --agent or -w selects one agent.
        here: Whether a folder of notes around the current one is a selection too.
    """
    if options.agent or options.workspace:
        return [options]
    from memoriter.app import read_environment, settle

    place, configuration, chosen = settle(read_environment(), None, options.config, None, any_notes=True)
    agents = [agent.id for agent in configuration.settings.agents.list] or [chosen]
    if here and configuration.state is None and place.reason not in {"configured", "default"}:
        return [options]
    return [replace(options, agent=agent) for agent in agents]


def serve_agents(
    agents: Sequence[GlobalOptions], work: Callable[[GlobalOptions], T]
) -> list[tuple[GlobalOptions, T | WorkspaceNotFound]]:
    """Return the result of the work for each agent; for an agent without a folder, the error.

    Raises:
        WorkspaceNotFound: No agent has a folder.
    """
    results: list[tuple[GlobalOptions, T | WorkspaceNotFound]] = []
    for options in agents:
        try:
            results.append((options, work(options)))
        except WorkspaceNotFound as error:
            results.append((options, error))
    errors = [result for _, result in results if isinstance(result, WorkspaceNotFound)]
    if len(errors) == len(results) and errors:
        raise errors[0]
    return results


def missing_folder(options: GlobalOptions, error: WorkspaceNotFound) -> Diagnostic:
    """Return the diagnostic for an agent without a folder."""
    return Diagnostic(error.code, f"The agent {options.agent!r} is left out. {error.message}", error.remedy)
