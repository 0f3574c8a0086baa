"""The providers there are: one row each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoriter.embed import _fake
from memoriter.embed.bundled import _bundled
from memoriter.errors import ConfigError

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
    """Every name that `open_provider` knows, in alphabetical order."""
    return tuple(sorted(_PROVIDERS))


def spec_of(name: str) -> ModelSpec:
    """The model that a provider uses, without loading it.

    Raises:
        ConfigError: there is no such provider.
    """
    return _row(name).spec


def open_provider(name: str, *, cache_dir: Path, threads: int | None = None) -> EmbeddingProvider:
    """The provider, ready to embed; a model is loaded at its first use.

    `cache_dir` may not exist yet; all in it can be deleted. `threads` is the most to use, by default as many as cores.

    Raises:
        ConfigError: there is no such provider.
        ProviderUnavailable: it cannot run here; the message says why, the remedy what to do.
    """
    return _row(name).open(cache_dir, threads)


def _row(name: str) -> _Row:
    if name not in _PROVIDERS:
        known = ", ".join(provider_names())
        raise ConfigError(f"there is no embedding provider {name!r}", remedy=f"choose one of: {known}")
    return _PROVIDERS[name]
