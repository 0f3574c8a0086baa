"""Loading of the configuration: defaults, the user's file, the workspace's file, and values from the caller."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memoriter.config._check import Refused, out_of_range, settings
from memoriter.config._configuration import Configuration
from memoriter.config._document import document, read
from memoriter.config._places import PROJECT_FILE, chosen_file
from memoriter.config._project import forbidden
from memoriter.config._tree import merged, table, without
from memoriter.errors import ConfigError
from memoriter.permissions import owners_of
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from memoriter.config._check import Problem
    from memoriter.config._document import ConfigDocument, OriginKind
    from memoriter.config._tree import Tree


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
    own = project / PROJECT_FILE if project else None
    own = own if own and os.path.lexists(own) else None  # an entry that is not a file must be an error, not ignored
    refused: tuple[Diagnostic, ...] = ()
    if own and project and (complaint := owners_of(environ, root=True).complaint(own)):
        own, refused = None, (not_obeyed(own, complaint),)
    if chosen is None and own is None:
        return Configuration(refused=refused)
    documents: list[ConfigDocument] = []
    if chosen:
        documents.append(checked(read("file", chosen)))
    if own and project:
        documents.append(checked(read("project", own), workspace=project))
    return replace(combined(documents), path=chosen, project_path=own, refused=refused)


def not_obeyed(file: Path, complaint: str) -> Diagnostic:
    """Return the diagnostic for a workspace's settings that are ignored."""
    message = f"The settings of {str(file)!r} are not obeyed: {complaint}."
    return Diagnostic("settings_refused", message, "If you trust them, copy the file: the copy is yours.")


def with_values(configuration: Configuration, values: Mapping[str, Any], *, kind: OriginKind = "flag") -> Configuration:
    """Return the configuration with values that override all files.

    Args:
        configuration: The loaded configuration.
        values: Values by dotted key as in a file, such as `agents.defaults.memorySearch.provider`.
        kind: The origin of the values.

    Raises:
        ConfigError: A key or a value is not allowed.
    """
    tree: Tree = {}
    for key, value in values.items():
        for step in reversed(key.split(".")):
            value = {step: value}  # noqa: PLW2901 - wraps the value from the innermost key outwards
        tree = merged(tree, value)
    custom: Tree = {name: {} for name in configuration.settings.models.providers}
    given = document(kind, tree)
    checked(document(kind, merged({"models": {"providers": custom}}, tree)) if custom else given)
    result = combined([*configuration.documents, given])
    kept = configuration
    return replace(result, path=kept.path, project_path=kept.project_path, refused=kept.refused)


def checked(given: ConfigDocument, *, workspace: Path | None = None) -> ConfigDocument:
    """Return the document unchanged if it is valid. Raises ConfigError with all mistakes."""
    problems = dict.fromkeys(f"{given.place(problem.key)}: {problem.message}" for problem in wrong(given, workspace))
    if problems:
        raise ConfigError("\n".join(problems), remedy="correct the file; `memoriter config check` looks at it again")
    return given


def wrong(given: ConfigDocument, workspace: Path | None) -> Iterator[Problem]:
    if workspace is not None:
        yield from forbidden(given, workspace)
    tree = given.tree
    try:
        settings(tree)
    except Refused as refused:
        yield from refused.problems
        for problem in refused.problems:
            tree = without(tree, problem.key)
    with suppress(Refused):  # the rest is still checked, so that one message lists all mistakes
        yield from out_of_range(settings(tree))


def combined(documents: Sequence[ConfigDocument]) -> Configuration:
    """Merge the settings of valid documents, in ascending order of precedence. Raises ConfigError."""
    tree: Tree = {}
    for given in documents:
        tree = merged(tree, given.tree)
    try:
        found = settings(with_agents(tree))
    except Refused as refused:
        raise ConfigError("\n".join(problem.message for problem in refused.problems)) from refused
    ignored = tuple(name for given in documents for name in given.ignored)
    return Configuration(settings=found, ignored=ignored, documents=tuple(documents))


def with_agents(tree: Tree) -> Tree:
    """Merge every agent's search settings over the defaults."""
    agents = table(tree.get("agents"))
    base = table(table(agents.get("defaults")).get("memorySearch"))
    listed: list[Tree] = agents.get("list", [])
    full = [
        {**agent, "memorySearch": merged(base, agent["memorySearch"])} if "memorySearch" in agent else agent
        for agent in listed
    ]
    return {**tree, "agents": {**agents, "list": full}} if listed else tree
