"""llama.cpp, by way of whichever of its Python packages is here: `xllamacpp`, or else `llama-cpp-python`."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from memoriter.errors import ProviderUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.embed._local import LocalEngine

INSTALL = "pip install 'memoriter[local]'"


def usable_package() -> Callable[..., LocalEngine]:
    """What loads a model: called with (path, pooling=…, most_tokens=…, threads=…). Nothing is imported yet.

    Raises:
        ProviderUnavailable: neither package is installed.
    """
    if importlib.util.find_spec("xllamacpp") is not None:
        return _with_xllamacpp
    if importlib.util.find_spec("llama_cpp") is not None:
        return _with_llama_cpp_python
    raise ProviderUnavailable("llama.cpp is not installed, which runs GGUF models", remedy=INSTALL)


def _with_xllamacpp(path: str, *, pooling: str, most_tokens: int, threads: int) -> LocalEngine:
    from memoriter.embed._llama_server import LlamaServer

    return LlamaServer(path, pooling=pooling, most_tokens=most_tokens, threads=threads)


def _with_llama_cpp_python(path: str, *, pooling: str, most_tokens: int, threads: int) -> LocalEngine:
    from memoriter.embed._llama_binding import LlamaBinding

    return LlamaBinding(path, pooling=pooling, most_tokens=most_tokens, threads=threads)
