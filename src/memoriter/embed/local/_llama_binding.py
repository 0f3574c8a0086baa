"""llama.cpp through `llama-cpp-python`, if it is installed. It is no dependency, since it must be compiled."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import InputRejected, ProviderUnavailable, sentence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_POOLINGS = {"mean": 1, "cls": 2, "last": 3}
_NOTHING_TO_READ = "."
"""Replaces a text without any token."""


class LlamaBinding:
    """Embeds one text at a time, because threads must not share the binding's context."""

    def __init__(self, path: str, *, pooling: str, most_tokens: int, threads: int) -> None:
        """Load the model.

        Raises:
            ProviderUnavailable: llama.cpp rejects the model.
        """
        import importlib

        self._lock = threading.Lock()
        try:
            library = cast("Any", importlib.import_module("llama_cpp"))
            self._model: Any = library.Llama(
                model_path=path,
                embedding=True,
                pooling_type=_POOLINGS[pooling],
                n_ctx=most_tokens,
                n_batch=most_tokens,
                n_ubatch=most_tokens,
                n_threads=threads,
                n_threads_batch=threads,
                verbose=False,
            )
        except Exception as error:
            raise ProviderUnavailable(
                f"The model {path} cannot be loaded by llama.cpp: {sentence(error)}",
                remedy="Try a newer llama-cpp-python, or install xllamacpp.",
            ) from error

    def count(self, text: str) -> int:
        with self._lock:
            return len(self._model.tokenize(text.encode()))

    def embed(self, text: str) -> NDArray[np.float32]:
        import numpy as np

        with self._lock:
            try:
                # The binding itself cuts a text that is too long.
                vector = self._model.embed(text if self._model.tokenize(text.encode()) else _NOTHING_TO_READ)
            except (RuntimeError, ValueError) as error:
                raise InputRejected(f"The engine llama.cpp refused the text: {sentence(error)}") from error
        return np.asarray(vector, np.float32)

    def close(self) -> None:
        with self._lock:
            self._model.close()
