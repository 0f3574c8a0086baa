"""What each setting does: it acts, it acts under a condition, or memoriter does not include its feature yet."""

from __future__ import annotations

from typing import Literal, NamedTuple

from memoriter.config import Configuration
from memoriter.config._effects import missing_features
from memoriter.config._section import SEARCH, all_sections

Key = tuple[str, ...]
LONG_TERM: Key = ("plugins", "entries", "memory-lancedb")
FEATURES = missing_features(Configuration(extensions=all_sections()))
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
    ("memory", "tidy"): "`memoriter tidy` or `memoriter review --tidy` runs, and `tidy.model` is set",
    ("memory", "tidy", "model"): "`memoriter tidy` or `memoriter review --tidy` runs",
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


class Effect(NamedTuple):
    """What a setting does."""

    kind: Literal["acts", "acts when", "not yet"]
    condition: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.condition}".strip()


def effect_of(key: Key) -> Effect:
    """Return what the setting at a key does, such as `("memory", "citations")`."""
    plain = tuple(str(step) for step in key)
    if any(plain[: len(feature.key)] == feature.key for feature in FEATURES):
        return Effect("not yet")
    known = [at for at in CONDITIONS if plain[: len(at)] == at]
    if not known:
        return Effect("acts")
    return Effect("acts when", CONDITIONS[max(known, key=len)])


def setting_key(row: str) -> Key:
    """Return the key of a row of the table of settings, whose lists are marked by `[]`."""
    return tuple(row.replace("[]", "").split("."))
