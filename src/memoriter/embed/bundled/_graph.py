"""The second engine of the bundled model: its weights as an onnxruntime graph. Five times as fast, slow to start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from memoriter.embed._vectors import cosine
from memoriter.embed.bundled._artefact import kept
from memoriter.embed.bundled._graph_build import build_graph
from memoriter.embed.bundled._native import MOST_TOKENS, fitted
from memoriter.embed.bundled._tokens import Tokenizer, tokenizer_model
from memoriter.embed.bundled._weightfile import open_weights, unpack
from memoriter.embed.bundled._weights import WEIGHTS_SHA256

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from memoriter.embed.bundled._native import NativeEngine
    from memoriter.types import Role

BUILD = 1
"""Goes up whenever the graph or the tokenizer is built differently: a cache of another build is not used."""
_AGREE = 0.999
_SAMPLE = "Ada wrote: the 2 gateways answer within 40 ms. 회의는 3월 15일로 결정했다. 獴鸲鹟"
"""Ends in characters that the vocabulary has not, which the tokenizers treat differently by themselves."""


class GraphEngine:
    """One text at a time, on the calling thread. Threads may share it."""

    def __init__(self, weights: Path, cache_dir: Path) -> None:
        """Load what was built from the weights, or build it.

        Raises:
            Exception: whatever a package that is missing or too old, or a full disk, raises.
        """
        self._weights = open_weights(weights)
        folder = cache_dir / f"e5-{WEIGHTS_SHA256[:16]}-{BUILD}"
        self._tokenizer = Tokenizer(kept(folder / "tokenizer.model", lambda: tokenizer_model(self._weights)))
        self._session = _session(kept(folder / "transformer.onnx", lambda: build_graph(self._weights)))
        hidden = self._weights.shape.hidden
        self._words = self._weights.blocks("emb.word", hidden)
        self._places = self._weights.floats("emb.pos").reshape(-1, hidden) + self._weights.floats("emb.type")[:hidden]

    def embed(self, text: str, role: Role) -> NDArray[np.float32]:
        """The unit vector of a clean text; what is over the limit is left out."""
        ids = self._ids(text, role)
        if len(ids) > MOST_TOKENS:
            ids = self._ids(fitted(self, text, role), role)
        tokens = unpack(self._words[ids]) + self._places[: len(ids)]
        (states,) = self._session.run(None, {"tokens": tokens[None]})
        pooled = states[0].mean(axis=0)
        return cast("NDArray[np.float32]", pooled / np.linalg.norm(pooled))

    def count(self, text: str, role: Role) -> int:
        """Tokens of a clean text with its prefix and marks; about 0.2 µs a character."""
        return len(self._ids(text, role))

    def agrees_with(self, other: NativeEngine) -> bool:
        """Whether both engines give one vector for a sample: a library may be wrong on some processor."""
        return cosine(self.embed(_SAMPLE, "document"), other.embed(_SAMPLE, "document")) > _AGREE

    def _ids(self, text: str, role: Role) -> list[int]:
        return self._tokenizer.ids(f"{'query' if role == 'query' else 'passage'}: {text}")


def _session(model: bytes) -> Any:
    """A session that runs on the calling thread: texts side by side scale better than one text on many threads."""
    import onnxruntime

    runtime = cast("Any", onnxruntime)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    # The extended level would fuse what was built apart for speed.
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
