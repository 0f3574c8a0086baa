"""The weight file (magic `E5S1`) of the bundled model: its layout, what was trained, and a tokenizer.

The file holds sizes, a unigram vocabulary, a normalisation map and a list of tensors. All numbers are little-endian.
Matrices are in GGML's Q4_0: each block has 32 weights as one float16 scale and 16 bytes. Byte i holds weight i in its
low and weight i + 16 in its high nibble, each offset by 8.

The tokenizer is SentencePiece's unigram model. It finds the most likely division of a text into pieces word by word,
because no piece of this vocabulary reaches over a space. Words repeat, so their ids are cached.

memoriter has trained only the scale of each block, the biases, the norms and the positions (Kim et al. 2023,
"Memory-Efficient Fine-Tuning of Compressed Large Language Models via sub-4-bit Integer Quantization"). A patch holds
these: the new scale is the old one times 1 + gain. `benchmarks/model.md` says what was trained on what.
"""

from __future__ import annotations

import io
import mmap
import struct
from functools import lru_cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from memoriter.array_file import read_arrays
from memoriter.embed._artefact import load_or_create, sha256_of
from memoriter.errors import ProviderUnavailable
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

BLOCK = 32
MATRICES = {"qkv": ("q", "k", "v"), "ao": ("ao",), "fi": ("fi",), "fo": ("fo",)}
"""The matrices of a layer, each with the parts of the weight file that are stacked in it."""
NORMS = ("aln", "oln")
_BLOCK_BYTES = 18
_START = 0
_END = 2
_UNKNOWN = 3
_SPACE = "\u2581"
_UNKNOWN_PENALTY = 10
"""How much less likely an unknown character is than the least likely piece, as SentencePiece has it."""
_CLOSE = 0.01
"""Divisions of a word whose log-probabilities are closer than this are decided in 32 bits, as the C engine does."""
_CACHED_WORDS = 16_384
RETRIEVER, JUDGE = (Path(__file__).with_name(f"{name}.npz") for name in ("retriever", "judge"))


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

    def scores(self) -> NDArray[np.float32]:
        """Return the log-probability of each piece."""
        (count,) = struct.unpack_from("<i", self.content, self.vocabulary_at)
        return np.frombuffer(self.content, "<f4", count, self.vocabulary_at + 28 + 4 * (count + 1))

    def pieces(self) -> list[str]:
        """Return the pieces in the order of their ids."""
        (count,) = struct.unpack_from("<i", self.content, self.vocabulary_at)
        (size,) = struct.unpack_from("<Q", self.content, self.vocabulary_at + 20)
        offsets = np.frombuffer(self.content, "<u4", count + 1, self.vocabulary_at + 28)
        start = self.vocabulary_at + 28 + offsets.nbytes + 4 * count
        content = self.content[start : start + size]
        starts = np.frombuffer(content, np.uint8) & 0xC0 != 0x80  # the first byte of each character
        bounds = np.concatenate([[0], np.cumsum(starts)])[offsets].tolist()
        text = content.decode()
        return [text[a:b] for a, b in pairwise(bounds)]


def open_weights(file: Path, *, writable: bool = False) -> WeightFile:
    """Map the file and read its directory. If it is `writable`, changed pages are private copies.

    Raises ValueError: it is not a weight file.
    """
    with file.open("rb") as stream:
        content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY if writable else mmap.ACCESS_READ)
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


def matrix_size(part: str, shape: Shape) -> tuple[int, int]:
    """Return the rows and columns of a matrix in `MATRICES`."""
    match part:
        case "qkv":
            return 3 * shape.hidden, shape.hidden
        case "fi":
            return shape.inner, shape.hidden
        case "fo":
            return shape.hidden, shape.inner
        case _:
            return shape.hidden, shape.hidden


def codes(blocks: NDArray[np.uint8]) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
    """Return the codes (…, 32), -8..7, and the scales (…, 1) of Q4_0 blocks (…, 18)."""
    scales = np.ascontiguousarray(blocks[..., :2]).view("<f2").astype(np.float32)
    nibbles = blocks[..., 2:]
    return np.concatenate([nibbles & 15, nibbles >> 4], axis=-1).astype(np.int16) - 8, scales


def unpack(blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Convert Q4_0 blocks (…, blocks, 18) to floats (…, 32 · blocks)."""
    values, scales = codes(blocks)
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


class _Division(NamedTuple):
    ids: list[int]
    close: bool
    """Whether another division is about as likely."""


class _Pieces:
    """The pieces of the vocabulary by their first two characters. A text needs few of them, so only these are unpacked.

    A file of the cache has the pieces in this order: reading it is ten times as fast as sorting them.
    """

    def __init__(self, weights: WeightFile, cache: Path) -> None:
        stored = load_or_create(cache, lambda: _grouped_pieces(weights))
        arrays = read_arrays(io.BytesIO(stored))
        self._text = arrays["pieces"].tobytes().decode()
        self._ids = arrays["ids"]
        self._bounds = arrays["bounds"]
        prefixes = arrays["prefixes"].tobytes().decode().split("\n")
        self._groups = dict(zip(prefixes, range(len(prefixes)), strict=True))
        self.starting = lru_cache(_CACHED_WORDS)(self._starting)

    def _starting(self, prefix: str) -> tuple[dict[str, int], int]:
        """Return the ids of the pieces that begin with two characters, or are the first of them, and their most length.

        The length is 1 if there are none.
        """
        found = {**self._group(prefix[:1]), **(self._group(prefix) if len(prefix) > 1 else {})}
        return found, max(map(len, found), default=1)

    def _group(self, prefix: str) -> dict[str, int]:
        if (group := self._groups.get(prefix)) is None:
            return {}
        start, first = self._bounds[group].tolist()
        end, last = self._bounds[group + 1].tolist()
        return dict(zip(self._text[start : end - 1].split("\n"), self._ids[first:last].tolist(), strict=True))


def _grouped_pieces(weights: WeightFile) -> bytes:
    """Return the pieces and their ids, grouped by their first two characters, with where each group begins."""
    pieces = weights.pieces()
    order = sorted((each for each in range(len(pieces)) if each != _UNKNOWN), key=lambda each: pieces[each][:2])
    grouped = [(prefix, list(own)) for prefix, own in groupby(order, key=lambda each: pieces[each][:2])]
    bounds = [(0, 0)]
    characters = count = 0
    for _, own in grouped:
        characters += sum(len(pieces[each]) + 1 for each in own)
        count += len(own)
        bounds.append((characters, count))
    content = io.BytesIO()
    np.savez(
        content,
        pieces=np.frombuffer("".join(f"{pieces[each]}\n" for each in order).encode(), np.uint8),
        ids=np.array(order, np.int32),
        bounds=np.array(bounds, np.int64),
        prefixes=np.frombuffer("\n".join(prefix for prefix, _ in grouped).encode(), np.uint8),
    )
    return content.getvalue()


class Tokenizer:
    """Converts clean text to the same ids as the C engine. Threads may share it."""

    def __init__(self, weights: WeightFile, cache: Path) -> None:
        """Open the vocabulary; `cache` is a file in which it is kept in a form that is read at once."""
        self._pieces = _Pieces(weights, cache)
        scores = weights.scores().copy()
        scores[_UNKNOWN] = scores.min() - np.float32(_UNKNOWN_PENALTY)
        self._scores = scores
        self._score_list: list[float] = scores.tolist()
        self._divide_cached = lru_cache(_CACHED_WORDS)(self._divide)

    def ids(self, text: str) -> list[int]:
        """Return the ids with start and end markers, without a limit. A character without a piece is one unknown."""
        ids = [_START]
        for word in text.split(" "):
            division = self._divide_cached(word)
            # Of two equally likely divisions, rounding chooses one. It depends on the text before.
            ids += self._divide_exactly(word, ids[1:]) if division.close else division.ids
        return [*ids, _END]

    def _divide(self, word: str) -> _Division:
        """Return the most likely division in 64 bits, by Viterbi's algorithm."""
        text = _SPACE + word
        scores = self._score_list
        starting = self._pieces.starting
        size = len(text)
        close = False
        best = [0.0, *[-1e30] * size]
        last = [(0, _UNKNOWN)] * (size + 1)
        for start in range(size):
            so_far = best[start]
            ids, longest = starting(text[start : start + 2])
            for end in range(start + 1, min(size, start + longest) + 1):
                token_id = ids.get(text[start:end])
                if token_id is not None:
                    score = so_far + scores[token_id]
                    gain = score - best[end]
                    if gain > 0:
                        best[end] = score
                        last[end] = (start, token_id)
                    if -_CLOSE < gain < _CLOSE:
                        close = True
            if so_far + scores[_UNKNOWN] > best[start + 1]:
                best[start + 1] = so_far + scores[_UNKNOWN]
                last[start + 1] = (start, _UNKNOWN)
        return _Division(_path(last), close)

    def _divide_exactly(self, word: str, before: list[int]) -> list[int]:
        """Return the most likely division, with the C engine's 32-bit sums from the beginning of the text."""
        text = _SPACE + word
        size = len(text)
        best = np.full(size + 1, -1e30, np.float32)
        best[0] = np.add.accumulate(self._scores[before])[-1] if before else 0
        last = [(0, _UNKNOWN)] * (size + 1)
        for start in range(size):
            ids, longest = self._pieces.starting(text[start : start + 2])
            for end in range(start + 1, min(size, start + longest) + 1):
                token_id = ids.get(text[start:end])
                if token_id is not None and (score := best[start] + self._scores[token_id]) > best[end]:
                    best[end] = score
                    last[end] = (start, token_id)
            if (score := best[start] + self._scores[_UNKNOWN]) > best[start + 1]:
                best[start + 1] = score
                last[start + 1] = (start, _UNKNOWN)
        return _path(last)


def _path(last: list[tuple[int, int]]) -> list[int]:
    """Return the ids along the best path, from the piece and its start that are known for every end."""
    ids: list[int] = []
    end = len(last) - 1
    while end:
        end, token_id = last[end]
        ids.append(token_id)
    return ids[::-1]


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
