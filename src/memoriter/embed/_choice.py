"""Select the provider and its key, from the configuration and from what is available, know its price, and open it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from memoriter.config import in_home
from memoriter.embed._fake import FakeProvider
from memoriter.embed.bundled import _bundled
from memoriter.embed.local._hub import HUB, is_downloaded, is_model_uri, local_file
from memoriter.errors import ConfigError, ProviderUnavailable
from memoriter.extras import install_command, missing_packages
from memoriter.ids import fingerprint
from memoriter.providers import ALIASES, AUTO, AUTO_SERVICE, BY_NAME, FREE, NONE, OPENAI_COMPATIBLE, PROCESS, REMOTE
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed._provider import EmbeddingProvider
    from memoriter.embed.remote import RemoteProvider, RemoteSettings, UsageRecorder
    from memoriter.embed.remote._vendor import Price
    from memoriter.embed.remote.batch import BatchRules, BatchRun, BatchStore
    from memoriter.errors import EmbeddingError
    from memoriter.service_guard import KeyValueStore
    from memoriter.types import ModelSpec

Kind = Literal["none", "bundled", "fake", "local", "onnx", "remote"]
_SPECS = {"bundled": _bundled.SPEC, "fake": FakeProvider.spec}
"""The models of the providers that come with memoriter."""


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """A service as the settings describe it: an entry of `models.providers`, or a section `remote`."""

    base_url: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)
    api: str = ""
    """`ollama`, another vendor's name, or empty for OpenAI's interface."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    problem: ConfigError | None = None
    """The error in the description, such as a variable that is not set; raised when the service is selected."""


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """The settings of all providers, with `${NAME}` and `~` already replaced."""

    cache_dir: Path
    """Folder for files that can be created again."""
    name: str = AUTO
    model: str = ""
    fallback: str = NONE
    remote: ServiceConfig = field(default_factory=ServiceConfig)
    """The address, key and headers of `memorySearch.remote`, for the first provider."""
    services: Mapping[str, ServiceConfig] = field(default_factory=dict[str, ServiceConfig])
    local_model: str = ""
    """A GGUF file, an `hf:` address, or a folder with an ONNX export."""
    model_cache_dir: Path | None = None
    """Where downloaded models are kept; `cache_dir` if unset."""
    offline: bool = False
    found_keys: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]], repr=False)
    """Keys of vendors that were found elsewhere, with the place; they count only for a provider that is named."""
    environ: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    @property
    def downloads(self) -> Path:
        return self.model_cache_dir or self.cache_dir


@dataclass(frozen=True, slots=True)
class Choice:
    """One provider, ready to be opened."""

    name: str
    """The name in the configuration."""
    kind: Kind
    remote: RemoteSettings | None = None
    endpoint: str = ""
    """The address that text is sent to, without anything secret; empty if it stays in this process."""
    leaves_machine: bool = False
    metered: bool = False
    """Whether use may cost money."""
    key_source: str = ""
    """The source of the key, for messages."""
    vendor: str = ""
    model: str = ""
    official_endpoint: bool = False
    """Whether it is the vendor's own service, for which its prices are valid."""


def model_place(written: str, user_home: Path) -> str:
    """`local.modelPath` with `~` replaced; an address of the hub stays as it is."""
    return written if not written or is_model_uri(written) else str(in_home(written, user_home))


def provider_choices(settings: ProviderSettings) -> tuple[str, ...]:
    """Return every provider name that these settings allow."""
    return (AUTO, NONE, *sorted({*PROCESS, *REMOTE, *OPENAI_COMPATIBLE, *settings.services}))


def choose(settings: ProviderSettings) -> Choice:
    """Return the provider that the settings select. `auto` becomes the first one that is available.

    Raises:
        ConfigError: the provider does not exist, or its settings are invalid.
        ProviderUnavailable: it cannot be used here, such as a service where `offline` is set.
    """
    return _choice(_first(settings), settings, own=True)


def choose_fallback(settings: ProviderSettings) -> Choice | None:
    """Return the configured fallback provider, or None. Raises the same errors as `choose`.

    `memorySearch.model` belongs to the first provider, and so does `remote`, unless the first provider is no service.
    """
    name = settings.fallback.strip()
    if name in {"", NONE}:
        return None
    return _choice(_automatic(settings) if name == AUTO else name, settings, own=False)


def _automatic(settings: ProviderSettings) -> str:
    """Return the provider that `auto` selects.

    A key in the environment or in `models.providers` may be meant for something else, such as the model of an agent, so
    it never sends notes away: only `memorySearch.remote.apiKey` does.
    """
    if settings.local_model and _is_there(settings):
        return "local"
    has_key = bool(settings.remote.api_key.strip()) and not missing_packages("remote")
    return AUTO_SERVICE if has_key and not settings.offline else "bundled"


def _is_there(settings: ProviderSettings) -> bool:
    if is_model_uri(settings.local_model):
        return not settings.offline or is_downloaded(settings.local_model, settings.downloads)
    return Path(settings.local_model).exists()


def _choice(name: str, settings: ProviderSettings, *, own: bool) -> Choice:
    if name == NONE:
        return Choice(NONE, "none")
    if name in {"bundled", "fake"}:
        return Choice(name, "bundled" if name == "bundled" else "fake")
    if name in {"local", "onnx"}:
        return _of_a_file(name, settings)
    if name in settings.services or name in REMOTE or name in OPENAI_COMPATIBLE:
        return _of_a_service(name, settings, own=own)
    raise ConfigError(
        f"There is no embedding provider {name!r}; only keyword search works.",
        remedy=f"Set memorySearch.provider to one of: {', '.join(provider_choices(settings))}.",
    )


def _of_a_file(name: str, settings: ProviderSettings) -> Choice:
    model = settings.local_model
    if not model:
        what = "a GGUF file or an hf: address" if name == "local" else "a folder with model.onnx and tokenizer.json"
        raise ConfigError(
            f"The setting memorySearch.provider is {name!r}, but no model is named.",
            remedy=f"Set local.modelPath to {what}.",
        )
    exported = Path(model).is_dir() or model.endswith(".onnx")
    return Choice(name, "onnx" if name == "onnx" or exported else "local")


def _of_a_service(name: str, settings: ProviderSettings, *, own: bool) -> Choice:
    from memoriter.embed.remote import RemoteSettings, is_local_network, is_loopback, vendor_of

    # Another name of a service, and keys from elsewhere, count only for a service that the settings name.
    named = (settings.name if own else settings.fallback).strip() not in {"", AUTO}
    entry = ALIASES.get(name, name) if named and name not in settings.services else name
    service = settings.services.get(entry, ServiceConfig())
    # What `remote` says is about the only service: a key is never sent to another address than the one beside it.
    addressed = own or _first(settings) in {*PROCESS, NONE}
    problem = (settings.remote.problem if addressed else None) or service.problem
    if problem is not None:
        raise problem
    if missing := missing_packages("remote"):
        raise ProviderUnavailable(
            f"The provider {name!r} needs the extra 'remote': {', '.join(missing)} is not installed.",
            remedy=f"Run `{install_command('remote')}`.",
        )
    vendor = _vendor(name, service)
    base_url = (settings.remote.base_url if addressed else "") or service.base_url or OPENAI_COMPATIBLE.get(name, "")
    if name not in REMOTE and not base_url:
        raise ConfigError(
            f"The service {name!r} has no address.",
            remedy="Set memorySearch.remote.baseUrl, such as https://host/v1.",
        )
    spoken = vendor_of(vendor)
    endpoint = spoken.address(base_url) if base_url else spoken.base_url
    official = endpoint == spoken.base_url
    # The variables of a vendor, and its keys from elsewhere, are never sent to another address.
    variables = BY_NAME[name].key_variables if official and name in BY_NAME else ()
    key, key_source = first_key(
        (settings.remote.api_key if addressed else "", "remote.apiKey"),
        (service.api_key, f"models.providers.{entry}.apiKey"),
        *((settings.environ.get(variable, ""), f"environment {variable}") for variable in variables),
        settings.found_keys.get(name, ("", "")) if official and named else ("", ""),
    )
    leaves = not is_loopback(endpoint)
    if settings.offline and leaves:
        raise ProviderUnavailable(
            f"The provider {name!r} is at {endpoint}, and memorySearch.offline forbids the network.",
            remedy="Set memorySearch.provider to bundled to stay on this machine.",
        )
    remote = RemoteSettings(
        vendor=vendor,
        model=settings.model if own else "",
        base_url=base_url,
        api_key=key,
        headers={**service.headers, **(settings.remote.headers if addressed else {})},
        offline=settings.offline,
    )
    return Choice(
        name,
        "remote",
        remote,
        endpoint,
        leaves,
        metered=not is_local_network(endpoint),
        key_source=key_source,
        vendor=vendor,
        model=spoken.resolved(remote).model,
        official_endpoint=official,
    )


def _vendor(name: str, service: ServiceConfig) -> str:
    if name in REMOTE:
        return name
    api = service.api.strip().lower()
    spoken = next((vendor for vendor in sorted(REMOTE) if api == vendor or api.startswith(f"{vendor}-")), "")
    return spoken or ("gemini" if api.startswith("google") else "openai")


def _first(settings: ProviderSettings) -> str:
    """Return the name of the first provider."""
    name = settings.name.strip() or AUTO
    return _automatic(settings) if name == AUTO else name


def first_key(*sources: tuple[str, str]) -> tuple[str, str]:
    """Return the first key that is set, and its source for messages; two empty texts if there is none."""
    return next(((key.strip(), source) for key, source in sources if key.strip()), ("", ""))


def price_row(provider: str, model: str) -> Price | None:
    """Return the known price of a model, or None. Free tiers and discounts of an account are left out."""
    from memoriter.embed.remote import rerank_vendor_of, rerank_vendors, vendor_of

    row = vendor_of(provider).prices.get(model) if provider in REMOTE else None
    return row or (rerank_vendor_of(provider).prices.get(model) if provider in rerank_vendors() else None)


def price_of(provider: str, model: str, tokens: int, *, batch: bool = False) -> float | None:
    """Return US dollars for one request of so many tokens; None if the price is unknown, which is not the same as free.

    The price is the vendor's own: a model of the same name at another address may cost something else.
    """
    if provider in FREE:
        return 0.0
    row = price_row(provider, model)
    if row is None:
        return None
    rate = row.batch if batch and row.batch is not None else row.plain
    return row.request + rate * tokens / 1_000_000


def provider_names() -> tuple[str, ...]:
    """Return the names that `open_provider` accepts, in alphabetical order."""
    return tuple(sorted(_SPECS))


def spec_of(name: str) -> ModelSpec:
    """Return the model of a provider, without loading it.

    Raises:
        ConfigError: the provider does not exist.
    """
    if name not in _SPECS:
        names = ", ".join(provider_names())
        raise ConfigError(f"There is no embedding provider {name!r}.", remedy=f"Choose one of: {names}.")
    return _SPECS[name]


def question_centres(spec: ModelSpec) -> Mapping[str, NDArray[np.float32]]:
    """Return the mean vectors (dims,) of general questions by script; none for a model where they are not known."""
    return _bundled.question_centres() if fingerprint(spec) == fingerprint(_bundled.SPEC) else {}


def open_provider(name: str, *, cache_dir: Path, threads: int | None = None) -> EmbeddingProvider:
    """Return the provider, ready to embed. Its model is loaded at the first use.

    Everything in `cache_dir`, which may not exist yet, can be deleted. `threads` is the maximum to use; by default one
    per core, up to 8.

    Raises:
        ConfigError: the provider does not exist.
        ProviderUnavailable: it cannot run here; the message gives the reason, the remedy the next step.
    """
    spec_of(name)  # raises ConfigError
    return _bundled.open_bundled(cache_dir, threads) if name == "bundled" else FakeProvider()


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
    from memoriter.embed.local._gguf import open_gguf, usable_package

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
