"""A provider over one loaded model of the user's, whatever runs it."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Protocol

from memoriter.embed._limits import utf8_size
from memoriter.embed._vectors import normalise
from memoriter.embed.local._readable import counted, readable
from memoriter.errors import BadVector, InputRejected

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed.local._readable import Form
    from memoriter.types import ModelSpec, Role

MOST_TOKENS = 2048
"""Read of a text at most, even by models that could read more: passages are shorter, and the cost grows faster."""
_MOST_THREADS = 8
_MARKS = 8
"""Tokens that a model adds at most for the start and the end."""


class LocalEngine(Protocol):
    """One loaded model. Threads may share it."""

    def count(self, text: str) -> int:
        """Tokens of the text with the marks that the model adds."""
        ...

    def embed(self, text: str) -> NDArray[np.float32]:
        """The vector of the text as the model gives it, not normalised; what is over the limit is left out.

        Raises:
            InputRejected: the model refuses this text.
            ProviderUnavailable: the model does not answer any more.
        """
        ...

    def close(self) -> None:
        """Let go of the model."""
        ...


class LocalProvider:
    """Texts go to the model one after another, so that no vector depends on others; it shares each among its threads.

    The model is loaded at the first use, and again at the first use after it was closed.
    """

    def __init__(self, spec: ModelSpec, form: Form, load: Callable[[], LocalEngine]) -> None:
        """`form` is how Unicode is composed before the tokenizer sees it."""
        self.spec = spec
        self._form: Form = form
        self._load = load
        self._lock = threading.Lock()
        self._engine: LocalEngine | None = None

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        import numpy as np

        rows = np.empty((len(texts), self.spec.dimensions), np.float32)
        if not texts:
            return rows
        engine = self._loaded()
        for position, text in enumerate(texts):
            vector = engine.embed(self._as_read(text, role))
            if vector.shape != rows.shape[1:]:
                raise BadVector(f"the model gave {vector.size} dimensions in place of {self.spec.dimensions}")
            rows[position] = vector
        unit, usable = normalise(rows)
        if not usable.all():
            raise InputRejected("the model gives this text a vector that is zero or not finite")
        return unit

    def count_tokens(self, text: str) -> int:
        template, size = self.spec.document_template, utf8_size(text)
        if size + utf8_size(template) + _MARKS <= self.spec.max_tokens:
            # No tokenizer makes more tokens than there are bytes, so an estimate will do.
            return size // 3 + len(template) // 4 + 2
        tokens = self._loaded().count(self._as_read(text, "document"))
        return counted(tokens, text, self.spec.max_tokens)

    def hint_batch_size(self, chunks: int) -> None:
        """The model is the same for one text and for many."""

    def close(self) -> None:
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def _as_read(self, text: str, role: Role) -> str:
        template = self.spec.query_template if role == "query" else self.spec.document_template
        return template.replace("{text}", readable(text, self._form, self.spec.max_tokens))

    def _loaded(self) -> LocalEngine:
        with self._lock:
            if self._engine is None:
                self._engine = self._load()
            return self._engine


def threads_to_use(wanted: int | None) -> int:
    """As many as wanted, or as many as the processors that this process may use, up to 8."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return wanted or min(cores, _MOST_THREADS)
