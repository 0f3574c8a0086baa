"""The registry of providers: the only place that knows how each kind of provider is created and opened."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoriter.embed import _fake
from memoriter.embed.bundled import _bundled, _questions
from memoriter.errors import ConfigError, ProviderUnavailable
from memoriter.ids import fingerprint
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed._choice import Choice, ProviderSettings
    from memoriter.embed._provider import EmbeddingProvider
    from memoriter.embed.remote import RemoteProvider, RemoteSettings, UsageRecorder
    from memoriter.embed.remote.batch import BatchRules, BatchRun, BatchStore
    from memoriter.errors import EmbeddingError
    from memoriter.service_guard import KeyValueStore
    from memoriter.types import ModelSpec


@dataclass(frozen=True, slots=True)
class _Row:
    spec: ModelSpec
    open: Callable[[Path, int | None], EmbeddingProvider]


_PROVIDERS = {
    "bundled": _Row(_bundled.SPEC, _bundled.open_bundled),
    "fake": _Row(_fake.SPEC, _fake.open_fake),
}


def provider_names() -> tuple[str, ...]:
    """Return the names that `open_provider` accepts, in alphabetical order."""
    return tuple(sorted(_PROVIDERS))


def spec_of(name: str) -> ModelSpec:
    """Return the model of a provider, without loading it.

    Raises:
        ConfigError: the provider does not exist.
    """
    return _row(name).spec


def question_centres(spec: ModelSpec) -> Mapping[str, NDArray[np.float32]]:
    """Return the mean vectors (dims,) of general questions by script; none for a model where they are not known."""
    return _questions.question_centres() if fingerprint(spec) == fingerprint(_bundled.SPEC) else {}


def open_provider(name: str, *, cache_dir: Path, threads: int | None = None) -> EmbeddingProvider:
    """Return the provider, ready to embed. Its model is loaded at the first use.

    Args:
        name: one of `provider_names()`.
        cache_dir: may not exist yet; everything in it can be deleted.
        threads: the maximum to use; by default one per core, up to 8.

    Raises:
        ConfigError: the provider does not exist.
        ProviderUnavailable: it cannot run here; the message gives the reason, the remedy the next step.
    """
    return _row(name).open(cache_dir, threads)


def _row(name: str) -> _Row:
    if name not in _PROVIDERS:
        names = ", ".join(provider_names())
        raise ConfigError(f"There is no embedding provider {name!r}.", remedy=f"Choose one of: {names}.")
    return _PROVIDERS[name]


@dataclass(frozen=True, slots=True)
class ProviderContext:
    """The clocks, storage and callbacks that providers need."""

    wall: Callable[[], float]
    """Seconds since 1970."""
    monotonic: Callable[[], float]
    sleep: Callable[[float], object]
    random: Callable[[], float]
    """A number in 0..1."""
    store: KeyValueStore
    downloading: Callable[[int, int | None], None] | None = None
    """Called with the bytes of a model received so far and the total, if known."""


def spec_at_hand(choice: Choice, settings: ProviderSettings, outside: ProviderContext) -> ModelSpec | None:
    """Return the model of a choice, or None if finding out needs a request or a loaded model.

    Raises:
        EmbeddingError: the provider cannot be used; the message gives the reason.
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
            provider = _create_remote(choice, outside, None)
            return provider.spec if provider.settings.dimensions or provider.known else None


def refusal_of(choice: Choice, outside: ProviderContext) -> EmbeddingError | None:
    """Return why no request to the service is allowed for now, or None if one is. This sends nothing."""
    return _create_remote(choice, outside, None).guard.refusal() if choice.kind == "remote" else None


def _local_spec(settings: ProviderSettings) -> ModelSpec | None:
    from memoriter.embed.local._gguf import gguf_spec
    from memoriter.embed.local._hub import local_file

    file = local_file(settings.local_model, settings.downloads)
    return gguf_spec(file, cache_dir=settings.cache_dir) if file else None


def open_choice(
    choice: Choice,
    settings: ProviderSettings,
    outside: ProviderContext,
    account: UsageRecorder | None = None,
    *,
    ignore_stored: bool = False,
) -> EmbeddingProvider:
    """Return the provider, ready to embed.

    A service with an unknown model gets one request; a model of the hub is downloaded. With
    `ignore_stored`, what is stored about the model of a service is not used.

    Raises:
        EmbeddingError: the provider cannot be used now; the message gives the reason, the remedy the next step.
        ConfigError: the settings do not fit together.
    """
    match choice.kind:
        case "none":
            raise ProviderUnavailable("No embedding provider is configured.", remedy="Set memorySearch.provider.")
        case "bundled" | "fake":
            return open_provider(choice.kind, cache_dir=settings.cache_dir)
        case "local":
            return _open_local(settings, outside.downloading)
        case "onnx":
            from memoriter.embed.local._onnx import open_onnx

            return open_onnx(Path(settings.local_model), cache_dir=settings.cache_dir)
        case "remote":
            provider = _create_remote(choice, outside, account, ignore_stored=ignore_stored)
            try:
                _store_model(provider, outside.store)
            except BaseException:
                provider.close()
                raise
            return provider


def _open_local(settings: ProviderSettings, downloading: Callable[[int, int | None], None] | None) -> EmbeddingProvider:
    """Return the model of a GGUF file or of an `hf:` address; download it if it is missing."""
    from memoriter.embed.local._gguf import open_gguf
    from memoriter.embed.local._hub import HUB, is_model_uri
    from memoriter.embed.local._llama import usable_package

    usable_package()  # before anything large is downloaded
    file = Path(settings.local_model)
    if is_model_uri(settings.local_model):
        from memoriter.embed.local._download import download_model

        file = download_model(
            settings.local_model,
            model_cache_dir=settings.downloads,
            hub=settings.environ.get("HF_ENDPOINT") or HUB,
            token=settings.environ.get("HF_TOKEN"),
            offline=settings.offline,
            progress=downloading,
        )
    return open_gguf(file, cache_dir=settings.cache_dir)


def batch_of(
    provider: EmbeddingProvider,
    store: BatchStore,
    outside: ProviderContext,
    rules: BatchRules,
    account: UsageRecorder | None = None,
) -> BatchRun | None:
    """Return the batch interface of an opened provider, or None if its service has none."""
    from memoriter.embed.remote import RemoteProvider
    from memoriter.embed.remote.batch import BatchRun, batch_vendors

    if not isinstance(provider, RemoteProvider) or provider.settings.vendor not in batch_vendors():
        return None
    return BatchRun(
        provider, provider.http, store, wall=outside.wall, sleep=outside.sleep, rules=rules, account=account
    )


def _create_remote(
    choice: Choice, outside: ProviderContext, account: UsageRecorder | None, *, ignore_stored: bool = False
) -> RemoteProvider:
    from memoriter.embed.remote import HttpClient, RemoteProvider

    assert choice.remote is not None
    http = HttpClient(
        clock=outside.monotonic, sleep=outside.sleep, random=outside.random, offline=choice.remote.offline
    )
    settings = choice.remote if ignore_stored else _with_stored_model(choice.remote, choice.endpoint, outside.store)
    return RemoteProvider(settings, http, wall=outside.wall, store=outside.store, account=account)


def _model_key(settings: RemoteSettings, endpoint: str) -> str:
    return f"model:{settings.vendor}:{endpoint}:{settings.model}"


def _with_stored_model(settings: RemoteSettings, endpoint: str, store: KeyValueStore) -> RemoteSettings:
    """Return the settings, completed with the stored properties of the model."""
    text = store.get(_model_key(settings, endpoint))
    try:
        stored: Any = json.loads(text) if text else {}
        dimensions = int(stored["dimensions"])
        mean, deviation = stored["background"]
        return replace(settings, dimensions=dimensions, background=(float(mean), float(deviation)))
    except (ValueError, TypeError, KeyError):
        return settings


def _store_model(provider: RemoteProvider, store: KeyValueStore) -> None:
    """Probe an unknown model and store its properties, so that the next process sends no request."""
    if provider.settings.dimensions or provider.known:
        return
    spec = provider.resolve()
    settings = provider.requested
    store.set(
        _model_key(settings, provider.spec.endpoint),
        json.dumps({"dimensions": spec.dimensions, "background": spec.background}),
    )
