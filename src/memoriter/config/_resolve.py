"""From what was written to what holds: values are brought into their ranges the way OpenClaw does it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.config._search import Hybrid, TemporalDecay
from memoriter.providers import AUTO, DEFAULT_LOCAL_MODEL, default_model

if TYPE_CHECKING:
    from memoriter.config._search import Chunking, ExtraPathSetting, MemorySearch, RemoteSection, SessionSync
    from memoriter.types import SourceKind

ELSEWHERE = ("bedrock", "deepinfra", "github-copilot")
"""Providers that a later OpenClaw has; such a configuration loads, and the provider says that it is not here."""

WEIGHTS = (0.7, 0.3)
"""OpenClaw's shares of meaning and words: the other one's value when only one is given."""


def resolved(search: MemorySearch) -> MemorySearch:
    """The settings in force: numbers within their ranges, sources that are allowed, the provider's model."""
    return replace(
        search,
        sources=sources(search.sources, sessions=search.experimental.session_memory),
        extra_paths=distinct(search.extra_paths),
        model=search.model or default_model(search.provider),
        remote=remote(search.remote),
        chunking=chunking(search.chunking),
        sync=replace(search.sync, sessions=session_sync(search.sync.sessions)),
        query=replace(
            search.query, min_score=clamped(search.query.min_score, 0.0, 1.0), hybrid=hybrid(search.query.hybrid)
        ),
        cache=replace(search.cache, max_entries=max(1, search.cache.max_entries)),
    )


def default_local_model(search: MemorySearch) -> str | None:
    """Return the model of the provider `local` if the settings name none: the one that OpenClaw downloads."""
    chosen = search.provider.strip() == "local" or (search.fallback.strip() == "local" and search.provider != AUTO)
    return DEFAULT_LOCAL_MODEL if chosen else None


def clamped(value: float, low: float, high: float) -> float:
    return min(high, max(low, value))


def sources(given: tuple[SourceKind, ...], *, sessions: bool) -> tuple[SourceKind, ...]:
    """`sessions` counts only with `experimental.sessionMemory`; nothing left means notes."""
    return tuple(dict.fromkeys(kind for kind in given if kind != "sessions" or sessions)) or ("memory",)


def distinct(paths: tuple[ExtraPathSetting, ...]) -> tuple[ExtraPathSetting, ...]:
    trimmed = (replace(entry, path=entry.path.strip()) for entry in paths)
    return tuple(dict.fromkeys(entry for entry in trimmed if entry.path))


def remote(given: RemoteSection) -> RemoteSection:
    return replace(given, batch=replace(given.batch, concurrency=max(1, given.batch.concurrency)))


def chunking(given: Chunking) -> Chunking:
    tokens = max(1, given.tokens)
    return replace(given, tokens=tokens, overlap=min(max(0, given.overlap), tokens - 1))


def session_sync(given: SessionSync) -> SessionSync:
    return replace(given, delta_bytes=max(0, given.delta_bytes), delta_messages=max(0, given.delta_messages))


def hybrid(given: Hybrid) -> Hybrid:
    vector, text = weights(given.vector_weight, given.text_weight)
    decay = given.temporal_decay
    return Hybrid(
        enabled=given.enabled,
        vector_weight=vector,
        text_weight=text,
        candidate_multiplier=min(20, max(1, given.candidate_multiplier)),
        mmr=replace(given.mmr, lambda_=clamped(given.mmr.lambda_, 0.0, 1.0)),
        temporal_decay=TemporalDecay(enabled=decay.enabled, half_life_days=max(1, decay.half_life_days)),
    )


def weights(vector: float | None, text: float | None) -> tuple[float | None, float | None]:
    """Shares that add up to 1; both stay unset when neither is given."""
    if vector is None and text is None:
        return None, None
    shares = [
        clamped(usual if share is None else share, 0.0, 1.0)
        for share, usual in zip((vector, text), WEIGHTS, strict=True)
    ]
    total = sum(shares)
    return (shares[0] / total, shares[1] / total) if total > 0 else WEIGHTS
