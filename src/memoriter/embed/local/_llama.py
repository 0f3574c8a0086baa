"""llama.cpp through an installed Python package: `xllamacpp`, or else `llama-cpp-python`."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from memoriter.embed.bundled._weights import processor_flags
from memoriter.errors import ProviderUnavailable
from memoriter.extras import install_command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoriter.embed.local._local import LocalEngine

_PROCESSOR = {"avx2", "f16c", "fma"}
"""Processor flags that the x86 build uses without checking."""


def usable_package() -> Callable[..., LocalEngine]:
    """Return a function that loads a model, called as (path, pooling=…, most_tokens=…, threads=…, passed=…).

    Nothing is imported yet. `passed` is the folder that records the trials of the model.

    Raises:
        ProviderUnavailable: neither package is installed, or llama.cpp would crash on this processor.
    """
    if importlib.util.find_spec("xllamacpp") is not None:
        flags = processor_flags()
        if flags is not None and not flags >= _PROCESSOR:
            raise ProviderUnavailable(
                f"The package xllamacpp needs a processor with {', '.join(sorted(_PROCESSOR - flags)).upper()}.",
                remedy="Run `pip uninstall xllamacpp`, then install llama-cpp-python: it is built for this processor.",
            )
        return _with_xllamacpp
    if importlib.util.find_spec("llama_cpp") is not None:
        return _with_llama_cpp_python
    message = "GGUF models need llama.cpp, which is not installed."
    raise ProviderUnavailable(message, remedy=f"Run `{install_command('local')}`.")


def _with_xllamacpp(path: str, *, pooling: str, most_tokens: int, threads: int, passed: Path) -> LocalEngine:
    from memoriter.embed.local._llama_server import LlamaServer
    from memoriter.embed.local._llama_trial import try_model

    try_model(path, pooling=pooling, most_tokens=most_tokens, passed=passed)
    return LlamaServer(path, pooling=pooling, most_tokens=most_tokens, threads=threads)


def _with_llama_cpp_python(path: str, *, pooling: str, most_tokens: int, threads: int, passed: Path) -> LocalEngine:
    from memoriter.embed.local._llama_binding import LlamaBinding

    del passed  # compiled on this machine, for this machine
    return LlamaBinding(path, pooling=pooling, most_tokens=most_tokens, threads=threads)
