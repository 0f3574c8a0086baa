"""The provider `local`: a GGUF file, run by llama.cpp."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.embed.local._families import family_of
from memoriter.embed.local._gguf_header import read_gguf
from memoriter.embed.local._llama import usable_package
from memoriter.embed.local._local import MOST_TOKENS, LocalProvider, threads_to_use
from memoriter.embed.local._model_file import revision_of
from memoriter.errors import ProviderUnavailable
from memoriter.types import ModelSpec

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.embed.local._local import LocalEngine
    from memoriter.embed.local._readable import Form

_UNKNOWN_CONTEXT = 512
_POOLINGS = {"mean", "cls", "last"}
_CHOOSE_ANOTHER = "Choose an embedding model."


def open_gguf(path: Path, *, cache_dir: Path, threads: int | None = None) -> LocalProvider:
    """Return the model of a GGUF file, ready to embed. llama.cpp loads it at the first use.

    Args:
        path: the GGUF file.
        cache_dir: may not exist yet; everything in it can be deleted.
        threads: the maximum to use; by default one per core, up to 8.

    Raises:
        ProviderUnavailable: llama.cpp is not installed, or the file is not a complete embedding model.
    """
    package = usable_package()
    spec = gguf_spec(path, cache_dir=cache_dir)
    threads = threads_to_use(threads)

    def load() -> LocalEngine:
        passed = cache_dir / "trials" / spec.revision
        return package(str(path), pooling=spec.pooling, most_tokens=spec.max_tokens, threads=threads, passed=passed)

    form: Form = "NFKC" if spec.normaliser == "nfkc" else "NFC"
    return LocalProvider(spec, form, load)


def gguf_spec(path: Path, *, cache_dir: Path) -> ModelSpec:
    """Return the model of a GGUF file, without llama.cpp.

    Raises:
        ProviderUnavailable: the file is not a complete embedding model.
    """
    header = read_gguf(path)
    if not header.embedding_length:
        raise ProviderUnavailable(
            f"The model file does not say how long its vectors are: {path}.", remedy=_CHOOSE_ANOTHER
        )
    if header.pooling == "rank":
        raise ProviderUnavailable(f"The model ranks texts, it makes no vectors: {path}.", remedy=_CHOOSE_ANOTHER)
    family = family_of(header.architecture, header.name, header.base_model, path.stem)
    pooling = header.pooling if header.pooling in _POOLINGS else family.pooling
    # llama.cpp needs one more position when it reads a text piece by piece.
    max_tokens = (header.context_length or _UNKNOWN_CONTEXT) - (pooling == "last")
    return ModelSpec(
        provider="local",
        # Not the file's name: renaming the file must not invalidate all vectors.
        model=header.name or header.architecture,
        dimensions=header.embedding_length,
        revision=revision_of([path], cache_dir),
        query_template=family.query,
        document_template=family.document,
        pooling=pooling,
        # Unigram models were trained on NFKC, and not every file contains its table; other models distinguish forms.
        normaliser="nfkc" if header.tokenizer == "t5" else "nfc",
        max_tokens=min(max_tokens, MOST_TOKENS),
        background=family.background,
    )
