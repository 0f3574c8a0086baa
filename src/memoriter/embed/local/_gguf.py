"""The provider `local`: a GGUF file, or a model of the hub that is one, run by llama.cpp."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.embed._artefact import revision_of
from memoriter.embed.local._download import download_model
from memoriter.embed.local._families import family_of
from memoriter.embed.local._gguf_header import read_gguf
from memoriter.embed.local._hub import HUB, is_model_uri, parse_model_uri, stored_path
from memoriter.embed.local._llama import usable_package
from memoriter.embed.local._local import MOST_TOKENS, LocalProvider, threads_to_use
from memoriter.errors import ProviderUnavailable
from memoriter.types import ModelSpec

if TYPE_CHECKING:
    from memoriter.embed.local._download import Progress
    from memoriter.embed.local._local import Form, LocalEngine

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


def local_file(model: str, model_cache_dir: Path) -> Path | None:
    """Return the file that `open_local` would open, or None if finding it needs the hub.

    Raises:
        ConfigError: the `hf:` address is invalid.
    """
    if not is_model_uri(model):
        return Path(model)
    hub_model = parse_model_uri(model)
    file = stored_path(hub_model, model_cache_dir) if hub_model.file else None
    return file if file is not None and file.is_file() else None


def open_local(
    model: str,
    *,
    cache_dir: Path,
    model_cache_dir: Path,
    threads: int | None = None,
    hub: str = HUB,
    token: str | None = None,
    offline: bool = False,
    progress: Progress | None = None,
) -> LocalProvider:
    """Return the provider `local` for a path or an `hf:` address; download a model of the hub if it is missing.

    Raises:
        ConfigError: the `hf:` address is invalid.
        ProviderUnavailable: llama.cpp is not installed, or there is no complete model; the remedy gives the next step.
    """
    usable_package()  # before anything large is downloaded
    file = (
        download_model(model, model_cache_dir=model_cache_dir, hub=hub, token=token, offline=offline, progress=progress)
        if is_model_uri(model)
        else Path(model)
    )
    return open_gguf(file, cache_dir=cache_dir, threads=threads)
