"""How each provider is opened for the suite of what all providers promise: one row each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from memoriter.embed import open_provider, provider_names
from memoriter.embed.local._gguf import open_gguf
from memoriter.embed.local._onnx import open_onnx
from repacked import gguf_model
from repacked_onnx import onnx_model

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from memoriter.embed import EmbeddingProvider

    Opener = Callable[[pytest.TempPathFactory], EmbeddingProvider]


def _shipped(name: str, factory: pytest.TempPathFactory) -> EmbeddingProvider:
    return open_provider(name, cache_dir=factory.mktemp("cache"), threads=2)


def _gguf(factory: pytest.TempPathFactory) -> EmbeddingProvider:
    return open_gguf(gguf_model(factory), cache_dir=factory.mktemp("cache"), threads=2)


def _onnx(factory: pytest.TempPathFactory) -> EmbeddingProvider:
    return open_onnx(onnx_model(factory), cache_dir=factory.mktemp("cache"), threads=2)


OPENERS: dict[str, Opener] = {
    **{name: partial(_shipped, name) for name in provider_names()},
    "local, GGUF": _gguf,
    "onnx": _onnx,
}
