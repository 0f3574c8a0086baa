"""Select the provider and its key, from the configuration and from what is available, and know its price.

Nothing is opened.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from memoriter.config import in_home
from memoriter.errors import ConfigError, ProviderUnavailable
from memoriter.extras import install_command, missing_packages
from memoriter.providers import ALIASES, AUTO, AUTO_SERVICE, BY_NAME, FREE, NONE, OPENAI_COMPATIBLE, PROCESS, REMOTE
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from memoriter.embed.remote import RemoteSettings
    from memoriter.embed.remote._vendor import Price

_STAY = "Set memorySearch.provider to bundled to stay on this machine"

Kind = Literal["none", "bundled", "fake", "local", "onnx", "remote"]


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
    from memoriter.embed.local import is_model_uri

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
    has_key = bool(settings.remote.api_key.strip()) and not missing_packages("remote")
    there = bool(settings.local_model) and _is_there(settings)
    return choose_auto(local_model=there, has_key=has_key, bundled=True, offline=settings.offline)


def _is_there(settings: ProviderSettings) -> bool:
    from memoriter.embed.local import is_downloaded, is_model_uri

    if is_model_uri(settings.local_model):
        return not settings.offline or is_downloaded(settings.local_model, settings.downloads)
    return Path(settings.local_model).exists()


def _keys_of(settings: ProviderSettings) -> dict[str, str]:
    return {name: service.api_key for name, service in settings.services.items() if service.api_key}


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

    service, aliases, found = _service(name, settings, own=own)
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
    shared = settings.remote.api_key if addressed else ""
    configured = ConfiguredKeys(shared, _keys_of(settings))
    key = key_for(
        name,
        configured=configured,
        environ=settings.environ,
        custom_endpoint=not official,
        aliases=aliases,
        found=found,
    )
    leaves = not is_loopback(endpoint)
    if settings.offline and leaves:
        raise ProviderUnavailable(
            f"The provider {name!r} is at {endpoint}, and memorySearch.offline forbids the network.",
            remedy=f"S{_STAY[1:]}.",
        )
    remote = RemoteSettings(
        vendor=vendor,
        model=settings.model if own else "",
        base_url=base_url,
        api_key=key.value if key else "",
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
        key_source=key.source if key else "",
        vendor=vendor,
        model=spoken.resolved(remote).model,
        official_endpoint=official,
    )


def _service(
    name: str, settings: ProviderSettings, *, own: bool
) -> tuple[ServiceConfig, tuple[str, ...], Mapping[str, tuple[str, str]]]:
    """Return the entry of a service in `models.providers`, its other names there, and keys that were found elsewhere.

    Other names and keys from elsewhere count only for a service that the settings name.
    """
    named = (settings.name if own else settings.fallback).strip() not in {"", AUTO}
    aliases = (ALIASES[name],) if named and name in ALIASES and name not in settings.services else ()
    entries = (settings.services[each] for each in (name, *aliases) if each in settings.services)
    return next(entries, ServiceConfig()), aliases, settings.found_keys if named else {}


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


@dataclass(frozen=True, slots=True)
class ConfiguredKeys:
    """The keys that a configuration holds, with `${NAME}` already replaced."""

    remote: str | None = field(default=None, repr=False)
    """`memorySearch.remote.apiKey`"""
    providers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """`models.providers.<id>.apiKey` by id"""


@dataclass(frozen=True, slots=True)
class Key:
    """A key, never shown, and a source that can be."""

    value: str = field(repr=False)
    source: str
    """Such as `remote.apiKey` or `environment OPENAI_API_KEY`."""


def key_for(
    vendor: str,
    *,
    configured: ConfiguredKeys,
    environ: Mapping[str, str],
    custom_endpoint: bool = False,
    aliases: Collection[str] = (),
    found: Mapping[str, tuple[str, str]] | None = None,
) -> Key | None:
    """Return the key for a service from `remote.apiKey`, `models.providers` or the service's variables, or None.

    `remote.apiKey` names no service, so it is valid for every service, and `auto` uses it for OpenAI. At a
    `custom_endpoint` the variables are ignored: their keys were set for the vendor, and nobody else may receive them.
    `aliases` are other names in `models.providers`; `found` are the keys of vendors that OpenClaw keeps, with places.
    """
    names = () if custom_endpoint else _variables(vendor)
    sources = [
        (configured.remote, "remote.apiKey"),
        *((configured.providers.get(name), f"models.providers.{name}.apiKey") for name in (vendor, *aliases)),
        *((environ.get(name), f"environment {name}") for name in names),
        *(() if custom_endpoint or not found or vendor not in found else (found[vendor],)),
    ]
    return next((Key(value.strip(), source) for value, source in sources if value and value.strip()), None)


def choose_auto(*, local_model: bool, has_key: bool, bundled: bool, offline: bool) -> str:
    """Return the provider that `auto` selects.

    A key in the environment or in `models.providers` may be meant for something else, such as the model of an agent, so
    it never sends notes away: `has_key` is about `memorySearch.remote.apiKey` alone.
    """
    if local_model:
        return "local"
    if has_key and not offline:
        return AUTO_SERVICE
    return "bundled" if bundled else "none"


def _variables(vendor: str) -> tuple[str, ...]:
    return BY_NAME[vendor].key_variables if vendor in BY_NAME else ()


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
