"""The provider of a backend: opened when first needed, and honest when it cannot be."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memoriter.embed import open_provider, provider_names, spec_of
from memoriter.errors import ConfigError, EmbeddingError, ProviderUnavailable
from memoriter.types import Reason

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed import EmbeddingProvider
    from memoriter.types import ModelSpec

NO_PROVIDER = "none"
AUTOMATIC = "bundled"
"""What `auto` means."""
REMEMBERED_QUERIES = 256


@dataclass(slots=True)
class Embedding:
    """One configured provider; `spec` is None where there is none."""

    name: str
    cache_dir: Path
    problem: Reason | None = None
    _opened: EmbeddingProvider | None = None
    _queries: OrderedDict[str, NDArray[np.float32]] = field(default_factory=OrderedDict)

    @property
    def provider_name(self) -> str:
        return AUTOMATIC if self.name == "auto" else self.name

    @property
    def spec(self) -> ModelSpec | None:
        """The model that is meant to be used, known without loading it."""
        if self.provider_name == NO_PROVIDER:
            return None
        try:
            return spec_of(self.provider_name)
        except ConfigError:
            allowed = ", ".join(("auto", NO_PROVIDER, *provider_names()))
            self.problem = Reason(
                "provider_unknown",
                f"The embedding provider {self.name!r} is not available in this version; words alone are searched.",
                f"Set memorySearch.provider to one of: {allowed}.",
            )
            return None

    def open(self) -> EmbeddingProvider:
        """The running provider. Raises ProviderUnavailable, the same each time, without trying twice."""
        if self._opened is None:
            if self.problem is not None:
                raise ProviderUnavailable(self.problem.message, remedy=self.problem.remedy)
            try:
                self._opened = open_provider(self.provider_name, cache_dir=self.cache_dir)
            except EmbeddingError as error:
                self.problem = Reason(error.code, error.message, error.remedy)
                raise
        return self._opened

    def query_vector(self, text: str) -> NDArray[np.float32]:
        """The question's vector (dims,). Raises EmbeddingError."""
        if text in self._queries:
            self._queries.move_to_end(text)
            return self._queries[text]
        vector = self.open().embed([text], role="query")[0]
        self._queries[text] = vector
        if len(self._queries) > REMEMBERED_QUERIES:
            self._queries.popitem(last=False)
        return vector

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None
