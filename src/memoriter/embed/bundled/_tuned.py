"""The released weights with what memoriter's training changed, in memory: nothing is written to the disk.

Only the scale of each block of 32 weights, the biases, the norms and the positions were trained (Kim et al. 2023,
"Memory-Efficient Fine-Tuning of Compressed Large Language Models via sub-4-bit Integer Quantization"). A patch holds
these: the new scale is the old one times 1 + gain. `benchmarks/model.md` says what was trained on what.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memoriter.array_file import read_arrays
from memoriter.embed._artefact import sha256_of
from memoriter.embed.bundled._weightfile import MATRICES, NORMS, matrix_size, open_weights
from memoriter.errors import ProviderUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from memoriter.embed.bundled._weightfile import WeightFile

RETRIEVER, JUDGE = (Path(__file__).with_name(f"{name}.npz") for name in ("retriever", "judge"))


def tuned_weights(released: Path, patch: Path, sha256: str) -> WeightFile:
    """Return the weights of a model, trained by a patch: a private copy of the released file in memory (about 0.1 s).

    Raises ProviderUnavailable: the patch is missing, or it is not the released one.
    """
    weights = open_weights(released, writable=True)
    apply(read_patch(patch, sha256), weights)
    return weights


def read_patch(patch: Path, sha256: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a patch. Raises ProviderUnavailable if it is missing, or not the released one."""
    if not patch.is_file() or sha256_of(patch) != sha256:
        raise ProviderUnavailable(
            f"The weights that memoriter has trained are missing or damaged: {patch}.",
            remedy="Install memoriter again, with the option `--force-reinstall`.",
        )
    return read_arrays(patch)


def apply(patch: Mapping[str, NDArray[Any]], weights: WeightFile) -> None:
    """Put a patch into weights that were opened as writable."""
    shape = weights.shape
    for layer in range(shape.layers):
        for matrix, parts in MATRICES.items():
            _, columns = matrix_size(matrix, shape)
            gain = 1 + patch[f"enc.layers.{layer}.{matrix}.gain"].astype(np.float32)
            bias = patch[f"enc.layers.{layer}.{matrix}.bias"]
            row = 0
            for part in parts:
                blocks = weights.blocks(f"l{layer}.{part}.w", columns)
                rows = slice(row, row + len(blocks))
                scales = blocks[..., :2].copy().view("<f2").astype(np.float32) * gain[rows, :, None]
                blocks[..., :2] = scales.astype("<f2").view(np.uint8)
                weights.floats(f"l{layer}.{part}.b")[:] = bias[rows]
                row = rows.stop
        for norm in NORMS:
            weights.floats(f"l{layer}.{norm}.w")[:] = patch[f"enc.layers.{layer}.{norm}.weight"]
            weights.floats(f"l{layer}.{norm}.b")[:] = patch[f"enc.layers.{layer}.{norm}.bias"]
    weights.floats("emb.ln.w")[:] = patch["enc.ln.weight"]
    weights.floats("emb.ln.b")[:] = patch["enc.ln.bias"]
    # The patch holds the sum of both embeddings of a position.
    positions = patch["enc.pos"] - weights.floats("emb.type")[: shape.hidden]
    weights.floats("emb.pos")[:] = positions.ravel()
