"""The provider `onnx`: an embedding model exported to ONNX, run by onnxruntime.

Some graphs leave out the pooling, which is done here.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any, cast

from memoriter.embed._artefact import revision_of
from memoriter.embed.local._local import LocalProvider, threads_to_use
from memoriter.embed.local._onnx_folder import read_onnx_folder
from memoriter.errors import InputRejected, ProviderUnavailable, sentence
from memoriter.extras import install_command
from memoriter.types import ModelSpec

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed.local._local import LocalEngine
    from memoriter.embed.local._onnx_folder import OnnxFolder

_NEEDED = ("onnxruntime", "tokenizers")
_DTYPES = {
    "tensor(int64)": "int64",
    "tensor(int32)": "int32",
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(bool)": "bool",
}
"""NumPy's names of onnxruntime's types."""
_POOLED, _STATES = ("sentence_embedding", "embeddings"), ("last_hidden_state", "token_embeddings", "hidden_states")
_EXPORT_AGAIN = "Export the model again, with the task feature-extraction."
_NOTHING_TO_READ = "."
"""Replaces a text without any token."""
_POOLINGS: dict[str, Callable[[Any], NDArray[np.float32]]] = {
    "mean": lambda states: states.mean(axis=0),
    "cls": lambda states: states[0],
    "last": lambda states: states[-1],
    "max": lambda states: states.max(axis=0),
}


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


class OnnxEngine:
    """Embeds one text per run: padding would cost more than it saves, and other texts could change a vector."""

    def __init__(self, model: OnnxFolder, threads: int) -> None:
        """Load tokenizer and graph.

        Raises:
            ProviderUnavailable: the tokenizer or graph does not load, or the graph has unknown inputs or outputs.
        """
        self._model = model
        self._tokenizer = _tokenizer(model)
        session = _session(model, threads)
        self._session = session
        self._inputs = {node.name: _input_builder(node, model) for node in session.get_inputs()}
        self._output, rank = _choose_output(session.get_outputs(), model)
        self._pool: Callable[[Any], NDArray[np.float32]] | None = None if rank == 2 else _POOLINGS[model.pooling]
        if self._pool is not None and model.dense:
            raise ProviderUnavailable(
                f"Layers follow the model's pooling, and the graph does not contain them: {model.graph}.",
                remedy="Export the model with the output sentence_embedding.",
            )

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode(text).ids)

    def embed(self, text: str) -> NDArray[np.float32]:
        import numpy as np

        encoded = self._tokenizer.encode(text)
        if not encoded.ids:
            encoded = self._tokenizer.encode(_NOTHING_TO_READ)
        ids, type_ids = self._truncate(encoded)
        inputs = {name: fill(ids, type_ids) for name, fill in self._inputs.items()}
        try:
            (output,) = self._session.run([self._output], inputs)
        except Exception as error:
            raise InputRejected(f"The engine onnxruntime refused the text: {sentence(error)}") from error
        states = np.asarray(output[0], np.float32)
        return states if self._pool is None else self._pool(states)

    def close(self) -> None:
        """Do nothing. The memory is freed with the last reference to the engine."""

    def _truncate(self, encoded: Any) -> tuple[list[int], list[int]]:
        """Return ids and type ids, cut to the model's limit. An end marker stays at the end."""
        ids, type_ids, limit = encoded.ids, encoded.type_ids, self._model.max_tokens
        if len(ids) <= limit:
            return ids, type_ids
        end = -1 if encoded.special_tokens_mask[-1] else len(ids)
        head_length = limit - len(ids[end:])
        return [*ids[:head_length], *ids[end:]], [*type_ids[:head_length], *type_ids[end:]]


def _tokenizer(model: OnnxFolder) -> Any:
    import tokenizers

    try:
        tokenizer: Any = tokenizers.Tokenizer.from_file(str(model.tokenizer))
    except Exception as error:
        raise ProviderUnavailable(
            f"The model's tokenizer does not load: {model.tokenizer}: {sentence(error)}",
            remedy="Fetch the model again.",
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # a marker written in a note is plain text
    return tokenizer


def _session(model: OnnxFolder, threads: int) -> Any:
    import onnxruntime

    runtime = cast("Any", onnxruntime)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        return runtime.InferenceSession(str(model.graph), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ProviderUnavailable(
            f"The model {model.graph} cannot be loaded by onnxruntime: {sentence(error)}",
            remedy="Fetch the model again.",
        ) from error


def _input_builder(node: Any, model: OnnxFolder) -> Callable[[list[int], list[int]], Any]:
    """Return a function that computes an input from the ids and type ids of one text."""
    import numpy as np

    dtype = _DTYPES.get(node.type)
    if dtype is not None:
        match node.name:
            case "input_ids":
                return lambda ids, _: np.asarray([ids], dtype)
            case "attention_mask":
                return lambda ids, _: np.ones((1, len(ids)), dtype)
            case "token_type_ids":
                return lambda _, type_ids: np.asarray([type_ids], dtype)
            case "position_ids":
                return lambda ids, _: np.arange(len(ids), dtype=dtype)[None]
            case str(name) if name.startswith("past_key_values"):
                # No tokens precede the text.
                shape = [
                    1 if not axis else size if isinstance(size, int) else 0 for axis, size in enumerate(node.shape)
                ]
                empty: Any = np.zeros(shape, dtype)
                return lambda _, __: empty
            case _:
                pass
    raise ProviderUnavailable(f"The graph asks for {node.name!r} ({node.type}): {model.graph}.", remedy=_EXPORT_AGAIN)


def _choose_output(outputs: list[Any], model: OnnxFolder) -> tuple[str, int]:
    """Return the name and rank of the output to use, preferably the pooled one."""
    ranks = {node.name: len(node.shape) for node in outputs if node.type in _DTYPES}
    for names, rank in ((_POOLED, 2), (_STATES, 3)):
        if output := next((name for name in names if ranks.get(name) == rank), None):
            return output, rank
    if len(ranks) == 1 and (only := next(iter(ranks.items())))[1] in {2, 3}:
        return only
    listing = ", ".join(sorted(ranks)) or "nothing"
    raise ProviderUnavailable(
        f"The graph gives {listing}, and no vector of a text: {model.graph}.", remedy=_EXPORT_AGAIN
    )
