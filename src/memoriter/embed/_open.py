"""A choice, opened: the one place that knows how each kind of provider begins."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from memoriter.embed._registry import open_provider, spec_of
from memoriter.errors import ProviderUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.embed._choice import Choice, ProviderSettings
    from memoriter.embed._provider import EmbeddingProvider
    from memoriter.embed.remote._batch_run import BatchRun, BatchStore
    from memoriter.embed.remote._batch_state import BatchRules
    from memoriter.embed.remote._breaker import BreakerState
    from memoriter.embed.remote._remote import RemoteProvider, UsageRecorder
    from memoriter.embed.remote._remote_settings import RemoteSettings
    from memoriter.errors import EmbeddingError
    from memoriter.types import ModelSpec


class KeyValueStore(Protocol):
    """Where a service's provider keeps what the next process must know."""

    def get(self, name: str) -> str | None: ...
    def set(self, name: str, value: str) -> None: ...
    def swap(self, name: str, old: str, new: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class ProviderContext:
    """What providers need of the world."""

    wall: Callable[[], float]
    """Seconds since 1970."""
    monotonic: Callable[[], float]
    sleep: Callable[[float], object]
    random: Callable[[], float]
    """A number in 0..1."""
    store: KeyValueStore
    left: Callable[[], float] | None = None
    """Seconds that whoever asks now will wait."""
    downloading: Callable[[int, int | None], None] | None = None
    """Bytes of a model that are here, and of all of it where that is known."""


def spec_at_hand(choice: Choice, settings: ProviderSettings, outside: ProviderContext) -> ModelSpec | None:
    """The model of a choice, if it can be known without asking or loading anything.

    Raises:
        EmbeddingError: the provider cannot be used; the message says why.
    """
    match choice.kind:
        case "none":
            return None
        case "bundled" | "fake":
            return spec_of(choice.kind)
        case "local":
            return _local_spec(settings)
        case "onnx":
            from memoriter.embed.local._onnx import onnx_spec

            return onnx_spec(Path(settings.local_model), cache_dir=settings.cache_dir)
        case "remote":
            provider = _remote(choice, outside, None)
            return provider.spec if provider.settings.dimensions or provider.known else None


def refusal_of(choice: Choice, outside: ProviderContext) -> EmbeddingError | None:
    """Why a service is not asked for a while; None where it would be. Nothing is sent."""
    return _remote(choice, outside, None).guard.refusal() if choice.kind == "remote" else None


def _local_spec(settings: ProviderSettings) -> ModelSpec | None:
    from memoriter.embed.local._gguf import gguf_spec
    from memoriter.embed.local._local_model import file_at_hand

    file = file_at_hand(settings.local_model, settings.downloads)
    return gguf_spec(file, cache_dir=settings.cache_dir) if file else None


def open_choice(
    choice: Choice,
    settings: ProviderSettings,
    outside: ProviderContext,
    account: UsageRecorder | None = None,
    *,
    anew: bool = False,
) -> EmbeddingProvider:
    """The provider, ready to embed; a service whose model nobody knows is asked once, a model of the hub downloaded.

    `anew`: what the service has told of its model before does not count.

    Raises:
        EmbeddingError: it cannot be used now; the message says why, the remedy what to do.
        ConfigError: what is said of it does not fit.
    """
    match choice.kind:
        case "none":
            raise ProviderUnavailable("no embedding provider is configured", remedy="set memorySearch.provider")
        case "bundled" | "fake":
            return open_provider(choice.kind, cache_dir=settings.cache_dir)
        case "local":
            from memoriter.embed.local._hub import HUB
            from memoriter.embed.local._local_model import open_local

            return open_local(
                settings.local_model,
                cache_dir=settings.cache_dir,
                model_cache_dir=settings.downloads,
                hub=settings.environ.get("HF_ENDPOINT") or HUB,
                token=settings.environ.get("HF_TOKEN"),
                offline=settings.offline,
                progress=outside.downloading,
            )
        case "onnx":
            from memoriter.embed.local._onnx import open_onnx

            return open_onnx(Path(settings.local_model), cache_dir=settings.cache_dir)
        case "remote":
            provider = _remote(choice, outside, account, anew=anew)
            try:
                _remember(provider, outside.store)
            except BaseException:
                provider.close()
                raise
            return provider


def batch_of(
    provider: EmbeddingProvider,
    store: BatchStore,
    outside: ProviderContext,
    rules: BatchRules,
    account: UsageRecorder | None = None,
) -> BatchRun | None:
    """The batch interface of an opened provider; None where its service has none."""
    from memoriter.embed.remote._batch_run import BatchRun, batch_vendors
    from memoriter.embed.remote._remote import RemoteProvider

    if not isinstance(provider, RemoteProvider) or provider.settings.vendor not in batch_vendors():
        return None
    return BatchRun(
        provider, provider.http, store, wall=outside.wall, sleep=outside.sleep, rules=rules, account=account
    )


def _remote(
    choice: Choice, outside: ProviderContext, account: UsageRecorder | None, *, anew: bool = False
) -> RemoteProvider:
    from memoriter.embed.remote._guard import owner_of
    from memoriter.embed.remote._http import HttpClient
    from memoriter.embed.remote._remote import RemoteProvider

    assert choice.remote is not None
    http = HttpClient(
        clock=outside.monotonic, sleep=outside.sleep, random=outside.random, offline=choice.remote.offline
    )
    told = choice.remote if anew else _remembered(choice.remote, choice.endpoint, outside.store)
    owner = owner_of((choice.endpoint, *choice.remote.secrets))
    keeper = _Breakers(f"breaker:{choice.remote.vendor}:{choice.endpoint}:{owner}", outside.store)
    return RemoteProvider(told, http, wall=outside.wall, breakers=keeper, account=account, left=outside.left)


def _name(settings: RemoteSettings, endpoint: str) -> str:
    return f"model:{settings.vendor}:{endpoint}:{settings.model}"


def _remembered(settings: RemoteSettings, endpoint: str, notebook: KeyValueStore) -> RemoteSettings:
    """The settings with what the service has told of the model before."""
    kept = notebook.get(_name(settings, endpoint))
    try:
        told: Any = json.loads(kept) if kept else {}
        dimensions, (mean, deviation) = int(told["dimensions"]), told["background"]
        return replace(settings, dimensions=dimensions, background=(float(mean), float(deviation)))
    except (ValueError, TypeError, KeyError):
        return settings


def _remember(provider: RemoteProvider, notebook: KeyValueStore) -> None:
    """Ask a model that nobody knows for its dimensions, and keep them: the next process asks nothing."""
    if provider.settings.dimensions or provider.known:
        return
    told, asked = provider.resolve(), provider.asked
    notebook.set(
        _name(asked, provider.spec.endpoint),
        json.dumps({"dimensions": told.dimensions, "background": told.background}),
    )


class _Breakers:
    """A breaker, kept in a notebook."""

    def __init__(self, name: str, notebook: KeyValueStore) -> None:
        self._name, self._notebook = name, notebook

    def load(self) -> BreakerState:
        from memoriter.embed.remote._breaker import BreakerState

        return BreakerState.from_json(self._notebook.get(self._name) or "")

    def save(self, breaker: BreakerState) -> None:
        self._notebook.set(self._name, breaker.to_json())

    def swap(self, old: BreakerState, new: BreakerState) -> bool:
        return self._notebook.swap(self._name, old.to_json(), new.to_json())
