"""Which key is used and where it is from, and what `auto` means. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memoriter.providers import AUTO_ORDER, BY_NAME

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
    vendor: str,
    *,
    configured: ConfiguredKeys,
    environ: Mapping[str, str],
    elsewhere: bool = False,
    aliases: Collection[str] = (),
    found: Mapping[str, tuple[str, str]] | None = None,
) -> Key | None:
    """The key for a service: `remote.apiKey`, then `models.providers`, then the service's variables; or None.

    `remote.apiKey` does not say whose key it is: it counts for every service, so that `auto` takes it for OpenAI's.
    `elsewhere` says that another address than the vendor's own is asked. Then the variables are left out: they were set
    for the vendor, and whoever runs that address has no business with such a key. `aliases` are other names of the
    service in `models.providers`; `found` has keys of vendors that OpenClaw keeps, with their places.
    """
    names = () if elsewhere else _variables(vendor)
    sources = [
        (configured.remote, "remote.apiKey"),
        *((configured.providers.get(name), f"models.providers.{name}.apiKey") for name in (vendor, *aliases)),
        *((environ.get(name), f"environment {name}") for name in names),
        *(() if elsewhere or not found or vendor not in found else (found[vendor],)),
    ]
    return next((Key(value.strip(), source) for value, source in sources if value and value.strip()), None)


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
