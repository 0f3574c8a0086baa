"""Rerankers from files: cross-encoders exported to ONNX, and GGUF models with a ranking head.

A cross-encoder reads a question and a passage as one input and returns one number. Scores are on the model's own scale.
"""

from __future__ import annotations

import importlib.util
import math
import threading
from typing import TYPE_CHECKING, Any, Protocol

from memoriter.embed._artefact import revision_of
from memoriter.embed.local._gguf import read_gguf
from memoriter.embed.local._llama import LlamaServer, try_model, usable_package
from memoriter.embed.local._local import MOST_TOKENS, prepare_text, threads_to_use
from memoriter.embed.local._onnx import (
    input_builder,
    load_session,
    load_tokenizer,
    read_onnx_folder,
    require_packages,
)
from memoriter.errors import BadScores, InputRejected, InputTooLarge, ProviderUnavailable, TransientFailure, sentence
from memoriter.extras import install_command

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from memoriter.embed.local._onnx import OnnxFolder

_UNKNOWN_CONTEXT = 512
_VECTOR_POOLINGS = {"none", "mean", "cls", "last"}
_LEAST_TOKENS = 16
"""The least limit that a tokenizer gets, because it must be larger than the number of markers of a pair."""
_LEAST_CHARACTERS = 8
"""Texts that are too long together are not cut below this."""
_EXPORT = "Export a cross-encoder with its tokenizer: `optimum-cli export onnx --task text-classification`."

_NAME_A_FILE = "Set memorySearch.query.rerank.local.modelPath to the GGUF file of a reranker."


class RankingEngine(Protocol):
    """One loaded cross-encoder. Threads may share it."""

    def relevance(self, query: str, passage: str) -> float:
        """Return the model's score of a pair. Text over the limit is ignored. Raises EmbeddingError."""
        ...

    def close(self) -> None:
        """Release the model."""
        ...


class LocalReranker:
    """Scores passages one after another, so that no score depends on other passages.

    The model is loaded at the first use, and again at the first use after `close`.
    """

    def __init__(self, service: str, load: Callable[[], RankingEngine], clock: Callable[[], float]) -> None:
        """Prepare the reranker without loading the model; `clock` returns monotonic seconds."""
        self.service = service
        """The name of the model, for messages."""
        self._load = load
        self._clock = clock
        self._lock = threading.Lock()
        self._engine: RankingEngine | None = None

    def scores(self, query: str, passages: Sequence[str], *, seconds: float) -> list[float]:
        """Return the relevance of each passage; larger is better. The seconds do not include loading the model.

        Raises EmbeddingError: the model cannot be loaded, refuses a text, or took too long.
        """
        with self._lock:
            engine = self._engine = self._engine or self._load()
        deadline = self._clock() + seconds
        question = prepare_text(query, "NFC", MOST_TOKENS)
        scores: list[float] = []
        for passage in passages:
            if self._clock() >= deadline:
                raise TransientFailure(
                    f"The reranker {self.service} read {len(scores)} of {len(passages)} passages in {seconds:g} s.",
                    remedy="Set memorySearch.query.rerank.candidates lower, or choose a smaller model.",
                )
            score = engine.relevance(question, prepare_text(passage, "NFC", MOST_TOKENS))
            if not math.isfinite(score):
                raise BadScores(f"The reranker {self.service} gave a score that is not a finite number.")
            scores.append(score)
        return scores

    def close(self) -> None:
        """Release the model."""
        with self._lock:
            engine = self._engine
            self._engine = None
        if engine is not None:
            engine.close()


def open_onnx_reranker(path: Path, *, clock: Callable[[], float]) -> LocalReranker:
    """Return the cross-encoder of a folder or an `.onnx` file. It is loaded at the first use.

    Raises ProviderUnavailable: a package is not installed, or a file is missing.
    """
    require_packages()
    try:
        model = read_onnx_folder(path)
    except ProviderUnavailable as error:
        raise ProviderUnavailable(error.message, remedy=_EXPORT) from error
    return LocalReranker(model.name, lambda: OnnxCrossEncoder(model, threads_to_use(None)), clock)


class OnnxCrossEncoder:
    """Scores one pair per run, by a graph with one label (relevant), or with two (not relevant, relevant)."""

    def __init__(self, model: OnnxFolder, threads: int) -> None:
        """Load tokenizer and graph.

        Raises ProviderUnavailable: one of them does not load, or the graph is no cross-encoder.
        """
        self._tokenizer = load_tokenizer(model)
        self._tokenizer.enable_truncation(max(model.max_tokens, _LEAST_TOKENS), strategy="longest_first")
        self._session = load_session(model, threads)
        self._inputs = {node.name: input_builder(node, model) for node in self._session.get_inputs()}
        outputs: dict[str, list[Any]] = {node.name: node.shape for node in self._session.get_outputs()}
        self._output = "logits" if "logits" in outputs else next(iter(outputs), "")
        shape = outputs.get(self._output, [])
        if len(shape) != 2 or (isinstance(shape[1], int) and shape[1] not in {1, 2}):
            raise ProviderUnavailable(
                f"The graph gives no score of a question and a passage: {model.graph}.", remedy=_EXPORT
            )

    def relevance(self, query: str, passage: str) -> float:
        import numpy as np

        try:
            encoded = self._tokenizer.encode(query, passage)
            inputs = {name: fill(encoded.ids, encoded.type_ids) for name, fill in self._inputs.items()}
            (output,) = self._session.run([self._output], inputs)
        except Exception as error:
            raise InputRejected(f"The engine onnxruntime refused the text: {sentence(error)}") from error
        logits: Any = np.asarray(output, np.float32).reshape(-1)
        if logits.size not in {1, 2}:
            raise ProviderUnavailable(f"The graph gives {logits.size} scores for a passage.", remedy=_EXPORT)
        return float(logits[-1] - logits[0]) if logits.size == 2 else float(logits[0])

    def close(self) -> None:
        """Do nothing. The memory is freed with the last reference to the model."""


def open_gguf_reranker(path: Path, *, cache_dir: Path, clock: Callable[[], float]) -> LocalReranker:
    """Return the reranker of a GGUF file. llama.cpp loads it at the first use.

    Raises ProviderUnavailable: llama.cpp is not installed, or the file is no complete reranker.
    """
    usable_package()
    if importlib.util.find_spec("xllamacpp") is None:
        raise ProviderUnavailable(
            "GGUF rerankers need the package xllamacpp, which is not installed; llama-cpp-python does not rerank.",
            remedy=f"Run `{install_command('local')}`.",
        )
    try:
        header = read_gguf(path)
    except ProviderUnavailable as error:
        raise ProviderUnavailable(error.message, remedy=_NAME_A_FILE) from error
    if header.pooling in _VECTOR_POOLINGS:
        raise ProviderUnavailable(
            f"The model makes vectors, it does not rank texts: {path}.",
            remedy="Choose a reranker, such as bge-reranker-v2-m3, or set memorySearch.query.rerank to off.",
        )
    most_tokens = min(header.context_length or _UNKNOWN_CONTEXT, MOST_TOKENS)

    def load() -> RankingEngine:
        passed = cache_dir / "trials" / revision_of([path], cache_dir)
        try_model(str(path), pooling="rank", most_tokens=most_tokens, passed=passed)
        return GgufRanker(LlamaServer(str(path), pooling="rank", most_tokens=most_tokens, threads=threads_to_use(None)))

    return LocalReranker(header.name or path.stem, load, clock)


class GgufRanker:
    """Scores one pair at a time by llama.cpp."""

    def __init__(self, server: LlamaServer) -> None:
        self._server = server

    def relevance(self, query: str, passage: str) -> float:
        """Return the score of a pair. While it is too long for the model, the longer text is cut in half."""
        while True:
            try:
                return self._server.relevance(query, passage)
            except InputTooLarge:
                if max(len(query), len(passage)) <= _LEAST_CHARACTERS:
                    raise
                if len(passage) >= len(query):
                    passage = passage[: len(passage) // 2]
                else:
                    query = query[: len(query) // 2]

    def close(self) -> None:
        self._server.close()
