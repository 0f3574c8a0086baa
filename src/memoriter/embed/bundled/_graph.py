"""The bundled model's weights as an onnxruntime graph: its second engine, and the judge.

The graph is five times as fast as the C engine, and slow to start. It stores the same 4-bit codes in bytes, which makes
it a seventh faster (measured on x86 with 238 tokens per text), and computes with 8 bits: the cosine with the C engine
is .9996 or more in ten languages.

The judge reads a question and lines of a note together, and says whether the lines answer, and which of them. It is a
cross-encoder on the released 4-bit codes of the retriever, with scales, biases, norms and positions of its own and
three small matrices: `benchmarks/model.md`. A pair is one sequence:
`<s> query: Q </s> </s> passage: HEADING LINES </s>`.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from memoriter.embed._artefact import load_or_create
from memoriter.embed._provider import cosine
from memoriter.embed.bundled._native import (
    JUDGE_SHA256,
    MOST_TOKENS,
    RETRIEVER_SHA256,
    clean,
    fit_to_limit,
    vocabulary_file,
)
from memoriter.embed.bundled._weightfile import (
    BLOCK,
    JUDGE,
    MATRICES,
    NORMS,
    Tokenizer,
    codes,
    matrix_size,
    open_weights,
    read_patch,
    tuned_weights,
    unpack,
)
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
MOST_QUESTION_TOKENS = 64
MOST_HEADING_TOKENS = 24
MOST_PASSAGE_TOKENS = 96
"""Tokens of a passage with its heading. With 64, and with 160, answers are told from near-misses less well."""
_END = 2


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


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the judge says of one passage."""

    logit: float
    """Whether the passage answers: the higher, the more certain. Half of the passages that answer have less than 0."""
    first: int
    """The first line that was read, 0-based."""
    marks: tuple[float, ...]
    """For each line from `first` on that was read: the mean logit that it is the answer."""

    @property
    def lines(self) -> tuple[int, int]:
        """The first and the last line of the answer, 0-based: the most likely one, and those beside it that are too."""
        best = max(range(len(self.marks)), key=self.marks.__getitem__)
        first = last = best
        while first > 0 and self.marks[first - 1] > 0:
            first -= 1
        while last + 1 < len(self.marks) and self.marks[last + 1] > 0:
            last += 1
        return self.first + first, self.first + last


class JudgeEngine:
    """Reads one pair at a time, on the calling thread. Threads may share it."""

    def __init__(self, released: Path, cache_dir: Path) -> None:
        """Load the graph, the tokenizer and the weights, which are cached once they are converted (0.4 s, at first 1).

        Raises Exception: any error of a package that is missing or too old, of a damaged file, or of a full disk.
        """
        weights = open_weights(released)
        with ThreadPoolExecutor(1) as beside:  # the vocabulary takes as long as all the rest
            vocabulary = beside.submit(Tokenizer, weights, vocabulary_file(cache_dir))
            self._load(weights, released, cache_dir)
            self._tokenizer = vocabulary.result()

    def _load(self, weights: WeightFile, released: Path, cache_dir: Path) -> None:
        patch = read_patch(JUDGE, JUDGE_SHA256)
        names = (
            "seg",
            "enc.pos",
            "pool.weight",
            "pool.bias",
            "score.weight",
            "score.bias",
            "tag.weight",
            "tag.bias",
        )
        arrays = {name: patch[name].astype(np.float32) for name in names}
        cached = cache_dir / f"judge-{JUDGE_SHA256[:16]}-{BUILD}" / "weights"
        converted = load_or_create(cached, lambda: convert_weights(tuned_weights(released, JUDGE, JUDGE_SHA256)))
        self._session = open_session(split_weights(converted, weights.shape))
        self._words = weights.blocks("emb.word", weights.shape.hidden)
        self._arrays = arrays

    def judge(self, question: str, heading: str, lines: Sequence[str], best: int) -> Judgement:
        """Return whether the lines around the `best` one, as many as fit, answer a question; the heading is above."""
        asked = self._ids(f"query: {question}")[: MOST_QUESTION_TOKENS - 2]
        above = self._ids(f"passage: {heading}")[:MOST_HEADING_TOKENS]
        first, read = self._around(lines, best, MOST_PASSAGE_TOKENS - len(above))
        ids = [0, *asked, _END, _END, *above, *(token for line in read for token in line), _END]
        states = self._states(ids, len(asked) + 2)
        tags = states @ self._arrays["tag.weight"][0] + self._arrays["tag.bias"][0]
        at = len(asked) + 3 + len(above)
        marks = list[float]()
        for line in read:
            marks.append(float(tags[at : at + len(line)].mean()) if line else -math.inf)
            at += len(line)
        return Judgement(self._logit(states, len(asked) + 2), first, tuple(marks))

    def _states(self, ids: Sequence[int], question: int) -> NDArray[np.float32]:
        """Return the state of each token, (n, hidden); `question` tokens come before those of the passage."""
        tokens = unpack(self._words[ids]) + self._arrays["enc.pos"][: len(ids)]
        tokens[:question] += self._arrays["seg"][0]
        tokens[question:] += self._arrays["seg"][1]
        (states,) = self._session.run(None, {"tokens": tokens[None]})
        return states[0]  # type: ignore[no-any-return]

    def _logit(self, states: NDArray[np.float32], question: int) -> float:
        parts = states[0], states[:question].mean(axis=0), states[question:].mean(axis=0)
        pooled = self._arrays["pool.weight"] @ np.concatenate(parts) + self._arrays["pool.bias"]
        active = np.array([0.5 * each * (1 + math.erf(each / math.sqrt(2))) for each in pooled.tolist()])
        return float(self._arrays["score.weight"][0] @ active + self._arrays["score.bias"][0])

    def _around(self, lines: Sequence[str], best: int, room: int) -> tuple[int, list[list[int]]]:
        """Return the first line that is read, and the tokens of each: the best one, and those around it that fit."""
        read = {best: self._ids(lines[best])[:room]}
        room -= len(read[best])
        for at in _outwards(best, len(lines)):
            if not ({at - 1, at + 1} & read.keys()):
                continue
            tokens = self._ids(lines[at])
            if len(tokens) <= room:
                read[at] = tokens
                room -= len(tokens)
        return min(read), [read[at] for at in sorted(read)]

    def _ids(self, text: str) -> list[int]:
        return self._tokenizer.ids(clean(text))[1:-1] if text.strip() else []


def _outwards(start: int, count: int) -> Iterator[int]:
    """Yield all other positions below `count`, the nearest first, and of two equally near ones the later one.

    >>> list(_outwards(1, 4))
    [2, 0, 3]
    """
    for step in range(1, count):
        yield from (at for at in (start + step, start - step) if 0 <= at < count)
