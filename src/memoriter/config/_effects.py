"""What each setting does: it acts, it acts under a condition, or memoriter does not include its feature yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from memoriter.config._without_effect import BACKEND, is_without_effect

if TYPE_CHECKING:
    from memoriter.config._section import Key

SEARCH: Key = ("agents", "defaults", "memorySearch")
SERVICE = "the provider is a service"
AGENT = "an agent runs with memoriter: hooks, `memoriter chat`, or a session of the library"
WATCHER = "`memoriter watch` or `memoriter serve` runs, or a program watches with the library"
SESSIONS = '`sources` contains `"sessions"` and `experimental.sessionMemory` is true'

CONDITIONS: dict[Key, str] = {
    ("agents", "defaults", "bootstrapMaxChars"): AGENT,
    ("agents", "defaults", "compaction"): AGENT,
    ("agents", "defaults", "contextTokens"): AGENT,
    ("memory", "qmd", "limits", "maxInjectedChars"): "an agent searches or gets memories before its turn",
    ("memory", "backend"): 'its value is `"builtin"`',
    ("models", "providers"): "`memorySearch.provider`, `fallback` or `memoriter chat` names the service",
    (*SEARCH, "sessionPaths"): SESSIONS,
    (*SEARCH, "experimental", "sessionMemory"): '`sources` contains `"sessions"`',
    (*SEARCH, "fallback"): "the provider fails",
    (*SEARCH, "remote"): SERVICE,
    (*SEARCH, "remote", "batch"): f"{SERVICE} with a batch interface, and many passages are new",
    (*SEARCH, "local"): "the provider is `local` or `onnx`, or `auto` and the model is there",
    (*SEARCH, "store", "driver"): "always: it has one value",
    (*SEARCH, "store", "path"): "the configuration is not OpenClaw's, whose own index is there",
    (*SEARCH, "store", "vector", "extensionPath"): 'the engine is `"sqlite-vec"`',
    (*SEARCH, "sync", "onSessionStart"): AGENT,
    (*SEARCH, "sync", "watch"): "`memoriter serve` runs",
    (*SEARCH, "sync", "watchDebounceMs"): WATCHER,
    (*SEARCH, "sync", "intervalMinutes"): WATCHER,
    (*SEARCH, "sync", "sessions"): SESSIONS,
    (*SEARCH, "query", "hybrid", "vectorWeight"): "`hybrid.enabled` is true",
    (*SEARCH, "query", "hybrid", "textWeight"): "`hybrid.enabled` is true",
    (*SEARCH, "query", "hybrid", "mmr", "lambda"): "`mmr.enabled` is true",
    (*SEARCH, "query", "hybrid", "temporalDecay", "halfLifeDays"): "`temporalDecay.enabled` is true",
    (*SEARCH, "cache", "maxEntries"): "`cache.enabled` is true",
    (*SEARCH, "cache", "maxBytes"): "`cache.enabled` is true",
}
"""The condition of each setting, or section of settings, that does not always act. The longest key counts."""


class Effect(NamedTuple):
    """What a setting does."""

    kind: Literal["acts", "acts when", "not yet"]
    condition: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.condition}".strip()


def effect_of(key: Key) -> Effect:
    """Return what the setting at a key does, such as `("memory", "citations")`."""
    if is_without_effect(key) and key != BACKEND:
        return Effect("not yet")
    plain = tuple(str(step) for step in key)
    known = [at for at in CONDITIONS if plain[: len(at)] == at]
    if not known:
        return Effect("acts")
    return Effect("acts when", CONDITIONS[max(known, key=len)])


def setting_key(row: str) -> Key:
    """Return the key of a row of the table of settings, whose lists are marked by `[]`."""
    return tuple(row.replace("[]", "").split("."))
