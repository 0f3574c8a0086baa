"""The hub of models: addresses such as `hf:owner/repo/file.gguf` or `hf:owner/repo:Q8_0`, and where files are kept."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from memoriter.errors import ConfigError, ProviderUnavailable
from memoriter.values import dataclass

HUB = "https://huggingface.co"
_SCHEME = re.compile(r"(?:hf|huggingface):(?://)?", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/-]*")
_PART_OF_SEVERAL = re.compile(r"-\d{5}-of-\d{5}\.gguf$", re.IGNORECASE)
_PREFERRED = "Q8_0"
"""The size to use by default: it loses little quality, and embedding models are small."""


@dataclass(frozen=True, slots=True)
class HubModel:
    """A model file of the hub; `file` is empty until the file for `quant` is known."""

    owner: str
    repo: str
    file: str = ""
    """Path within the repository, with `/`."""
    quant: str = ""
    revision: str = "main"

    @property
    def name(self) -> str:
        """The name for messages."""
        return f"hf:{self.owner}/{self.repo}" + (f"/{self.file}" if self.file else f":{self.quant}" * bool(self.quant))


def is_model_uri(text: str) -> bool:
    """Return whether the text names a model of the hub rather than a local file."""
    return _SCHEME.match(text) is not None


def parse_model_uri(uri: str) -> HubModel:
    """Parse an `hf:` address; `#` precedes a branch, a tag or a commit.

    Raises ConfigError: the text is not such an address.
    """
    scheme = _SCHEME.match(uri)
    path, _, revision = uri[scheme.end() if scheme else 0 :].partition("#")
    path, _, quant = path.partition(":")
    owner, _, rest = path.partition("/")
    repo, _, file = rest.partition("/")
    model = HubModel(owner, repo, file, quant, revision or "main")
    if scheme is None or not _is_valid(model) or (file and quant):
        raise ConfigError(
            f"The address {uri!r} does not name a model of the hub.",
            remedy="Write hf:owner/repo/file.gguf, or hf:owner/repo:Q8_0 for one of its sizes.",
        )
    return model


def file_url(model: HubModel, hub: str = HUB) -> str:
    """Return the URL that the file is downloaded from."""
    return f"{hub.rstrip('/')}/{model.owner}/{model.repo}/resolve/{quote(model.revision, '')}/{quote(model.file)}"


def listing_url(model: HubModel, hub: str = HUB) -> str:
    """Return the URL of the repository's list of files."""
    revision = quote(model.revision, "")
    return f"{hub.rstrip('/')}/api/models/{model.owner}/{model.repo}/tree/{revision}?recursive=true"


def choose_file(model: HubModel, listing: bytes) -> HubModel:
    """Return the model with its file: the one of the given size; by default the only file, or the one of 8 bits.

    Raises ProviderUnavailable: the list cannot be parsed, no file matches, or the matching file is split into several.
    """
    try:
        files = sorted(str(entry["path"]) for entry in json.loads(listing) if entry["type"] == "file")
    except (ValueError, TypeError, LookupError) as error:
        raise ProviderUnavailable(
            f"The hub's list of the files of {model.name} cannot be read.", remedy="Name the file itself."
        ) from error
    models = [
        file for file in files if file.lower().endswith(".gguf") and "mmproj" not in file and _is_path_below(file)
    ]
    matches = models if len(models) == 1 and not model.quant else [f for f in models if _has_size(f, model.quant)]
    if not matches:
        names = ", ".join(models[:12]) or "none"
        raise ProviderUnavailable(f"No file of {model.name} matches.", remedy=f"Name one of its GGUF files: {names}.")
    file = min(matches, key=lambda file: (len(file), file))
    if _PART_OF_SEVERAL.search(file):
        raise ProviderUnavailable(
            f"The model {model.name} is split into several files.",
            remedy="Choose a size that is one file, or join them yourself.",
        )
    return replace(model, file=file)


def stored_path(model: HubModel, model_cache_dir: Path) -> Path:
    """Return where the file is stored: OpenClaw's copy if it exists, or else our own path."""
    openclaw_file = model_cache_dir / f"hf_{model.owner}_{model.file.rpartition('/')[2]}"
    if model.revision == "main" and openclaw_file.is_file():
        return openclaw_file
    folder = model_cache_dir / model.owner / model.repo
    if model.revision != "main":
        folder = folder / f"@{model.revision.replace('/', '_')}"
    return folder.joinpath(*model.file.split("/"))


def local_file(model: str, model_cache_dir: Path) -> Path | None:
    """Return the file that a path or an `hf:` address names, or None if finding it needs the hub.

    Raises ConfigError: the `hf:` address is invalid.
    """
    if not is_model_uri(model):
        return Path(model)
    hub_model = parse_model_uri(model)
    file = stored_path(hub_model, model_cache_dir) if hub_model.file else None
    return file if file is not None and file.is_file() else None


def is_downloaded(uri: str, model_cache_dir: Path) -> bool:
    """Return whether a file that the address may stand for is on this machine."""
    try:
        model = parse_model_uri(uri)
    except ConfigError:
        return False
    if model.file:
        return stored_path(model, model_cache_dir).is_file()
    return any((model_cache_dir / model.owner / model.repo).rglob("*.gguf"))


def _has_size(file: str, quant: str) -> bool:
    return re.search(rf"(^|[-._/]){re.escape(quant or _PREFERRED)}([-._/]|$)", file, re.IGNORECASE) is not None


def _is_valid(model: HubModel) -> bool:
    names = _NAME.fullmatch(model.owner) and _NAME.fullmatch(model.repo)
    file = not model.file or (model.file.lower().endswith(".gguf") and _is_path_below(model.file))
    quant = not model.quant or _NAME.fullmatch(model.quant)
    return bool(names and file and quant and _REVISION.fullmatch(model.revision) and ".." not in model.revision)


def _is_path_below(path: str) -> bool:
    """Return whether the path stays below the folder it is joined to, on every system."""
    parts = path.split("/")
    return all(part.strip(". ") and not re.search(r'[\\:*?"<>|\x00-\x1f]', part) for part in parts)
