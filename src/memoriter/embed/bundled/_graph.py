"""The second engine of the bundled model: its weights as an onnxruntime graph. Five times as fast, slow to start.

The graph stores the same 4-bit codes in bytes, which makes it a seventh faster (measured on x86 with 238 tokens per
text), and computes with 8 bits: the cosine with the C engine is .9996 or more in ten languages.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from memoriter.embed._artefact import load_or_create
from memoriter.embed._provider import cosine
from memoriter.embed.bundled._native import MOST_TOKENS, RETRIEVER_SHA256, fit_to_limit, vocabulary_file
from memoriter.embed.bundled._weightfile import BLOCK, MATRICES, NORMS, Tokenizer, codes, matrix_size, unpack
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from memoriter.embed.bundled._native import NativeEngine
    from memoriter.embed.bundled._weightfile import Shape, WeightFile
    from memoriter.types import Role

BUILD = 3
"""Version of the converted weights. Increase it when they change, so that older caches are not used."""
_GRAPH = Path(__file__).with_name("transformer.onnx")
"""The transformer without weights; `scripts/bundled_graph.py` writes it."""
_LEAST_COSINE = 0.999
_SAMPLE = "Ada wrote: the 2 gateways answer within 40 ms. 회의는 3월 15일로 결정했다. 獴鸲鹟"
"""Ends in characters outside the vocabulary, which the two tokenizers treat differently by default."""


class GraphEngine:
    """Embeds one text at a time, on the calling thread. Threads may share it."""

    def __init__(self, weights: WeightFile, cache_dir: Path) -> None:
        """Load the graph and the tokenizer. The converted weights come from the cache, or are converted and cached.

        Raises Exception: any error of a package that is missing or too old, or of a full disk.
        """
        self._weights = weights
        self._tokenizer = Tokenizer(self._weights, vocabulary_file(cache_dir))
        cached = cache_dir / f"e5-{RETRIEVER_SHA256[:16]}-{BUILD}" / "weights"
        converted = load_or_create(cached, lambda: convert_weights(self._weights))
        self._session = open_session(split_weights(converted, self._weights.shape))
        hidden = self._weights.shape.hidden
        self._words = self._weights.blocks("emb.word", hidden)
        self._positions = (
            self._weights.floats("emb.pos").reshape(-1, hidden) + self._weights.floats("emb.type")[:hidden]
        )

    def embed(self, text: str, role: Role) -> NDArray[np.float32]:
        """Return the unit vector of a clean text. Text over the limit is ignored."""
        ids = self._ids(text, role)
        if len(ids) > MOST_TOKENS:
            ids = self._ids(fit_to_limit(self, text, role), role)
        tokens = unpack(self._words[ids]) + self._positions[: len(ids)]
        (states,) = self._session.run(None, {"tokens": tokens[None]})
        pooled = states[0].mean(axis=0)
        return cast("NDArray[np.float32]", pooled / np.linalg.norm(pooled))

    def count(self, text: str, role: Role) -> int:
        """Return the tokens of a clean text with its prefix and markers. This takes about 2 µs per character."""
        return len(self._ids(text, role))

    def agrees_with(self, other: NativeEngine) -> bool:
        """Return whether both engines give the same vector for a sample. On some processors a library may be faulty."""
        return cosine(self.embed(_SAMPLE, "document"), other.embed(_SAMPLE, "document")) > _LEAST_COSINE

    def _ids(self, text: str, role: Role) -> list[int]:
        return self._tokenizer.ids(f"{'query' if role == 'query' else 'passage'}: {text}")


def open_session(weights: dict[str, NDArray[Any]]) -> Any:
    """Return a session of the graph with these weights, which it copies. It runs on the calling thread.

    Several texts in parallel scale better than one text on many threads.
    """
    import onnxruntime

    runtime = cast("Any", onnxruntime)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    # The extended level would fuse nodes that are separate for speed.
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    values = [runtime.OrtValue.ortvalue_from_numpy(value) for value in weights.values()]
    options.add_external_initializers(list(weights), values)
    return runtime.InferenceSession(_GRAPH.read_bytes(), options, providers=["CPUExecutionProvider"])


@dataclass(frozen=True, slots=True)
class Tensor:
    """One array that the graph names and does not contain."""

    name: str
    type: type[np.uint8 | np.float32]
    dimensions: tuple[int, ...]

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return math.prod(self.dimensions) * np.dtype(self.type).itemsize


def tensors(shape: Shape) -> Iterator[Tensor]:
    """Yield every array of the graph, in the order of `convert_weights`."""
    for norm in _norms(shape):
        for part in "wb":
            yield Tensor(f"{norm}.{part}", np.float32, (shape.hidden,))
    for layer in range(shape.layers):
        for matrix in MATRICES:
            rows, columns = matrix_size(matrix, shape)
            blocks = columns // BLOCK
            yield Tensor(f"l{layer}.{matrix}.values", np.uint8, (rows, blocks, BLOCK))
            yield Tensor(f"l{layer}.{matrix}.scales", np.float32, (rows * blocks,))
            yield Tensor(f"l{layer}.{matrix}.b", np.float32, (rows,))


def convert_weights(weights: WeightFile) -> bytes:
    """Return the content of all `tensors`, joined (22 MB). This takes about a second."""
    shape = weights.shape
    parts: list[NDArray[Any]] = [weights.floats(f"{norm}.{part}") for norm in _norms(shape) for part in "wb"]
    for layer in range(shape.layers):
        for matrix, stacked in MATRICES.items():
            _, columns = matrix_size(matrix, shape)
            rows = [weights.blocks(f"l{layer}.{name}.w", columns) for name in stacked]
            parts += _in_bytes(np.concatenate(rows))
            parts += [weights.floats(f"l{layer}.{name}.b") for name in stacked]
    return b"".join(part.tobytes() for part in parts)


def split_weights(content: bytes, shape: Shape) -> dict[str, NDArray[Any]]:
    """Return the arrays of a joined content by name, without a copy."""
    arrays: dict[str, NDArray[Any]] = {}
    at = 0
    for tensor in tensors(shape):
        values = np.frombuffer(content, tensor.type, math.prod(tensor.dimensions), at)
        arrays[tensor.name] = values.reshape(tensor.dimensions)
        at += tensor.size
    return arrays


def _norms(shape: Shape) -> list[str]:
    return ["emb.ln", *(f"l{layer}.{norm}" for layer in range(shape.layers) for norm in NORMS)]


def _in_bytes(blocks: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Return Q4_0 blocks (rows, blocks, 18) in the format of `MatMulNBits`, without any rounding.

    That is bytes of shape (rows, blocks, 32) offset by 128, and a scale for each block.
    """
    values, scales = codes(blocks)
    return (values + 128).astype(np.uint8), scales
