"""Which key is used and where it is from, and what `auto` means. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.providers import AUTO_ORDER, BY_NAME
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


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
    vendor: str, *, configured: ConfiguredKeys, environ: Mapping[str, str], elsewhere: bool = False
) -> Key | None:
    """The key for a service: `remote.apiKey`, then `models.providers`, then the service's variables; or None.

    `remote.apiKey` does not say whose key it is: it counts for every service, so that `auto` takes it for OpenAI's.
    `elsewhere` says that another address than the vendor's own is asked. Then the variables are left out: they were set
    for the vendor, and whoever runs that address has no business with such a key.
    """
    names = () if elsewhere else _variables(vendor)
    found = [
        (configured.remote, "remote.apiKey"),
        (configured.providers.get(vendor), f"models.providers.{vendor}.apiKey"),
        *((environ.get(name), f"environment {name}") for name in names),
    ]
    return next((Key(value.strip(), source) for value, source in found if value and value.strip()), None)


def choose_auto(*, local_model: bool, keys: Collection[str], bundled: bool, offline: bool) -> str:
    """What `auto` means here.

    `local_model`: `local.modelPath` is set and the file is there. `keys`: services that have one. `bundled`: the
    bundled model can run. `offline`: nothing may leave this machine.
    """
    if local_model:
        return "local"
    if not offline:
        for vendor in AUTO_ORDER:
            if vendor in keys:
                return vendor
    return "bundled" if bundled else "none"


def _variables(vendor: str) -> tuple[str, ...]:
    return BY_NAME[vendor].key_variables if vendor in BY_NAME else ()
