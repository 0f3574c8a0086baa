"""The speed of the bundled model, which decides how long the first indexing takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks._report import Row
from benchmarks._timing import each, timed
from memoriter.embed import embed_in_batches, open_provider
from memoriter.sync import ChunkingSettings, chunks_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks._corpus import Corpus
    from benchmarks._effort import Effort
    from memoriter.embed import EmbeddingProvider

QUERIES = 20
FEW = 32
"""Batch size at which the C engine embeds the documents."""


def embedding(cache_dir: Path, corpus: Corpus, effort: Effort) -> Iterator[Row]:
    """Yield the rows of both engines on the same chunks, in batches of a sync, and of a query."""
    texts = [chunk.contextual for note in corpus.notes for chunk in chunks_of(note.text, ChunkingSettings())][
        : effort.embedded
    ]
    provider = open_provider("bundled", cache_dir=cache_dir)
    try:
        questions = corpus.questions[:QUERIES]
        query = each(lambda text: provider.embed([text], role="query"), questions, repeats=effort.repeats)
        yield Row("embed.query", "bundled model, one query", 0, query.p50 * 1000, "ms", query.p95 * 1000)
        few = texts[: len(texts) // 4]
        native = timed(lambda: _in_parts(provider, few))
        yield Row("embed.native", "bundled model, few chunks (C engine)", 0, len(few) / native, "chunks/s")
        provider.hint_batch_size(10_000)
        start = timed(lambda: provider.embed(texts[:1], role="document"))
        yield Row("embed.start", "- first start of onnxruntime", 0, start, "s")
        bulk = timed(lambda: list(embed_in_batches(provider, texts, role="document")))
        yield Row("embed.bulk", "bundled model, many chunks (onnxruntime)", 0, len(texts) / bulk, "chunks/s")
    finally:
        provider.close()


def _in_parts(provider: EmbeddingProvider, texts: list[str]) -> None:
    """Embed in batches that are too small for onnxruntime to start."""
    for first in range(0, len(texts), FEW):
        provider.hint_batch_size(0)
        for _ in embed_in_batches(provider, texts[first : first + FEW], role="document"):
            pass
