"""The second engine of the bundled model: its weights as an onnxruntime graph. Five times as fast, slow to start."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from memoriter.embed._vectors import cosine
from memoriter.embed.bundled._artefact import load_or_create
from memoriter.embed.bundled._graph_weights import convert_weights, split_weights
from memoriter.embed.bundled._native import MOST_TOKENS, fit_to_limit
from memoriter.embed.bundled._tokens import Tokenizer
from memoriter.embed.bundled._weightfile import open_weights, unpack
from memoriter.embed.bundled._weights import WEIGHTS_SHA256

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memoriter.embed.bundled._native import NativeEngine
    from memoriter.types import Role

BUILD = 2
"""Version of the converted weights. Increase it when they change, so that older caches are not used."""
_GRAPH = Path(__file__).with_name("transformer.onnx")
"""The transformer without weights; `scripts/bundled_graph.py` writes it."""
_LEAST_COSINE = 0.999
_SAMPLE = "Ada wrote: the 2 gateways answer within 40 ms. 회의는 3월 15일로 결정했다. 獴鸲鹟"
"""Ends in characters outside the vocabulary, which the two tokenizers treat differently by default."""


class GraphEngine:
    """Embeds one text at a time, on the calling thread. Threads may share it."""

    def __init__(self, weights: Path, cache_dir: Path) -> None:
        """Load the graph and the tokenizer. The converted weights come from the cache, or are converted and cached.

        Raises:
            Exception: any error of a package that is missing or too old, or of a full disk.
        """
        self._weights = open_weights(weights)
        self._tokenizer = Tokenizer(self._weights)
        cached = cache_dir / f"e5-{WEIGHTS_SHA256[:16]}-{BUILD}" / "weights"
        converted = load_or_create(cached, lambda: convert_weights(self._weights))
        self._session = _session(split_weights(converted, self._weights.shape))
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


def _session(weights: dict[str, NDArray[Any]]) -> Any:
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
