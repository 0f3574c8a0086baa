"""What each setting does: it acts, it acts under a condition, or memoriter does not include its feature yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from memoriter.config._section import dotted
from memoriter.config._tree import locate, table
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.config._configuration import Configuration
    from memoriter.config._search import MemorySearch
    from memoriter.config._section import Key
    from memoriter.config._tree import Tree

REMEDY = "Remove what has no effect from the file that `memoriter config path` prints, or keep it for OpenClaw."
SEARCH: Key = ("agents", "defaults", "memorySearch")
LONG_TERM: Key = ("plugins", "entries", "memory-lancedb")
CAPTURE = "`autoCapture` is not false"
SERVICE = "the provider is a service"
AGENT = "an agent runs with memoriter: hooks, or a session of the library"
WATCHER = "`memoriter watch` or `memoriter serve` runs, or a program watches with the library"
SESSIONS = '`sources` contains `"sessions"` and `experimental.sessionMemory` is true'

CONDITIONS: dict[Key, str] = {
    ("agents", "defaults", "bootstrapMaxChars"): AGENT,
    ("agents", "defaults", "compaction"): AGENT,
    ("agents", "defaults", "contextTokens"): AGENT,
    ("memory", "qmd", "limits", "maxInjectedChars"): "an agent searches or gets memories before its turn",
    ("memory", "capture"): "the hooks `post-compact` and `session-end` are installed",
    ("memory", "qmd"): '`memory.backend` is `"qmd"`',
    ("trust", "agent"): AGENT,
    ("models", "providers"): "`memorySearch.provider` or `fallback` names the service",
    LONG_TERM: '`plugins.slots.memory` names `"memory-lancedb"`',
    (*LONG_TERM, "config", "embedding", "apiKey"): "the provider of long-term memories is a service",
    (*LONG_TERM, "config", "embedding", "baseUrl"): "the provider of long-term memories is a service",
    (*LONG_TERM, "config", "storageOptions"): "`dbPath` is a bucket",
    (*LONG_TERM, "config", "captureMaxChars"): CAPTURE,
    (*LONG_TERM, "config", "captureRules"): CAPTURE,
    (*LONG_TERM, "config", "customTriggers"): CAPTURE,
    (*LONG_TERM, "config", "autoAcceptScore"): '`autoCapture` is `"inbox"`',
    (*LONG_TERM, "config", "inboxDays"): '`autoCapture` is `"inbox"`',
    (*SEARCH, "sessionPaths"): SESSIONS,
    (*SEARCH, "experimental", "sessionMemory"): '`sources` contains `"sessions"`',
    (*SEARCH, "fallback"): "the provider fails",
    (*SEARCH, "model"): f"{SERVICE}, or it is a file of `local` or `onnx` and `local.modelPath` is unset",
    (*SEARCH, "remote"): SERVICE,
    (*SEARCH, "remote", "batch"): f"{SERVICE} with a batch interface, and many passages are new",
    (*SEARCH, "local"): "the provider is `local` or `onnx`, or `auto` and the model is there",
    (*SEARCH, "store", "path"): '`store.driver` is `"sqlite"`, and the configuration is not OpenClaw\'s',
    (*SEARCH, "store", "postgres"): '`store.driver` is `"postgres"`',
    (*SEARCH, "sync", "onSessionStart"): AGENT,
    (*SEARCH, "sync", "background"): "a hook, a search or `memoriter mcp` leaves something undone",
    (*SEARCH, "sync", "watch"): "`memoriter serve` runs",
    (*SEARCH, "sync", "watchDebounceMs"): WATCHER,
    (*SEARCH, "sync", "intervalMinutes"): WATCHER,
    (*SEARCH, "sync", "sessions"): SESSIONS,
    (*SEARCH, "query", "maxPerNote"): '`query.scoring` is not `"classic"`',
    (*SEARCH, "query", "rerank"): '`query.scoring` is not `"classic"`, and `query.rerank.provider` is not `"off"`',
    (*SEARCH, "query", "rerank", "provider"): '`query.scoring` is not `"classic"`',
    (*SEARCH, "query", "rerank", "remote"): "the reranker is a service",
    (*SEARCH, "query", "rerank", "local"): "the reranker is `local` or `onnx`",
    (*SEARCH, "query", "hybrid", "vectorWeight"): "`hybrid.enabled` is true",
    (*SEARCH, "query", "hybrid", "textWeight"): "`hybrid.enabled` is true",
    (*SEARCH, "query", "hybrid", "mmr", "lambda"): "`mmr.enabled` is true",
    (*SEARCH, "query", "hybrid", "temporalDecay", "halfLifeDays"): "`temporalDecay.enabled` is true",
    (*SEARCH, "cache", "maxEntries"): "`cache.enabled` is true",
    (*SEARCH, "cache", "maxBytes"): "`cache.enabled` is true",
}
"""The condition of each setting, or section of settings, that does not always act. The longest key counts."""


class Missing(NamedTuple):
    """A feature that memoriter does not include."""

    sections: tuple[Key, ...]
    """The settings or sections of settings that configure it."""
    reason: str


MISSING = (
    Missing((("memory", "qmd", "mcporter"),), "QMD is started without mcporter, as `memory.qmd.transport` says"),
    Missing(((*SEARCH, "store", "vector", "extensionPath"),), "vectors are compared without sqlite-vec"),
)


INDEX_REASON = "it names OpenClaw's own index; memoriter's index is in memoriter's home"
MODEL_REASON = "the provider that the settings name runs another model"
MODEL_REMEDY = "Remove it; `local.modelPath` names the model of `local` and `onnx`."
MEMORY_STEPS = frozenset({"memory", "memorySearch", "memoryFlush", "memory-core", "memory-lancedb"})
"""Parts of the keys that are about memory."""
FOREIGN_REASON = "memoriter has no such setting of memory"


def settings_without_effect(configuration: Configuration) -> tuple[str, ...]:
    """Return the dotted keys of all written settings that configure a missing feature."""
    missing = tuple(key for feature in MISSING for key in _written_keys(configuration, feature))
    return (*missing, *unsupported_keys(configuration), *index_path_keys(configuration), *model_keys(configuration))


def unsupported_keys(configuration: Configuration) -> tuple[str, ...]:
    """Return the dotted keys of memory that OpenClaw has and memoriter has not, such as `outputDimensionality`."""
    return tuple(key for key in configuration.ignored if not MEMORY_STEPS.isdisjoint(key.split(".")))


def index_path_keys(configuration: Configuration) -> tuple[str, ...]:
    """Return the dotted keys of `store.path` in a configuration of OpenClaw."""
    if configuration.state is None:
        return ()
    count = len(configuration.settings.agents.list)
    agents: list[Key] = [("agents", "defaults"), *(("agents", "list", number) for number in range(count))]
    keys = [(*agent, "memorySearch", "store", "path") for agent in agents]
    return tuple(dotted(key) for key in keys if any(locate(each.tree, key)[0] for each in configuration.documents))


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
            keys += [dotted(key)] if any(locate(each.tree, key)[0] for each in configuration.documents) else []
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
    written = (
        (unsupported_keys(configuration), FOREIGN_REASON, REMEDY),
        (model_keys(configuration), MODEL_REASON, MODEL_REMEDY),
        (index_path_keys(configuration), INDEX_REASON, "Keep it: OpenClaw uses it."),
        *_switched_off(configuration.settings.agents.defaults.memory_search),
    )
    others = tuple(
        Diagnostic("settings_without_effect", f"{', '.join(keys)}: no effect, because {reason}.", remedy)
        for keys, reason, remedy in written
        if keys
    )
    unsupported = ((_written_keys(configuration, feature), feature.reason) for feature in MISSING)
    missing = tuple(
        Diagnostic("settings_without_effect", f"{', '.join(keys)}: no effect, because {reason}.", REMEDY)
        for keys, reason in unsupported
        if keys
    )
    return (*missing, *others)


def is_without_effect(key: Key) -> bool:
    """Return whether the setting at a key has no effect."""
    return any(key[: len(at)] == at for feature in MISSING for at in feature.sections)


def _written_keys(configuration: Configuration, feature: Missing) -> list[str]:
    """Return the dotted keys of a feature that some document contains. A list counts as one setting."""
    keys = dict.fromkeys(
        key for document in configuration.documents for at in feature.sections for key in _leaf_keys(document.tree, at)
    )
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


class Effect(NamedTuple):
    """What a setting does."""

    kind: Literal["acts", "acts when", "not yet"]
    condition: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.condition}".strip()


def effect_of(key: Key) -> Effect:
    """Return what the setting at a key does, such as `("memory", "citations")`."""
    if is_without_effect(key):
        return Effect("not yet")
    plain = tuple(str(step) for step in key)
    known = [at for at in CONDITIONS if plain[: len(at)] == at]
    if not known:
        return Effect("acts")
    return Effect("acts when", CONDITIONS[max(known, key=len)])


def setting_key(row: str) -> Key:
    """Return the key of a row of the table of settings, whose lists are marked by `[]`."""
    return tuple(row.replace("[]", "").split("."))
