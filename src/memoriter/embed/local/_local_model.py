"""Find or download the model that `memorySearch.local.modelPath` names: a local GGUF file, or one of the hub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.embed.local._download import download_model
from memoriter.embed.local._gguf import open_gguf
from memoriter.embed.local._hub import HUB, is_model_uri, parse_model_uri, stored_path
from memoriter.embed.local._llama import usable_package

if TYPE_CHECKING:
    from memoriter.embed.local._download import Progress
    from memoriter.embed.local._local import LocalProvider


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
