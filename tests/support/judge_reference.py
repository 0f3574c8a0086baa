"""The judge in 32-bit floats with numpy alone, as `research/memory-model/scripts/model.py` defines it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from memoriter.embed.bundled._weightfile import MATRICES, matrix_size, unpack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoriter.embed.bundled._weightfile import WeightFile

_erf = np.vectorize(math.erf)


def gelu(x: Any) -> Any:
    return 0.5 * x * (1 + _erf(x / math.sqrt(2)))


def states(weights: WeightFile, patch: Mapping[str, Any], ids: Sequence[int], question: int) -> Any:
    """The states (n, hidden) of a pair of which `question` tokens come before those of the passage."""
    shape = weights.shape

    def matrix(layer: int, name: str) -> tuple[Any, Any]:
        parts = MATRICES[name]
        _, columns = matrix_size(name, shape)
        rows = [unpack(weights.blocks(f"l{layer}.{part}.w", columns)) for part in parts]
        return np.concatenate(rows), np.concatenate([weights.floats(f"l{layer}.{part}.b") for part in parts])

    def product(x: Any, layer: int, name: str) -> Any:
        rows, bias = matrix(layer, name)
        return x @ rows.T + bias

    def norm(x: Any, name: str) -> Any:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + shape.epsilon)
        return scaled * weights.floats(f"{name}.w") + weights.floats(f"{name}.b")

    segments = np.array([0] * question + [1] * (len(ids) - question))
    x = unpack(weights.blocks("emb.word", shape.hidden)[list(ids)]) + patch["enc.pos"][: len(ids)]
    x = norm(x + patch["seg"][segments], "emb.ln")
    width = shape.hidden // shape.heads
    for layer in range(shape.layers):
        mixed = product(x, layer, "qkv").reshape(len(ids), 3, shape.heads, width)
        q, k, v = (mixed[:, at].transpose(1, 0, 2) for at in range(3))
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(width)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        context = (scores / scores.sum(axis=-1, keepdims=True)) @ v
        attended = product(context.transpose(1, 0, 2).reshape(len(ids), -1), layer, "ao")
        x = norm(x + attended, f"l{layer}.aln")
        x = norm(x + product(gelu(product(x, layer, "fi")), layer, "fo"), f"l{layer}.oln")
    return x


def logit(patch: Mapping[str, Any], found: Any, question: int) -> float:
    """Whether the passage answers, from the states of a pair."""
    parts = found[0], found[:question].mean(axis=0), found[question:].mean(axis=0)
    pooled = gelu(patch["pool.weight"] @ np.concatenate(parts) + patch["pool.bias"])
    return float((patch["score.weight"] @ pooled + patch["score.bias"])[0])
