"""The settings of a file that have no effect, with the reason and the remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memoriter.config._document import table
from memoriter.config._section import SEARCH, dotted
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.config._configuration import Configuration
    from memoriter.config._document import Tree
    from memoriter.config._schema import MemorySearch
    from memoriter.config._section import Key

REMEDY = "Remove what has no effect from the file that `memoriter config path` prints, or keep it for OpenClaw."


class Missing(NamedTuple):
    """A feature that memoriter does not include."""

    key: Key
    """The setting or section of settings that configures it."""
    reason: str


MISSING = (Missing((*SEARCH, "store", "vector", "extensionPath"), "vectors are compared without sqlite-vec"),)


INDEX_REASON = "it names OpenClaw's own index; memoriter's index is in memoriter's home"
MODEL_REASON = "the provider that the settings name runs another model"
MODEL_REMEDY = "Remove it; `local.modelPath` names the model of `local` and `onnx`."
MEMORY_STEPS = frozenset({"memory", "memorySearch", "memoryFlush"})
"""Parts of the keys that are about memory, besides the names of OpenClaw's plugins, which begin with `memory-`."""
FOREIGN_REASON = "memoriter has no such setting of memory"


def missing_features(configuration: Configuration) -> tuple[Missing, ...]:
    """Return the features that memoriter and the configured extensions do not include."""
    of_extensions = (
        Missing((*at, *name.split(".")), reason)
        for at, section in configuration.extensions.items()
        for name, reason in section.without_effect.items()
    )
    return (*of_extensions, *MISSING)


def settings_without_effect(configuration: Configuration) -> tuple[str, ...]:
    """Return the dotted keys of all written settings that configure a missing feature."""
    missing = tuple(key for feature in missing_features(configuration) for key in _written_keys(configuration, feature))
    return (*missing, *unsupported_keys(configuration), *index_path_keys(configuration), *model_keys(configuration))


def unsupported_keys(configuration: Configuration) -> tuple[str, ...]:
    """Return the dotted keys of memory that OpenClaw has and memoriter has not, such as `outputDimensionality`."""

    def is_about_memory(step: str) -> bool:
        return step in MEMORY_STEPS or step.startswith("memory-")

    return tuple(key for key in configuration.ignored if any(map(is_about_memory, key.split("."))))


def index_path_keys(configuration: Configuration) -> tuple[str, ...]:
    """Return the dotted keys of `store.path` in a configuration of OpenClaw."""
    if configuration.state is None:
        return ()
    count = len(configuration.settings.agents.list)
    agents: list[Key] = [("agents", "defaults"), *(("agents", "list", number) for number in range(count))]
    keys = [(*agent, "memorySearch", "store", "path") for agent in agents]
    return tuple(dotted(key) for key in keys if configuration.is_written(key))


def names_file(model: str) -> bool:
    """Return whether the name of a model is a path, or an address of the hub (`hf:…`), and not a service's name."""
    name = model.strip().lower()
    return name.startswith(("/", "~", ".", "hf:")) or name.endswith((".gguf", ".onnx"))


def model_keys(configuration: Configuration) -> tuple[str, ...]:
    """Return the dotted keys of `model` for which the provider is named and runs another model."""
    agents = configuration.settings.agents
    places: list[tuple[Key, MemorySearch]] = [(("agents", "defaults"), agents.defaults.memory_search)]
    places += [
        (("agents", "list", number), agent.memory_search)
        for number, agent in enumerate(agents.list)
        if agent.memory_search is not None
    ]
    keys = list[str]()
    for agent, search in places:
        provider = search.provider.strip()
        key = (*agent, "memorySearch", "model")
        runs_file = provider in {"local", "onnx"} and search.local.model_path is None and names_file(search.model)
        if provider in {"bundled", "none", "local", "onnx"} and search.model and not runs_file:
            keys += [dotted(key)] if configuration.is_written(key) else []
    return tuple(keys)


def _switched_off(search: MemorySearch) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Yield settings that another setting keeps from acting, with the reason and the remedy."""
    if "sessions" in search.sources and not search.experimental.session_memory:
        remedy = 'Set experimental.sessionMemory to true, or leave out "sessions".'
        yield (f'{dotted((*SEARCH, "sources"))} ("sessions")',), "experimental.sessionMemory is not true", remedy
    if search.sync.interval_minutes and not search.sync.watch:
        remedy = "Set sync.watch to true, or run `memoriter watch`."
        yield (dotted((*SEARCH, "sync", "intervalMinutes")),), "sync.watch is off, and no server watches", remedy


def effect_diagnostics(configuration: Configuration) -> tuple[Diagnostic, ...]:
    """Return a diagnostic for each missing feature that the configuration has settings for."""
    features = missing_features(configuration)
    written = (
        *((_written_keys(configuration, feature), feature.reason, REMEDY) for feature in features),
        (unsupported_keys(configuration), FOREIGN_REASON, REMEDY),
        (model_keys(configuration), MODEL_REASON, MODEL_REMEDY),
        (index_path_keys(configuration), INDEX_REASON, "Keep it: OpenClaw uses it."),
        *_switched_off(configuration.settings.agents.defaults.memory_search),
    )
    return tuple(
        Diagnostic("settings_without_effect", f"{', '.join(keys)}: no effect, because {reason}.", remedy)
        for keys, reason, remedy in written
        if keys
    )


def _written_keys(configuration: Configuration, feature: Missing) -> list[str]:
    """Return the dotted keys of a feature that some document contains. A list counts as one setting."""
    keys = dict.fromkeys(key for document in configuration.documents for key in _leaf_keys(document.tree, feature.key))
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
