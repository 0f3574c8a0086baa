"""The layout of the weight file (magic `E5S1`): sizes, a unigram vocabulary, a normalisation map, a list of tensors.

All numbers are little-endian. Matrices are in GGML's Q4_0: each block has 32 weights as one float16 scale and 16 bytes.
Byte i holds weight i in its low and weight i + 16 in its high nibble, each offset by 8.
"""

from __future__ import annotations

import mmap
import struct
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from memoriter.values import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

BLOCK = 32
_BLOCK_BYTES = 18


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of the transformer."""

    hidden: int
    layers: int
    heads: int
    inner: int
    """Width of the feed-forward part."""
    words: int
    positions: int
    """Maximum tokens of one pass."""
    epsilon: float


@dataclass(frozen=True, slots=True, eq=False)
class WeightFile:
    """The mapped file and the locations of its tensors."""

    content: mmap.mmap
    shape: Shape
    vocabulary_at: int
    tensors: dict[str, tuple[int, int]]
    """Name to offset and size in bytes."""

    def floats(self, name: str) -> NDArray[np.float32]:
        """Return a flat tensor of 32-bit floats."""
        offset, size = self.tensors[name]
        return np.frombuffer(self.content, "<f4", size // 4, offset)

    def blocks(self, name: str, columns: int) -> NDArray[np.uint8]:
        """Return a Q4_0 matrix as (rows, blocks, 18) bytes, without a copy."""
        offset, size = self.tensors[name]
        values = np.frombuffer(self.content, np.uint8, size, offset)
        return values.reshape(-1, columns // BLOCK, _BLOCK_BYTES)

    def vocabulary(self) -> tuple[list[str], NDArray[np.float32]]:
        """Return the pieces in the order of their ids, and their log-probabilities."""
        count, *_ = struct.unpack_from("<5i", self.content, self.vocabulary_at)
        at = self.vocabulary_at + 20
        (size,) = struct.unpack_from("<Q", self.content, at)
        offsets = np.frombuffer(self.content, "<u4", count + 1, at + 8)
        scores = np.frombuffer(self.content, "<f4", count, at + 8 + offsets.nbytes)
        start = at + 8 + offsets.nbytes + scores.nbytes
        pieces = self.content[start : start + size]
        bounds = offsets.tolist()
        return [pieces[a:b].decode("utf-8", "replace") for a, b in pairwise(bounds)], scores


def open_weights(file: Path) -> WeightFile:
    """Map the file and read its directory.

    Raises:
        ValueError: it is not a weight file.
    """
    with file.open("rb") as stream:
        content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    if content[:4] != b"E5S1":
        raise ValueError(f"{str(file)!r} is not a weight file")
    hidden, layers, heads, inner, words, positions, _ = struct.unpack_from("<7i", content, 8)
    (epsilon,) = struct.unpack_from("<f", content, 36)
    vocabulary_at = 44
    (pieces,) = struct.unpack_from("<i", content, vocabulary_at)
    (blob,) = struct.unpack_from("<Q", content, vocabulary_at + 20)
    at = vocabulary_at + 28 + 4 * (pieces + 1) + 4 * pieces + blob
    (map_bytes,) = struct.unpack_from("<I", content, at + 4)
    shape = Shape(hidden, layers, heads, inner, words, positions, epsilon)
    return WeightFile(content, shape, vocabulary_at, _directory(content, at + 8 + map_bytes))


def unpack(blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Convert Q4_0 blocks (…, blocks, 18) to floats (…, 32 · blocks)."""
    scales = np.ascontiguousarray(blocks[..., :2]).view("<f2").astype(np.float32)
    nibbles = blocks[..., 2:]
    values = np.concatenate([nibbles & 15, nibbles >> 4], axis=-1).astype(np.float32) - 8
    return (values * scales).reshape(*blocks.shape[:-2], -1)


def _directory(content: mmap.mmap, at: int) -> dict[str, tuple[int, int]]:
    (count,) = struct.unpack_from("<i", content, at)
    at += 4
    tensors: dict[str, tuple[int, int]] = {}
    for _ in range(count):
        (length,) = struct.unpack_from("<H", content, at)
        name = content[at + 2 : at + 2 + length].decode()
        at += 2 + length + 5  # one byte of type, four of element count
        tensors[name] = struct.unpack_from("<2Q", content, at)
        at += 16
    return tensors
