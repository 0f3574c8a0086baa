"""The settings in force, with the origin of each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from memoriter.config._document import Origin, display_value
from memoriter.config._places import AGENT, DEFAULT_AGENT, Place, agent_name, find_workspace, in_home, user_home_of
from memoriter.config._schema import Settings
from memoriter.config._search import resolved
from memoriter.config._section import (
    ExtensionSection,
    Key,
    all_sections,
    declared_key,
    dotted,
    leaves,
    section_of_extension,
)
from memoriter.config._tree import locate
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from memoriter.config._document import ConfigDocument
    from memoriter.config._search import MemorySearch
    from memoriter.types import Diagnostic

DEFAULT = Origin("default")
_S = TypeVar("_S", bound=ExtensionSection)


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """All settings with their origins."""

    settings: Settings = field(default_factory=Settings)
    """Settings as written, merged over the defaults."""
    extensions: Mapping[Key, ExtensionSection] = field(default_factory=dict[Key, ExtensionSection])
    """The written settings of extensions, merged over their defaults, by key."""
    path: Path | None = None
    """The configuration file, if there is one."""
    project_path: Path | None = None
    """The workspace's own `.memoriter.json5`, if there is one."""
    state: Path | None = None
    """OpenClaw's state folder, if the configuration file is OpenClaw's."""
    usual_workspace: Path | None = None
    """The folder of the default agent in that state."""
    ignored: tuple[str, ...] = ()
    """Dotted keys of the files that only OpenClaw uses and that have no effect here."""
    documents: tuple[ConfigDocument, ...] = field(default=(), repr=False)
    """Sources of settings, in ascending order of precedence."""
    refused: tuple[Diagnostic, ...] = ()
    """Diagnostics for files that are not trusted and therefore ignored."""

    @property
    def origins(self) -> Mapping[str, Origin]:
        """Origin of each value of `settings`, by dotted key."""
        return {dotted(key): self.origin(key) for key, _, _ in leaves(self.settings, extensions=self._all_extensions())}

    @property
    def default_agent(self) -> str:
        """The agent used when none is named: the one marked as default, else the first, else `main`."""
        agents = self.settings.agents.list
        marked = next((agent for agent in agents if agent.default), agents[0] if agents else None)
        return agent_name(marked.id) if marked else DEFAULT_AGENT

    def search_for(self, agent_id: str) -> MemorySearch:
        """Return the search settings of an agent, merged over the defaults, with every number within its range."""
        agents = self.settings.agents
        agent_search = next(
            (agent.memory_search for agent in agents.list if agent_name(agent.id) == agent_name(agent_id)), None
        )
        return resolved(agent_search or agents.defaults.memory_search)

    def extension(self, name: str, kind: type[_S], *, agent: str | None = None) -> _S:
        """Return the settings of an extension, with its defaults for what is not written.

        Args:
            name: the dotted key of the section, which is the name of its entry point.
            kind: the class of the section.
            agent: the agent, if the section is one of `agents.defaults.memorySearch`.
        """
        key: Key = tuple(name.split("."))
        if agent is not None:
            numbers = enumerate(self.settings.agents.list)
            names = {agent_name(each.id): number for number, each in numbers if each.memory_search is not None}
            number = names.get(agent_name(agent))
            key = key if number is None else ("agents", "list", number, *key[2:])
        section = self.extensions.get(key)
        return section if isinstance(section, kind) else kind()

    @property
    def principal(self) -> str:
        """Whose memories these are, where several machines share them; empty: those of the folder alone."""
        return next((each.principal for each in self.extensions.values() if each.principal), "")

    @property
    def character_limit(self) -> float | None:
        """The most characters of all passages that an agent gets at once; None: memoriter's own limit."""
        limits = (each.character_limit for each in self.extensions.values())
        return next((limit for limit in limits if limit is not None), None)

    @property
    def instructions(self) -> tuple[str, ...]:
        """What an agent is told about the plugins that `plugins.slots.memory` names."""
        sections = list[ExtensionSection]()
        for name in self.settings.plugins.slots.names:
            key = ("plugins", "entries", name)
            section = section_of_extension(key)
            if section is not None:
                sections.append(self.extensions.get(key) or section())
        return tuple(section.instructions for section in sections if section.instructions)

    def _all_extensions(self) -> dict[Key, ExtensionSection]:
        return {**all_sections(), **self.extensions}

    def workspace_for(self, agent_id: str) -> str | None:
        """Return the workspace as written for an agent, or None if nothing is written.

        Only the default agent has the workspace of `agents.defaults`; another agent without one of its own has
        `workspace-<id>` in memoriter's home.
        """
        name = agent_name(agent_id)
        agents = self.settings.agents
        agent_workspace = next(
            (agent.workspace for agent in agents.list if agent_name(agent.id) == name and agent.workspace), None
        )
        if self.state is not None:
            return self._workspace_in_state(self.state, name, agent_workspace)
        if agent_workspace is not None:
            return agent_workspace
        return agents.defaults.workspace if name == self.default_agent else f"workspace-{name}"

    def select_place(
        self,
        agent: str,
        flag: Path | None,
        *,
        environ: Mapping[str, str],
        cwd: Path,
        home: Path,
        by_person: bool = False,
    ) -> Place:
        """Return the workspace in use.

        An agent of OpenClaw has its own folder, whichever folder the process is in, unless the caller names one.
        Otherwise `find_workspace` decides.
        """
        written = self.workspace_for(agent)
        if self.state is None or flag is not None:
            return find_workspace(flag, environ=environ, cwd=cwd, configured=written, home=home, by_person=by_person)
        folder = self.state / in_home(written or "workspace", user_home_of(environ, home))
        return Place(folder, f"{AGENT} {agent}")

    def _workspace_in_state(self, state: Path, name: str, written: str | None) -> str:
        """Return the workspace of an agent of OpenClaw; a relative path is relative to its state folder."""
        is_default = name == self.default_agent
        written = written or (self.settings.agents.defaults.workspace if is_default else None)
        if written:
            return written if written.startswith("~") else str(state / written)
        usual = self.usual_workspace if is_default else None
        return str(usual or state / f"workspace-{name}")

    def origin(self, key: Key) -> Origin:
        for document in reversed(self.documents):
            is_written, offset = locate(document.tree, key)
            if is_written:
                return document.origin(offset)
        declared = declared_key(key)
        return DEFAULT if declared == key else self.origin(declared)

    def rows(self) -> list[tuple[str, Any, Origin]]:
        """Return the key, the value in force and the origin of every setting, for people. Secrets are masked.

        The search settings of a single agent are listed only if they are written for it.
        """
        return [
            (dotted(key), display_value(item, value), self.origin(key))
            for key, item, value in leaves(self.in_force(), extensions=self._all_extensions())
            if key[3:4] != ("memorySearch",) or any(locate(document.tree, key)[0] for document in self.documents)
        ]

    def in_force(self) -> Settings:
        """Return the settings with every number within its range."""
        agents = self.settings.agents
        agent_list = tuple(
            replace(agent, memory_search=resolved(agent.memory_search)) if agent.memory_search else agent
            for agent in agents.list
        )
        defaults = replace(agents.defaults, memory_search=resolved(agents.defaults.memory_search))
        return replace(self.settings, agents=replace(agents, defaults=defaults, list=agent_list))
