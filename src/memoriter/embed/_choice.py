"""Which provider serves: what a configuration says and what is there, made into one choice. Nothing is opened."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from memoriter.config import in_home
from memoriter.embed.remote import ConfiguredKeys, choose_auto, key_for
from memoriter.errors import ConfigError, ProviderUnavailable
from memoriter.extras import install_command, missing_packages
from memoriter.providers import ALIASES, AUTO, AUTO_ORDER, COMPATIBLE, NONE, PROCESS, SERVICES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter.embed.remote._remote_settings import RemoteSettings

_STAY = "Set memorySearch.provider to bundled to stay on this machine"

Kind = Literal["none", "bundled", "fake", "local", "onnx", "remote"]


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """A service by a name of the user's: an entry of `models.providers`."""

    base_url: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)
    api: str = ""
    """`ollama`, another vendor's name, or empty for OpenAI's interface."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    problem: ConfigError | None = None
    """Why what is written cannot be used, such as a variable that is not set; raised when somebody needs it."""


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """What a configuration and the environment say of providers; `${NAME}` is replaced and `~` is a folder."""

    cache_dir: Path
    """For what can be made anew."""
    name: str = AUTO
    model: str = ""
    fallback: str = NONE
    base_url: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    problem: ConfigError | None = None
    """What is wrong with address, key or headers."""
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
    """As it is called in a configuration."""
    kind: Kind
    remote: RemoteSettings | None = None
    endpoint: str = ""
    """Where text is sent, without anything secret; empty where it stays in this process."""
    leaves_machine: bool = False
    metered: bool = False
    """Whether somebody may send a bill."""
    key_source: str = ""
    """Where the key is from, as it may be shown."""
    vendor: str = ""
    model: str = ""
    official_endpoint: bool = False
    """Whether the service is the vendor's own: there its prices hold."""


def model_place(written: str, user_home: Path) -> str:
    """`local.modelPath` with `~` replaced; an address of the hub stays as it is."""
    from memoriter.embed.local import is_model_uri

    return written if not written or is_model_uri(written) else str(in_home(written, user_home))


def provider_choices(settings: ProviderSettings) -> tuple[str, ...]:
    """Every name that can be configured here."""
    return (AUTO, NONE, *sorted({*PROCESS, *SERVICES, *COMPATIBLE, *settings.services}))


def choose(settings: ProviderSettings) -> Choice:
    """The provider of the settings; `auto` becomes what is there.

    Raises:
        ConfigError: there is no such provider, or what is said of it does not fit.
        ProviderUnavailable: it cannot be used here, such as a service where `offline` is set.
    """
    return _choice(_first(settings), settings, own=True)


def choose_fallback(settings: ProviderSettings) -> Choice | None:
    """What serves where the provider of the settings fails; None where nothing is named. Raises as `choose` does.

    `memorySearch.model` and the address in `remote` are those of the first provider, not of this one.
    """
    name = settings.fallback.strip()
    if name in {"", NONE}:
        return None
    return _choice(_automatic(settings) if name == AUTO else name, settings, own=False)


def _automatic(settings: ProviderSettings) -> str:
    configured = ConfiguredKeys(settings.api_key, _keys_of(settings))
    keys = [
        vendor
        for vendor in AUTO_ORDER
        if key_for(vendor, configured=configured, environ=settings.environ, elsewhere=_has_address(vendor, settings))
    ]
    if missing_packages("remote"):
        keys = []  # a key that happens to be in the environment does not stop the search
    there = bool(settings.local_model) and _is_there(settings)
    return choose_auto(local_model=there, keys=keys, bundled=True, offline=settings.offline)


def _has_address(vendor: str, settings: ProviderSettings) -> bool:
    """Whether another address than the vendor's own is to be asked."""
    return bool(settings.base_url or settings.services.get(vendor, ServiceConfig()).base_url)


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
    if name in settings.services or name in SERVICES or name in COMPATIBLE:
        return _of_a_service(name, settings, own=own)
    raise ConfigError(
        f"There is no embedding provider {name!r}; words alone are searched.",
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
    from memoriter.embed.remote._remote import vendor_of
    from memoriter.embed.remote._remote_settings import RemoteSettings, is_local_network, is_loopback

    service, aliases, found = _service(name, settings, own=own)
    problem = (settings.problem if own else None) or service.problem
    if problem is not None:
        raise problem
    if missing := missing_packages("remote"):
        raise ProviderUnavailable(
            f"The provider {name!r} needs the extra 'remote': {', '.join(missing)} is not installed.",
            remedy=f"Run `{install_command('remote')}`.",
        )
    vendor = _vendor(name, service)
    base_url = (settings.base_url if own else "") or service.base_url or COMPATIBLE.get(name, "")
    if name not in SERVICES and not base_url:
        raise ConfigError(
            f"The service {name!r} has no address.",
            remedy="Set memorySearch.remote.baseUrl, such as https://host/v1.",
        )
    spoken = vendor_of(vendor)
    endpoint = spoken.address(base_url) if base_url else spoken.base_url
    official = endpoint == spoken.base_url
    # A key that says nothing of whose it is belongs to the provider that is asked first.
    shared = settings.api_key if own or _first(settings) in {*PROCESS, NONE} else ""
    configured = ConfiguredKeys(shared, _keys_of(settings))
    key = key_for(
        name,
        configured=configured,
        environ=settings.environ,
        elsewhere=not official,
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
        headers={**service.headers, **(settings.headers if own else {})},
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
    """The entry of a service in `models.providers`, its other names there, and the keys that were found elsewhere.

    Other names and keys from elsewhere count only for a service that the settings name.
    """
    named = (settings.name if own else settings.fallback).strip() not in {"", AUTO}
    aliases = (ALIASES[name],) if named and name in ALIASES and name not in settings.services else ()
    entries = (settings.services[each] for each in (name, *aliases) if each in settings.services)
    return next(entries, ServiceConfig()), aliases, settings.found_keys if named else {}


def _vendor(name: str, service: ServiceConfig) -> str:
    if name in SERVICES:
        return name
    api = service.api.strip().lower()
    spoken = next((vendor for vendor in sorted(SERVICES) if api == vendor or api.startswith(f"{vendor}-")), "")
    return spoken or ("gemini" if api.startswith("google") else "openai")


def _first(settings: ProviderSettings) -> str:
    """The name of the provider that is asked first."""
    name = settings.name.strip() or AUTO
    return _automatic(settings) if name == AUTO else name
