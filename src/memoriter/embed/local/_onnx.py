"""The provider `onnx`: an embedding model exported to ONNX, run by onnxruntime."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from memoriter.embed.local._local import LocalProvider, threads_to_use
from memoriter.embed.local._model_file import revision_of
from memoriter.embed.local._onnx_folder import read_onnx_folder
from memoriter.errors import ProviderUnavailable
from memoriter.extras import install_command
from memoriter.types import ModelSpec

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.embed.local._local import LocalEngine
    from memoriter.embed.local._onnx_folder import OnnxFolder

_NEEDED = ("onnxruntime", "tokenizers")


def open_onnx(path: Path, *, cache_dir: Path, threads: int | None = None) -> LocalProvider:
    """Return the model of a folder or an `.onnx` file, ready to embed. It is loaded at the first use.

    Args:
        path: the folder, or the `.onnx` file.
        cache_dir: may not exist yet; everything in it can be deleted.
        threads: the maximum to use; by default one per core, up to 8.

    Raises:
        ProviderUnavailable: a package is not installed, or the folder does not hold an embedding model.
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        message = f"To run ONNX models, {' and '.join(missing)} must be installed."
        raise ProviderUnavailable(message, remedy=f"Run `{install_command('onnx')}`.")
    model = read_onnx_folder(path)
    threads = threads_to_use(threads)

    def load() -> LocalEngine:
        from memoriter.embed.local._onnx_engine import OnnxEngine

        return OnnxEngine(model, threads)

    # A graph without configuration files must run once to show its dimensions.
    dimensions = model.dimensions or load().embed("how long?").size
    return LocalProvider(_spec(model, dimensions, cache_dir), "NFC", load)


def onnx_spec(path: Path, *, cache_dir: Path) -> ModelSpec | None:
    """Return the model of a folder without loading it, or None if its configuration does not state the dimensions.

    Raises:
        ProviderUnavailable: the folder does not hold an embedding model.
    """
    model = read_onnx_folder(path)
    return _spec(model, model.dimensions, cache_dir) if model.dimensions else None


def _spec(model: OnnxFolder, dimensions: int, cache_dir: Path) -> ModelSpec:
    return ModelSpec(
        provider="onnx",
        model=model.name,
        dimensions=dimensions,
        revision=revision_of(list(model.files), cache_dir),
        query_template=model.query_template,
        document_template=model.document_template,
        pooling=model.pooling,
        normaliser="nfc",
        max_tokens=model.max_tokens,
        background=model.background,
    )
