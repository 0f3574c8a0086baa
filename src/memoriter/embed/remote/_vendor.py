"""The interface of a vendor: pure functions that build requests and parse responses, and its table of models."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from memoriter.embed.remote._remote_settings import endpoint_of
from memoriter.errors import ConfigError
from memoriter.providers import default_model
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed.remote._remote_model import RemoteModel
    from memoriter.embed.remote._remote_settings import RemoteSettings
    from memoriter.embed.remote._wire import Request
    from memoriter.errors import EmbeddingError
    from memoriter.types import Role

    Build = Callable[[Sequence[str], Role, RemoteSettings], Request]
    Parse = Callable[[bytes, int, int | None, str], NDArray[np.float64]]
    ErrorOf = Callable[[int, Mapping[str, str], bytes, Sequence[str], str], EmbeddingError]


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens."""

    plain: float
    batch: float | None
    """Through the vendor's batch interface; None if it has none for embeddings, or if memoriter does not use it."""
    page: str
    """The vendor's page with the current price."""
    seen: str = "2026-05"
    """Year and month of the figure."""


@dataclass(frozen=True, slots=True)
class Vendor:
    """A service, or a family of services with the same interface."""

    name: str
    title: str
    """The vendor's own spelling, for messages."""
    base_url: str
    models: Mapping[str, RemoteModel]
    unlisted_model: Callable[[RemoteSettings], RemoteModel]
    """Returns the assumed properties of a model that is not in the table."""
    build_request: Build
    """Texts, role, resolved settings. Texts are sanitized, and templates are already around them."""
    parse_response: Parse
    """Body of a success, number of texts, dimensions if they are known, and who answered (see `called`).

    Raises BadVector or TransientFailure.
    """
    error_of: ErrorOf
    """Status, headers (lower case), body, secrets that must not be repeated, and who answered."""
    prefixes: tuple[str, ...] = ()
    """Prefixes that the vendor's own service does not accept in a model's name."""
    needs_key: bool = True
    own_models_only_at_home: bool = False
    """Whether the table is valid for the vendor's own address only, because other services reuse its names."""
    address: Callable[[str], str] = endpoint_of
    """Corrects common mistakes in a base URL."""

    prices: Mapping[str, Price] = field(default_factory=dict[str, "Price"])
    """Prices by model. The price of other models is unknown."""

    @property
    def default_model(self) -> str:
        """The model to use if the settings name none; empty if the vendor has no default."""
        return default_model(self.name)

    def called(self, endpoint: str) -> str:
        """Return a name for messages: the vendor's title at its own address, otherwise the host."""
        return self.title if endpoint == self.base_url else urlsplit(endpoint).netloc

    def resolved(self, settings: RemoteSettings) -> RemoteSettings:
        """Return the settings with address and model filled in.

        Raises:
            ConfigError: the settings name no model, and the vendor has no default.
        """
        base_url = settings.base_url or self.base_url
        model = settings.model.strip() or self.default_model
        if self.address(base_url) == self.base_url:
            for prefix in self.prefixes:
                model = model.removeprefix(prefix)
        if not model:
            raise ConfigError(
                f"No model of {self.title} is named.", remedy="Set memorySearch.model to one that it serves."
            )
        return replace(settings, base_url=base_url, model=model)

    def model_of(self, settings: RemoteSettings) -> RemoteModel:
        """Return the properties of the model in resolved settings, with the configured dimensions.

        Raises:
            ConfigError: the model does not support the configured dimensions.
        """
        row = self.models.get(settings.model)
        if row is None or (self.own_models_only_at_home and self.address(settings.base_url) != self.base_url):
            return replace(self.unlisted_model(settings), dimensions=settings.dimensions)
        wanted = settings.dimensions
        if wanted is None or wanted == row.dimensions:
            return row
        low, high = row.sizes or (row.dimensions or wanted, row.dimensions or wanted)
        if not low <= wanted <= high:
            allowed = f"{low} to {high}" if low < high else f"{low}"
            raise ConfigError(f"{settings.model} gives vectors of {allowed} dimensions, not {wanted}.")
        return replace(row, dimensions=wanted)
