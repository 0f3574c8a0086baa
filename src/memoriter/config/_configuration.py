"""The configuration: how it is loaded from files and the caller, and the settings in force with their origins."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from memoriter.config._check import InvalidSettings, Problem, parse_settings, range_problems
from memoriter.config._document import (
    Origin,
    display_value,
    locate,
    make_document,
    merge,
    parse,
    read_document,
    remove_key,
    table,
)
from memoriter.config._places import (
    AGENT,
    DEFAULT_AGENT,
    PROJECT_FILE,
    Place,
    agent_name,
    chosen_file,
    find_workspace,
    in_home,
    state_of,
    user_home_of,
    workspace_in,
)
from memoriter.config._schema import Settings, resolved
from memoriter.config._section import (
    SEARCH,
    ExtensionSection,
    Key,
    all_sections,
    declared_key,
    dotted,
    leaves,
    section_of_extension,
)
from memoriter.errors import ConfigError
from memoriter.permissions import owners_of
from memoriter.types import Diagnostic
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from memoriter.config._document import ConfigDocument, OriginKind, Tree
    from memoriter.config._schema import MemorySearch


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

    def is_written(self, key: Key) -> bool:
        """Return whether a file or the caller has set a value."""
        return any(locate(document.tree, key)[0] for document in self.documents)

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
            if key[3:4] != ("memorySearch",) or self.is_written(key)
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


def load(path: Path | None, *, home: Path, environ: Mapping[str, str], project: Path | None = None) -> Configuration:
    """Return the configuration of this machine and workspace.

    Args:
        path: The file; None: `MEMORITER_CONFIG`, or `memoriter.json5` in `home` if it exists, else only defaults.
        home: Memoriter's home.
        environ: The environment.
        project: The workspace, for its own `.memoriter.json5`, which is ignored if it belongs to another user.

    Raises:
        ConfigError: A file is missing, unreadable or invalid; one message lists all mistakes of a file.
    """
    chosen = chosen_file(path, home, environ)
    project_file = project / PROJECT_FILE if project else None
    # `lexists`, because an entry that is not a file must be an error and not be ignored.
    project_file = project_file if project_file and os.path.lexists(project_file) else None
    refused: tuple[Diagnostic, ...] = ()
    if project_file and project and (complaint := owners_of(environ, root=True).complaint(project_file)):
        refused = (ignored_settings_diagnostic(project_file, complaint),)
        project_file = None
    if chosen is None and project_file is None:
        return Configuration(refused=refused)
    user_home = user_home_of(environ, home)
    state = state_of(chosen, environ, user_home)
    documents: list[ConfigDocument] = []
    if chosen and not os.path.lexists(chosen):
        chosen = None  # OpenClaw runs on its defaults
    if chosen:
        documents.append(validate(read_document("file", chosen)))
    if project_file and project:
        documents.append(validate(read_document("project", project_file), workspace=project))
    usual = workspace_in(state, environ, user_home) if state else None
    configuration = combine(documents)
    if state:  # the variables in `env` of OpenClaw's configuration hold keys
        ignored = tuple(name for name in configuration.ignored if name != "env")
    else:
        ignored = tuple(name for name in configuration.ignored if not name.startswith("env."))
    return replace(
        configuration,
        ignored=ignored,
        path=chosen,
        project_path=project_file,
        refused=refused,
        state=state,
        usual_workspace=usual,
    )


def ignored_settings_diagnostic(file: Path, complaint: str) -> Diagnostic:
    """Return the diagnostic for a workspace's settings that are ignored."""
    message = f"The settings of {str(file)!r} are ignored: {complaint}."
    return Diagnostic("settings_refused", message, "If you trust them, copy the file: the copy is yours.")


def with_values(configuration: Configuration, values: Mapping[str, Any], *, kind: OriginKind = "flag") -> Configuration:
    """Return the configuration with values that override all files.

    `values` have dotted keys as in a file, such as `agents.defaults.memorySearch.provider`. Raises ConfigError if a key
    or a value is not allowed.
    """
    tree: Tree = {}
    for key, value in values.items():
        for step in reversed(key.split(".")):
            value = {step: value}  # noqa: PLW2901 - wraps the value from the innermost key outwards
        tree = merge(tree, value)
    custom: Tree = {name: {} for name in configuration.settings.models.providers}
    overrides = make_document(kind, tree)
    validate(make_document(kind, merge({"models": {"providers": custom}}, tree)) if custom else overrides)
    result = combine([*configuration.documents, overrides])
    return replace(
        configuration,
        settings=result.settings,
        extensions=result.extensions,
        ignored=result.ignored,
        documents=result.documents,
    )


def check_text(text: str, path: Path, *, workspace: Path | None = None) -> None:
    """Check the text of a configuration file that is not written yet.

    `workspace` is the folder whose own file this is; None: it is the user's file. Raises ConfigError with all mistakes.
    """
    kind: OriginKind = "file" if workspace is None else "project"
    combine([validate(make_document(kind, parse(text, str(path)), path=path, text=text), workspace=workspace)])


def validate(source: ConfigDocument, *, workspace: Path | None = None) -> ConfigDocument:
    """Return the document unchanged if it is valid. Raises ConfigError with all mistakes."""
    problems = dict.fromkeys(
        f"{source.location(problem.key)}: {problem.message}" for problem in find_problems(source, workspace)
    )
    if problems:
        raise ConfigError("\n".join(problems), remedy="Correct the file, then run `memoriter config check`.")
    return source


def find_problems(source: ConfigDocument, workspace: Path | None) -> Iterator[Problem]:
    if workspace is not None:
        yield from find_forbidden(source, workspace)
    tree = source.tree
    try:
        parse_settings(tree)
    except InvalidSettings as error:
        yield from error.problems
        for problem in error.problems:
            tree = remove_key(tree, problem.key)
    with suppress(InvalidSettings):  # the rest is still checked, so that one message lists all mistakes
        yield from range_problems(parse_settings(tree))


def combine(documents: Sequence[ConfigDocument]) -> Configuration:
    """Merge the settings of valid documents, in ascending order of precedence. Raises ConfigError."""
    tree: Tree = {}
    for source in documents:
        tree = merge(tree, source.tree)
    try:
        parsed = parse_settings(merge_agent_defaults(tree))
    except InvalidSettings as error:
        raise ConfigError("\n".join(problem.message for problem in error.problems)) from error
    ignored = tuple(name for source in documents for name in source.ignored)
    return Configuration(
        settings=parsed.core, extensions=parsed.extensions, ignored=ignored, documents=tuple(documents)
    )


def merge_agent_defaults(tree: Tree) -> Tree:
    """Merge every agent's search settings over the defaults."""
    agents = table(tree.get("agents"))
    base = table(table(agents.get("defaults")).get("memorySearch"))
    agent_list: list[Tree] = agents.get("list", [])
    merged_agents = [
        {**agent, "memorySearch": merge(base, agent["memorySearch"])} if "memorySearch" in agent else agent
        for agent in agent_list
    ]
    return {**tree, "agents": {**agents, "list": merged_agents}} if agent_list else tree


ALLOWED: tuple[Key, ...] = (
    (*SEARCH, "chunking"),
    (*SEARCH, "query"),
    (*SEARCH, "sources"),
    ("memory", "citations"),
    ("memory", "layout"),
    ("memory", "dailyNote"),
    ("memory", "extraSuffixes"),
)
"""Keys that affect only searches in the folder. `extraPaths` is allowed too, within the folder."""
OWNERS_ONLY: tuple[Key, ...] = ((*SEARCH, "query", "rerank"),)
"""Keys below the allowed ones that are not allowed, because they choose a service or a model file."""


def find_forbidden(project: ConfigDocument, workspace: Path) -> Iterator[Problem]:
    """Yield the settings that the file must not contain."""
    for key, value in leaf_values(project.tree):
        if key == (*SEARCH, "extraPaths"):
            yield from find_outside_paths(key, value, workspace)
        elif _begins_with(key, OWNERS_ONLY) or not _begins_with(key, ALLOWED):
            yield Problem(key, refusal_text(dotted(key), project.path))
    for name in project.ignored:
        yield Problem(tuple(name.split(".")), refusal_text(name, project.path))


def _begins_with(key: Key, sections: tuple[Key, ...]) -> bool:
    return any(key[: len(section)] == section for section in sections)


def refusal_text(name: str, path: Path | None) -> str:
    return (
        f"The setting {name} may not be set by {path}: a file that comes with a folder must not choose services, keys,"
        " commands or paths. Set it in your own configuration file."
    )


def leaf_values(tree: Tree, at: Key = ()) -> Iterator[tuple[Key, Any]]:
    """Yield each value of a tree that is not an object, and each empty object, with its key."""
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from leaf_values(table(value), (*at, key))
        else:
            yield (*at, key), value


def find_outside_paths(key: Key, paths: Any, workspace: Path) -> Iterator[Problem]:
    """Yield extra paths outside the workspace, also those behind a symbolic link."""
    root = workspace.resolve()
    for entry in cast("list[Any]", paths) if isinstance(paths, list) else []:
        path = table(entry).get("path")
        if isinstance(path, str) and not is_inside(path, root):
            yield Problem(
                key,
                f"The setting {dotted(key)} names {path[:80]!r}, which leaves the workspace;"
                " this file may only name paths inside of it.",
            )


def is_inside(path: str, root: Path) -> bool:
    try:
        return not path.startswith("~") and (root / path).resolve().is_relative_to(root)
    except (OSError, ValueError, RuntimeError):
        return False
