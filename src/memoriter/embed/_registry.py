"""The table of built-in providers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.embed import _fake
from memoriter.embed.bundled import _bundled
from memoriter.errors import ConfigError
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoriter.embed._provider import EmbeddingProvider
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
