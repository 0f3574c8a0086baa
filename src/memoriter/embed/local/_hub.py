"""The hub of models: locations such as `hf:owner/repo/file.gguf` or `hf:owner/repo:Q8_0`, and streams of its files."""

from __future__ import annotations

import json
import re
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from memoriter.errors import ConfigError, ProviderUnavailable
from memoriter.extras import install_command, missing_packages
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    import httpx2

HUB = "https://huggingface.co"
_SCHEME = re.compile(r"(?:hf|huggingface):(?://)?", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/-]*")
_PART_OF_SEVERAL = re.compile(r"-\d{5}-of-\d{5}\.gguf$", re.IGNORECASE)
_PREFERRED = "Q8_0"
"""The size to use by default: it loses little quality, and embedding models are small."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS = 5
_KEPT_OF_REDIRECTS = "x-linked-"
"""Prefix of the headers to keep from redirects: the hub describes a file before it redirects to the content."""
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
LEAST_BYTES_A_SECOND = 1024
"""A server that sends fewer bytes per second is treated as stalled."""
_HUB = "Check HF_ENDPOINT, or set local.modelPath to a GGUF file."


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


class Interrupted(Exception):
    """The connection could not be opened, or broke. The data received is valid, and a retry may get the rest."""


@dataclass(frozen=True, slots=True)
class StreamedResponse:
    """A response of a server."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    pieces: Iterator[bytes]
    """The content in pieces as they arrive, never decoded. Iterating may raise Interrupted."""


class _WaitLimit:
    """Limits the time spent waiting for a server: `seconds` in total for each part of a minimum size."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._waited = self._bytes = 0.0
        self._waiting_since: float | None = None

    def left(self) -> float:
        """Return the seconds left."""
        current = 0.0 if self._waiting_since is None else time.monotonic() - self._waiting_since
        return self._seconds - self._waited - current

    def begin(self) -> None:
        """Start to count waiting time."""
        self._waiting_since = time.monotonic()

    def end(self, count: int) -> None:
        """Stop counting waiting time after `count` bytes arrived. Time spent on processing them does not count."""
        if self._waiting_since is not None:
            self._waited += time.monotonic() - self._waiting_since
            self._waiting_since = None
        self._bytes += count
        if self._bytes >= self._seconds * LEAST_BYTES_A_SECOND:
            self._waited = self._bytes = 0.0


@contextmanager
def open_stream(url: str, headers: Mapping[str, str], *, seconds: float) -> Generator[StreamedResponse]:
    """GET an address and follow redirects.

    The authorization header is sent to the first origin only.

    Args:
        url: the address.
        headers: sent with the request.
        seconds: the longest wait for the headers, including the name lookup, and then for each part of the content that
            has `LEAST_BYTES_A_SECOND`. A server that sends a byte now and then counts as stalled.

    Raises:
        Interrupted: the connection cannot be opened, or breaks.
        ProviderUnavailable: the redirects form a loop, lead to no address, or switch between https and http.
    """
    _require_client()
    import memoriter.embed._network as network

    hub_headers: dict[str, str] = {}
    request_headers = {"user-agent": "memoriter", **headers, "accept-encoding": "identity"}
    for _ in range(_MOST_REDIRECTS + 1):
        wait_limit = _WaitLimit(seconds)
        with _request(url, request_headers, wait_limit) as response:
            hub_headers |= {
                name: text for name, text in response.headers.items() if name.startswith(_KEPT_OF_REDIRECTS)
            }
            target = response.headers.get("location") if response.status_code in _REDIRECTS else None
            if target is None:
                yield StreamedResponse(
                    response.status_code, {**response.headers, **hub_headers}, _read_pieces(response, wait_limit)
                )
                return
        previous_url = url
        url = _redirect_target(url, target)
        if network.origin(url) != network.origin(previous_url):
            request_headers = {name: text for name, text in request_headers.items() if name.lower() != "authorization"}
    raise ProviderUnavailable(f"The server {urlsplit(url).hostname} redirects in a circle.", remedy="Try again later.")


def _require_client() -> None:
    if missing := missing_packages("remote"):
        raise ProviderUnavailable(
            f"A model cannot be downloaded: {', '.join(missing)} is not installed.",
            remedy=f"Run `{install_command('remote')}`.",
        )


@contextmanager
def _request(url: str, headers: Mapping[str, str], wait_limit: _WaitLimit) -> Generator[httpx2.Response]:
    """Yield the response of one server. The connection closes with the context."""
    import memoriter.embed._network as network

    host = urlsplit(url).hostname
    limits = network.ExchangeLimits()
    try:
        # Connections to this machine use no proxy.
        client = network.client_for(limits, proxy=None if host in _LOOPBACK else network.proxy_for(url))
    except network.ClientRefused as error:
        raise ProviderUnavailable(str(error), remedy=error.remedy) from error
    with client, limits.enforce(wait_limit.left):
        wait_limit.begin()
        try:
            response = client.send(client.build_request("GET", url, headers=dict(headers)), stream=True)
        except network.UNUSABLE as error:
            raise ProviderUnavailable(f"The address {host} is not usable.", remedy=_HUB) from error
        except (*network.TIMED_OUT, *network.BROKEN, *network.NOT_CONNECTED) as error:
            raise Interrupted(f"{host} does not answer: {error or type(error).__name__}") from error
        wait_limit.end(0)
        try:
            yield response
        finally:
            response.close()


def _read_pieces(response: httpx2.Response, wait_limit: _WaitLimit) -> Iterator[bytes]:
    import memoriter.embed._network as network

    # Pieces of one size would lose the beginning of the last one if the connection broke.
    content = response.iter_raw()
    while True:
        wait_limit.begin()
        try:
            piece = next(content, None)
        except network.TIMED_OUT as error:
            raise Interrupted("the server sends hardly anything any more") from error
        except (*network.BROKEN, *network.UNUSABLE) as error:
            raise Interrupted(f"the connection broke: {error or type(error).__name__}") from error
        if piece is None:
            return
        wait_limit.end(len(piece))
        yield piece


def _redirect_target(url: str, location: str) -> str:
    import memoriter.embed._network as network

    if (target := network.redirect_target(url, location)) is None:
        raise ProviderUnavailable(f"The server {urlsplit(url).hostname} redirects to an invalid address.", remedy=_HUB)
    if urlsplit(url).scheme == "https" != urlsplit(target).scheme:
        raise ProviderUnavailable(
            f"The server {urlsplit(url).hostname} redirects to a connection that is not encrypted.",
            remedy="Try again later.",
        )
    return target
