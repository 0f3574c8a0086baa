"""What `memorySearch.local.modelPath` names, made ready: a GGUF file of this machine, or one of the hub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.embed.local._download import download_model
from memoriter.embed.local._gguf import open_gguf
from memoriter.embed.local._hub import HUB, is_model_uri, parse_model_uri, place_of
from memoriter.embed.local._llama import usable_package

if TYPE_CHECKING:
    from memoriter.embed.local._download import Progress
    from memoriter.embed.local._local import LocalProvider


def file_at_hand(model: str, model_cache_dir: Path) -> Path | None:
    """The file that `open_local` would open, without asking the hub; None where only the hub can tell.

    Raises:
        ConfigError: the address is not one of the hub's.
    """
    if not is_model_uri(model):
        return Path(model)
    named = parse_model_uri(model)
    file = place_of(named, model_cache_dir) if named.file else None
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
    """The provider `local` for a path or an `hf:` address; a model of the hub is downloaded if it is not there yet.

    Raises:
        ConfigError: the address is not one of the hub's.
        ProviderUnavailable: llama.cpp is not installed, or there is no whole model; the remedy says what to do.
    """
    usable_package()  # before anything large is downloaded
    file = (
        download_model(model, model_cache_dir=model_cache_dir, hub=hub, token=token, offline=offline, progress=progress)
        if is_model_uri(model)
        else Path(model)
    )
    return open_gguf(file, cache_dir=cache_dir, threads=threads)
