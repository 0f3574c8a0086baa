"""Settings without effect: they are valid, but memoriter does not include the feature that they configure yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memoriter.config._section import dotted
from memoriter.config._tree import locate, table
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.config._configuration import Configuration
    from memoriter.config._section import Key
    from memoriter.config._tree import Tree

BACKEND: Key = ("memory", "backend")
QMD_SETTINGS_WITH_EFFECT: frozenset[Key] = frozenset({("memory", "qmd", "limits", "maxInjectedChars")})
"""Settings of the QMD backend that apply to the builtin engine too."""
REMEDY = "Remove what has no effect from the file that `memoriter config path` prints, or keep it for OpenClaw."


class Missing(NamedTuple):
    """A feature that memoriter does not include yet."""

    sections: tuple[Key, ...]
    """The settings or sections of settings that configure it."""
    reason: str


MISSING = (
    Missing(
        (BACKEND, ("memory", "qmd")), "memoriter does not include OpenClaw's QMD backend. The builtin engine answers"
    ),
    Missing((("plugins", "entries", "memory-lancedb"),), "memoriter does not include a long-term store"),
)


INDEX_REASON = "it names OpenClaw's own index; memoriter's index is in memoriter's home"
FOREIGN_REASON = "memoriter has no such setting of memory"


def settings_without_effect(configuration: Configuration) -> tuple[str, ...]:
    """Return the dotted keys of all written settings that configure a missing feature."""
    missing = tuple(key for feature in MISSING for key in _written_keys(configuration, feature))
    return (*missing, *unsupported_keys(configuration), *index_path_keys(configuration))


def unsupported_keys(configuration: Configuration) -> tuple[str, ...]:
    """Return the dotted keys of memory that OpenClaw has and memoriter has not, such as `outputDimensionality`."""
    return tuple(key for key in configuration.ignored if "memorySearch" in key.split(".") or "memory-lancedb" in key)


def index_path_keys(configuration: Configuration) -> tuple[str, ...]:
    """Return the dotted keys of `store.path` in a configuration of OpenClaw."""
    if configuration.state is None:
        return ()
    count = len(configuration.settings.agents.list)
    agents: list[Key] = [("agents", "defaults"), *(("agents", "list", number) for number in range(count))]
    keys = [(*agent, "memorySearch", "store", "path") for agent in agents]
    return tuple(dotted(key) for key in keys if any(locate(each.tree, key)[0] for each in configuration.documents))


def effect_diagnostics(configuration: Configuration) -> tuple[Diagnostic, ...]:
    """Return a diagnostic for each missing feature that the configuration has settings for."""
    written = (
        (unsupported_keys(configuration), FOREIGN_REASON, REMEDY),
        (index_path_keys(configuration), INDEX_REASON, "Keep it: OpenClaw uses it."),
    )
    others = tuple(
        Diagnostic("settings_without_effect", f"{', '.join(keys)}: no effect, because {reason}.", remedy)
        for keys, reason, remedy in written
        if keys
    )
    missing = tuple(
        Diagnostic(
            "settings_without_effect",
            f"{', '.join(keys)}: no effect, because {feature.reason}.",
            REMEDY,
        )
        for feature in MISSING
        if (keys := _written_keys(configuration, feature))
    )
    return (*missing, *others)


def is_without_effect(key: Key) -> bool:
    """Return whether the setting at a key has no effect; `memory.backend` has none if its value is `qmd`."""
    return any(key[: len(at)] == at for feature in MISSING for at in feature.sections) and (
        key not in QMD_SETTINGS_WITH_EFFECT
    )


def _written_keys(configuration: Configuration, feature: Missing) -> list[str]:
    """Return the dotted keys of a feature that some document contains. A list counts as one setting."""
    keys = dict.fromkeys(
        key
        for document in configuration.documents
        for at in feature.sections
        for key in _leaf_keys(document.tree, at)
        if is_without_effect(key)
    )
    if configuration.settings.memory.backend == "builtin":
        keys.pop(BACKEND, None)
    return [dotted(key) for key in keys]


def _leaf_keys(tree: Tree, at: Key) -> Iterator[Key]:
    """Yield the key of each value at or below a key that is not a section."""
    value: object = tree
    for step in at:
        value = table(value).get(str(step))
    if isinstance(value, dict):
        for name in table(value):
            yield from _leaf_keys(tree, (*at, name))
    elif value is not None:
        yield at
