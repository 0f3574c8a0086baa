"""Download a model file from the hub: completely or not at all, resuming after broken connections.

This is written by hand because huggingface_hub 2.4 deletes what has come when a download ends early, so that the next
run cannot resume it, checks the size of a file but not its SHA-256, and waits for a server that sends a byte now and
then.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import time
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from memoriter.embed._artefact import sha256_of, write_whole
from memoriter.embed.local._gguf import parse_gguf, read_gguf
from memoriter.embed.local._hub import (
    HUB,
    HubModel,
    choose_file,
    file_url,
    listing_url,
    parse_model_uri,
    stored_path,
)
from memoriter.errors import ProviderUnavailable, sentence
from memoriter.extras import install_command, missing_packages
from memoriter.permissions import PRIVATE_FILE, make_private_folder, open_private
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from pathlib import Path

    import httpx2

    Progress = Callable[[int, int | None], object]
    """Called with the number of bytes received and the total, if known."""

_TRIES = 5
"""Number of consecutive attempts without progress before giving up."""
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 8.0
_SPARE_BYTES = 64 << 20
"""Disk space to leave free."""
_MOST_LISTING_BYTES = 16 << 20
_DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_RETRY = "Run it again: what has come is kept."
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS = 5
_KEPT_OF_REDIRECTS = "x-linked-"
"""Prefix of the headers to keep from redirects: the hub describes a file before it redirects to the content."""
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_LEAST_BYTES_A_SECOND = 1024
"""A server that sends fewer bytes per second is treated as stalled."""
_HUB = "Check HF_ENDPOINT, or set local.modelPath to a GGUF file."


def download_model(
    uri: str,
    *,
    model_cache_dir: Path,
    hub: str = HUB,
    token: str | None = None,
    offline: bool = False,
    progress: Progress | None = None,
    sleep: Callable[[float], object] = time.sleep,
    silence: float = 30.0,
    patience: float = 3600.0,
) -> Path:
    """Return the file that an `hf:` address names; download it if it is missing.

    `hub` is the base URL of the hub, the only server that gets the `token` for models with restricted access. `silence`
    is the longest wait for a byte, and `patience` for another process that downloads the same file, both in seconds.

    Raises:
        ConfigError: the address is not an `hf:` address.
        ProviderUnavailable: the file is missing and cannot be downloaded; the message and the remedy explain it.
    """
    model = parse_model_uri(uri)
    access = _HubAccess({"authorization": f"Bearer {token}"} if token else {}, offline, sleep, silence)
    if not model.file:
        model = _resolve_choice(model, model_cache_dir, lambda: _choose_on_hub(model, hub, access))
    file = stored_path(model, model_cache_dir)
    if file.is_file():
        return file
    try:
        make_private_folder(file.parent)
        _Download(model, file, file_url(model, hub), access, progress).run(patience)
    except OSError as error:
        raise _write_error(file, error) from error
    return file


@dataclass(frozen=True, slots=True)
class _HubAccess:
    """Settings for requests to the hub."""

    headers: Mapping[str, str]
    offline: bool
    sleep: Callable[[float], object]
    silence: float

    def require(self, model: HubModel) -> None:
        """Raise ProviderUnavailable if the settings forbid a download."""
        if self.offline:
            raise ProviderUnavailable(
                f"The model {model.name} is not on this machine, and offline is on.",
                remedy="Turn memorySearch.offline off once, or set local.modelPath to a GGUF file.",
            )

    def retry(self, attempt: Callable[[], bool]) -> None:
        """Repeat `attempt` until it returns True.

        An attempt returns False if it made progress before the connection broke, and raises Interrupted if it made
        none. Raises ProviderUnavailable: `_TRIES` consecutive attempts made no progress.
        """
        failures = 0
        while True:
            try:
                if attempt():
                    return
                failures = 0
            except Interrupted as error:
                failures += 1
                if failures == _TRIES:
                    raise ProviderUnavailable(
                        f"The model cannot be downloaded: {sentence(error)}", remedy=_RETRY
                    ) from error
            self.sleep(min(_FIRST_WAIT * 2**failures, _LONGEST_WAIT))


def _resolve_choice(model: HubModel, model_cache_dir: Path, choose: Callable[[], str]) -> HubModel:
    """Return the model with its file, chosen by size.

    The first choice is stored in a file, so that later calls need no network.
    """
    file_name = f"{model.quant or 'default'}@{model.revision.replace('/', '_')}.choice"
    choice_file = model_cache_dir / model.owner / model.repo / file_name
    try:
        stored = replace(model, file=choice_file.read_text("utf-8"))
        if stored_path(stored, model_cache_dir).is_file():
            return stored
    except (OSError, ValueError):
        pass
    chosen = replace(model, file=choose())
    write_whole(choice_file, chosen.file.encode())
    return chosen


def _choose_on_hub(model: HubModel, hub: str, access: _HubAccess) -> str:
    """Return the file to download, chosen from the hub's list."""
    access.require(model)
    listing = b""

    def attempt() -> bool:
        nonlocal listing
        with open_stream(listing_url(model, hub), access.headers, seconds=access.silence) as response:
            _check_status(response, model)
            listing = b""
            for piece in response.pieces:
                listing += piece
                if len(listing) > _MOST_LISTING_BYTES:
                    break
        return True

    access.retry(attempt)
    return choose_file(model, listing).file


@dataclass(frozen=True, slots=True)
class _Facts:
    """Properties of the file, as the server reports them."""

    sha256: str = ""
    size: int | None = None
    etag: str = ""
    """ETag of the server that sends the content; empty unless it is a strong one."""

    def same_file(self, other: _Facts) -> bool:
        """Return whether both describe the same file.

        Known sizes must not differ, and the hashes, or the ETags if a hash is unknown, must be equal.
        """
        if self.size is not None and other.size is not None and self.size != other.size:
            return False
        if self.sha256 and other.sha256:
            return self.sha256 == other.sha256
        return bool(self.etag) and self.etag == other.etag


class _Download:
    """The download of one file. It writes `<name>.part` and, beside it, the properties of the complete file."""

    def __init__(self, model: HubModel, file: Path, url: str, access: _HubAccess, progress: Progress | None) -> None:
        self._model = model
        self._file = file
        self._url = url
        self._access = access
        self._progress = progress
        self._part = file.with_name(f"{file.name}.part")
        self._facts_file = file.with_name(f"{file.name}.part.json")

    def run(self, patience: float) -> None:
        import filelock

        try:
            with filelock.FileLock(f"{self._file}.lock", timeout=patience, mode=PRIVATE_FILE):
                if not self._file.is_file():
                    self._access.require(self._model)
                    self._access.retry(self._attempt)
        except filelock.Timeout as error:
            raise ProviderUnavailable(
                f"Another process has been downloading {self._model.name} for {patience:g} s.",
                remedy="Wait for it, or end it.",
            ) from error

    def _attempt(self) -> bool:
        """Return True once the file is complete, or False if data arrived before the connection broke."""
        previous, previous_size = self._stored_facts()
        with open_stream(self._url, self._headers(previous, previous_size), seconds=self._access.silence) as response:
            if response.status == 416:
                self._discard()
                raise Interrupted("the server does not know the part that is wanted")
            _check_status(response, self._model)
            facts = _parse_facts(response)
            start = _content_start(response)
            if start and not (start == previous_size and facts.same_file(previous)):
                self._discard()
                raise Interrupted("the file has changed on the server")
            most_bytes = self._check_room(facts, start)
            with open(self._facts_file, "w", encoding="utf-8", opener=open_private) as stream:
                json.dump(asdict(facts), stream)
            part_size, fault = self._receive(response, start, facts, most_bytes)
        if fault:
            if part_size > previous_size:
                return False
            raise Interrupted(fault)
        self._finish(facts, part_size, resumed=start > 0)
        return True

    def _receive(self, response: StreamedResponse, start: int, facts: _Facts, most_bytes: int) -> tuple[int, str]:
        """Return the length of the part when the response ends, and the reason if it ended early."""
        part_size = start
        try:
            for size in self._write_pieces(response, start):
                part_size += size
                self._check_size(part_size, most_bytes)
                if self._progress is not None:
                    self._progress(part_size, facts.size)
        except Interrupted as error:
            return part_size, str(error)
        except ProviderUnavailable:
            self._discard()
            raise
        is_short = facts.size is not None and part_size < facts.size
        return part_size, f"the server sent {part_size:,} of {facts.size:,} bytes" if is_short else ""

    def _check_size(self, part_size: int, most_bytes: int) -> None:
        if part_size > most_bytes:
            raise ProviderUnavailable(
                f"The hub sends more than the {most_bytes:,} bytes that {self._model.name} has or there is room for.",
                remedy="Try again; if it fails again, set local.modelPath to a GGUF file.",
            )

    def _write_pieces(self, response: StreamedResponse, start: int) -> Iterator[int]:
        """Append each piece to the part, and yield its size once it is written."""
        with open(self._part, "r+b" if start else "wb", opener=open_private) as stream:
            stream.seek(start)
            stream.truncate()
            for index, piece in enumerate(response.pieces):
                if not start and not index and len(piece) >= 4 and not piece.startswith(b"GGUF"):
                    parse_gguf(piece, self._model.name)  # raises an error that names the actual format
                stream.write(piece)
                yield len(piece)
            stream.flush()
            os.fsync(stream.fileno())

    def _finish(self, facts: _Facts, part_size: int, *, resumed: bool) -> None:
        fault = ""
        if facts.size is not None and part_size != facts.size:
            fault = f"it has {part_size:,} bytes instead of {facts.size:,}"
        elif facts.sha256 and (sha256 := sha256_of(self._part)) != facts.sha256:
            fault = f"its SHA-256 is {sha256[:16]}… instead of {facts.sha256[:16]}…"
        if fault:
            self._discard()
            if resumed:
                raise Interrupted(fault)
            raise ProviderUnavailable(
                f"The download of {self._model.name} does not match the description on the hub: {sentence(fault)}",
                remedy="Try again; if it fails again, a proxy or firewall may be changing the file.",
            )
        try:
            read_gguf(self._part)
        except ProviderUnavailable:
            self._discard()
            raise
        self._part.replace(self._file)
        self._facts_file.unlink(missing_ok=True)

    def _stored_facts(self) -> tuple[_Facts, int]:
        """Return the stored properties of the file, and the length of its part."""
        try:
            facts = _Facts(**cast("dict[str, Any]", json.loads(self._facts_file.read_bytes())))
            return facts, self._part.stat().st_size
        except (OSError, ValueError, TypeError):
            return _Facts(), 0

    def _headers(self, previous: _Facts, part_size: int) -> dict[str, str]:
        headers = dict(self._access.headers)
        # Without a hash or an ETag, the rest might belong to another version of the file.
        if part_size and (previous.etag or previous.sha256):
            headers["range"] = f"bytes={part_size}-"
            if previous.etag:
                headers["if-range"] = previous.etag
        return headers

    def _check_room(self, facts: _Facts, size: int) -> int:
        """Return the maximum size of the complete file: the announced size, or what fits on the disk."""
        free = shutil.disk_usage(self._file.parent).free
        if facts.size is not None and facts.size - size + _SPARE_BYTES > free:
            raise ProviderUnavailable(
                f"The model needs {(facts.size - size) >> 20:,} MB,"
                f" and {self._file.parent} has {free >> 20:,} MB free.",
                remedy="Make room, or set memorySearch.local.modelCacheDir to a folder on another disk.",
            )
        return facts.size if facts.size is not None else size + max(free - _SPARE_BYTES, 0)

    def _discard(self) -> None:
        self._part.unlink(missing_ok=True)
        self._facts_file.unlink(missing_ok=True)


def _check_status(response: StreamedResponse, model: HubModel) -> None:
    """Raise an error for a response that does not contain the file."""
    status = response.status
    if status in {200, 206}:
        return
    if status in {408, 425, 429} or status >= 500:
        raise Interrupted(f"the hub answers {status}")
    if status in {401, 403}:
        raise ProviderUnavailable(
            f"The hub does not give {model.name} to everyone, or has no such repository ({status}).",
            remedy="Check the name; accept the model's terms on its page and give a token of the hub.",
        )
    raise ProviderUnavailable(
        f"The hub does not have {model.name} ({status}).", remedy="Check owner, repository and file."
    )


def _parse_facts(response: StreamedResponse) -> _Facts:
    headers = response.headers
    linked, etag = (headers.get(name, "").strip() for name in ("x-linked-etag", "etag"))
    hashes = [text.strip('"').lower() for text in (linked, etag)]
    total = headers.get("content-range", "").rpartition("/")[2]
    length = headers.get("content-length", "") if response.status == 200 else ""
    sizes = [text for text in (headers.get("x-linked-size", ""), total, length) if re.fullmatch(r"[0-9]{1,18}", text)]
    return _Facts(
        sha256=next((text for text in hashes if re.fullmatch("[0-9a-f]{64}", text)), ""),
        size=int(sizes[0]) if sizes else None,
        etag="" if etag.startswith("W/") else etag,
    )


def _content_start(response: StreamedResponse) -> int:
    """Return the offset in the file at which the content begins."""
    match = re.match(r"bytes ([0-9]{1,18})-", response.headers.get("content-range", ""))
    return int(match[1]) if response.status == 206 and match else 0


def _write_error(file: Path, error: OSError) -> ProviderUnavailable:
    if error.errno in _DISK_FULL:
        return ProviderUnavailable(
            f"There is no room for the model in {file.parent}: {sentence(error.strerror)}",
            remedy="Make room, or set memorySearch.local.modelCacheDir to a folder on another disk; what came is kept.",
        )
    return ProviderUnavailable(
        f"The model cannot be kept in {file.parent}: {sentence(error.strerror or error)}",
        remedy="Set memorySearch.local.modelCacheDir to a folder that can be written.",
    )


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
        if self._bytes >= self._seconds * _LEAST_BYTES_A_SECOND:
            self._waited = self._bytes = 0.0


@contextmanager
def open_stream(url: str, headers: Mapping[str, str], *, seconds: float) -> Generator[StreamedResponse]:
    """GET an address and follow redirects.

    The authorization header is sent to the first origin only.

    `seconds` is the longest wait for the headers, including the name lookup, and then for each part of the content that
    has `_LEAST_BYTES_A_SECOND`. A server that sends a byte now and then counts as stalled.

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
    # Connections to this machine use no proxy.
    client = network.client_for(limits, proxy=None if host in _LOOPBACK else network.proxy_for(url))
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
