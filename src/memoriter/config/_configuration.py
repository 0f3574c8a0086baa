"""The settings in force, and where each of them comes from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from memoriter.config._document import Origin
from memoriter.config._places import DEFAULT_AGENT, agent_name
from memoriter.config._resolve import resolved
from memoriter.config._schema import Settings
from memoriter.config._secrets import shown
from memoriter.config._section import dotted, leaves
from memoriter.config._tree import locate

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from memoriter.config._document import ConfigDocument
    from memoriter.config._search import MemorySearch
    from memoriter.config._section import Key
    from memoriter.types import Diagnostic

DEFAULT = Origin("default")


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """All settings, with their sources."""

    settings: Settings = field(default_factory=Settings)
    """As written, over the defaults."""
    path: Path | None = None
    """The configuration file, if there is one."""
    project_path: Path | None = None
    """The workspace's own `.memoriter.json5`, if there is one."""
    ignored: tuple[str, ...] = ()
    """Dotted keys of the files that only OpenClaw knows and that have no effect here."""
    documents: tuple[ConfigDocument, ...] = field(default=(), repr=False)
    """What was written, the weakest first."""
    refused: tuple[Diagnostic, ...] = ()
    """Files whose settings do not count, because they cannot be trusted."""

    @property
    def origins(self) -> Mapping[str, Origin]:
        """For each dotted key of `settings`, where its value comes from."""
        return {dotted(key): self.origin(key) for key, _, _ in leaves(self.settings)}

    @property
    def default_agent(self) -> str:
        """The agent that is meant when none is named: the one marked so, else the first, else `main`."""
        agents = self.settings.agents.list
        marked = next((agent for agent in agents if agent.default), agents[0] if agents else None)
        return agent_name(marked.id) if marked else DEFAULT_AGENT

    def search_for(self, agent_id: str) -> MemorySearch:
        """The agent's own keys over the defaults, every number within its range."""
        agents = self.settings.agents
        own = next((agent.memory_search for agent in agents.list if agent_name(agent.id) == agent_name(agent_id)), None)
        return resolved(own or agents.defaults.memory_search)

    def workspace_for(self, agent_id: str) -> str | None:
        """The workspace as it is written for the agent; None: nothing is written.

        Only the default agent has the workspace of `agents.defaults`; another agent without one of its own has
        `workspace-<id>` in memoriter's home.
        """
        name, agents = agent_name(agent_id), self.settings.agents
        own = next((agent.workspace for agent in agents.list if agent_name(agent.id) == name and agent.workspace), None)
        if own is not None:
            return own
        return agents.defaults.workspace if name == self.default_agent else f"workspace-{name}"

    def origin(self, key: Key) -> Origin:
        for document in reversed(self.documents):
            there, offset = locate(document.tree, key)
            if there:
                return Origin(document.kind, document.path, document.line(offset))
        inherited = key[:2] == ("agents", "list") and key[3:4] == ("memorySearch",)
        return self.origin(("agents", "defaults", *key[3:])) if inherited else DEFAULT

    def rows(self) -> list[tuple[str, Any, Origin]]:
        """Key, value in force and origin of every setting, for people. Secrets are masked.

        Of a single agent's search settings, only those that are written for it are listed.
        """
        return [
            (dotted(key), shown(item, value), self.origin(key))
            for key, item, value in leaves(self.in_force())
            if key[3:4] != ("memorySearch",) or any(locate(document.tree, key)[0] for document in self.documents)
        ]

    def in_force(self) -> Settings:
        """The settings with every number within its range."""
        agents = self.settings.agents
        listed = tuple(
            replace(agent, memory_search=resolved(agent.memory_search)) if agent.memory_search else agent
            for agent in agents.list
        )
        defaults = replace(agents.defaults, memory_search=resolved(agents.defaults.memory_search))
        return replace(self.settings, agents=replace(agents, defaults=defaults, list=listed))
