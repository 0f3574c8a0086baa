"""The provider `local`: a GGUF file of the user's, run by llama.cpp."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoriter.embed._families import Family, family_of
from memoriter.embed._gguf_header import read_gguf
from memoriter.embed._limits import max_input_tokens, utf8_size
from memoriter.embed._llama import usable_package
from memoriter.embed._model_file import revision_of
from memoriter.embed._readable import counted, readable
from memoriter.embed._vectors import normalise
from memoriter.errors import BadVector, ProviderUnavailable
from memoriter.types import ModelSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed._gguf_header import GgufHeader
    from memoriter.embed._llama import LlamaEngine
    from memoriter.embed._readable import Form
    from memoriter.types import Role

_PROVIDER = "local"
_UNKNOWN_CONTEXT = 512
_MOST_THREADS = 8
_MARKS = 8
"""Tokens that a model adds at most for the start and the end."""
_POOLINGS = {"mean", "cls", "last"}


def open_gguf(path: Path, *, cache_dir: Path, threads: int | None = None) -> GgufProvider:
    """The model in a GGUF file, ready to embed; llama.cpp loads it at the first use.

    `cache_dir` may not exist yet; all in it can be deleted. `threads` is the most to use, by default as many as cores.

    Raises:
        ProviderUnavailable: llama.cpp is not installed, or the file is not a whole embedding model.
    """
    package = usable_package()
    known = gguf_spec(path, cache_dir=cache_dir)
    return GgufProvider(path, known, package, threads or min(_cores(), _MOST_THREADS))


def gguf_spec(path: Path, *, cache_dir: Path) -> KnownModel:
    """What is known of the model in a GGUF file without llama.cpp.

    Raises:
        ProviderUnavailable: the file is not a whole embedding model.
    """
    header = read_gguf(path)
    if not header.embedding_length:
        raise ProviderUnavailable(
            f"the model file does not say how long its vectors are: {path}", remedy="choose an embedding model"
        )
    if header.pooling == "rank":
        raise ProviderUnavailable(
            f"the model ranks pairs of texts, it makes no vectors: {path}", remedy="choose an embedding model"
        )
    family = family_of(header.architecture, header.name, path.stem)
    return KnownModel(_spec(path, header, family, revision_of([path], cache_dir)), _form(header))


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model file as it will be used."""

    spec: ModelSpec
    form: Form
    """How Unicode is composed before the tokenizer sees it."""


class GgufProvider:
    """Texts go to llama.cpp one after another; it shares each among its threads."""

    def __init__(self, path: Path, known: KnownModel, package: Callable[..., LlamaEngine], threads: int) -> None:
        self.spec = known.spec
        self._path = path
        self._form: Form = known.form
        self._package = package
        self._threads = threads
        self._lock = threading.Lock()
        self._engine: LlamaEngine | None = None

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        import numpy as np

        rows = np.empty((len(texts), self.spec.dimensions), np.float32)
        if not texts:
            return rows
        engine = self._loaded()
        for position, text in enumerate(texts):
            vector = engine.embed(self._as_read(text, role))
            if vector.shape != rows.shape[1:]:
                raise BadVector(f"the model gave {vector.size} dimensions in place of {self.spec.dimensions}")
            rows[position] = vector
        unit, usable = normalise(rows)
        if not usable.all():
            raise BadVector("llama.cpp gave a vector that is zero or not finite")
        return unit

    def count_tokens(self, text: str) -> int:
        template = self.spec.document_template
        most = utf8_size(text) + utf8_size(template) + _MARKS
        if most <= self.spec.max_tokens:
            # No tokenizer makes more tokens than there are bytes, so an estimate will do.
            return min(most, utf8_size(text) // 3 + len(template) // 4 + 2)
        tokens = self._loaded().count(self._as_read(text, "document"))
        return counted(tokens, text, self.spec.max_tokens)

    def expect(self, chunks: int) -> None:
        """The model is the same for one text and for many."""

    def close(self) -> None:
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def _as_read(self, text: str, role: Role) -> str:
        template = self.spec.query_template if role == "query" else self.spec.document_template
        return template.replace("{text}", readable(text, self._form, self.spec.max_tokens))

    def _loaded(self) -> LlamaEngine:
        with self._lock:
            if self._engine is None:
                self._engine = self._package(
                    str(self._path),
                    pooling=self.spec.pooling,
                    most_tokens=self.spec.max_tokens,
                    threads=self._threads,
                )
            return self._engine


def _spec(path: Path, header: GgufHeader, family: Family, revision: str) -> ModelSpec:
    return ModelSpec(
        provider=_PROVIDER,
        model=path.name,
        dimensions=header.embedding_length,
        revision=revision,
        query_template=family.query,
        document_template=family.document,
        pooling=header.pooling if header.pooling in _POOLINGS else family.pooling,
        normaliser=_form(header).lower(),
        max_tokens=min(header.context_length or _UNKNOWN_CONTEXT, max_input_tokens(_PROVIDER, path.name)),
        background=family.background,
    )


def _form(header: GgufHeader) -> Form:
    """Unigram models were trained on NFKC, and not every file brings the table for it; others tell forms apart."""
    return "NFKC" if header.tokenizer == "t5" else "NFC"


def _cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
