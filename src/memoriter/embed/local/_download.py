"""Download a model file from the hub: completely or not at all, resuming after broken connections."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from memoriter.embed.bundled._artefact import write_whole
from memoriter.embed.bundled._weights import sha256_of
from memoriter.embed.local._gguf_header import parse_gguf, read_gguf
from memoriter.embed.local._hub import HUB, HubModel, chosen_from, file_url, listing_url, parse_model_uri, place_of
from memoriter.embed.local._stream import HttpReply, Interrupted, opened
from memoriter.errors import ProviderUnavailable
from memoriter.permissions import PRIVATE_FILE, make_private_folder, open_private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    Progress = Callable[[int, int | None], object]
    """Called with the number of bytes received and the total, if known."""

_TRIES = 5
"""Number of consecutive attempts without progress before giving up."""
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 8.0
_SPARE_BYTES = 64 << 20
"""Disk space to leave free."""
_MOST_LISTING_BYTES = 16 << 20
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_AGAIN = "run it again: what has come is kept"


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

    Args:
        uri: the `hf:` address.
        model_cache_dir: the folder for downloaded models.
        hub: the base URL of the hub.
        token: an access token for models with restricted access. It is sent to the hub only.
        offline: refuse to download.
        progress: called with the number of bytes received and the total, if known.
        sleep: waits for a number of seconds.
        silence: the longest wait for a byte, in seconds.
        patience: the longest wait for another process that downloads the same file, in seconds.

    Raises:
        ConfigError: the address is not an `hf:` address.
        ProviderUnavailable: the file is missing and cannot be downloaded; the message and the remedy explain it.
    """
    model = parse_model_uri(uri)
    link = _Link({"authorization": f"Bearer {token}"} if token else {}, offline, sleep, silence)
    if not model.file:
        model = _known_choice(model, model_cache_dir, lambda: _choice(model, hub, link))
    file = place_of(model, model_cache_dir)
    if file.is_file():
        return file
    try:
        make_private_folder(file.parent)
        _Download(model, file, file_url(model, hub), link, progress).run(patience)
    except OSError as error:
        raise _unwritable(file, error) from error
    return file


@dataclass(frozen=True, slots=True)
class _Link:
    """How to contact the hub."""

    headers: Mapping[str, str]
    offline: bool
    sleep: Callable[[float], object]
    silence: float

    def require(self, model: HubModel) -> None:
        if self.offline:
            raise ProviderUnavailable(
                f"the model {model.name} is not on this machine, and offline is set",
                remedy="turn memorySearch.offline off once, or set local.modelPath to a GGUF file",
            )

    def patiently(self, attempt: Callable[[], bool]) -> None:
        """Repeat `attempt` until it returns True.

        An attempt returns False if it made progress before the connection broke, and raises Interrupted if it made
        none.
        """
        vain = 0
        while True:
            try:
                if attempt():
                    return
                vain = 0
            except Interrupted as error:
                vain += 1
                if vain == _TRIES:
                    raise ProviderUnavailable(f"the model cannot be downloaded: {error}", remedy=_AGAIN) from error
            self.sleep(min(_FIRST_WAIT * 2**vain, _LONGEST_WAIT))


def _known_choice(model: HubModel, model_cache_dir: Path, ask: Callable[[], str]) -> HubModel:
    """Return the model with the file that its size stands for.

    The first choice is stored in a file, so that later calls need no network.
    """
    named = f"{model.quant or 'default'}@{model.revision.replace('/', '_')}.choice"
    note = model_cache_dir / model.owner / model.repo / named
    try:
        known = replace(model, file=note.read_text("utf-8"))
        if place_of(known, model_cache_dir).is_file():
            return known
    except (OSError, ValueError):
        pass
    chosen = replace(model, file=ask())
    write_whole(note, chosen.file.encode())
    return chosen


def _choice(model: HubModel, hub: str, link: _Link) -> str:
    link.require(model)
    listing = b""

    def attempt() -> bool:
        nonlocal listing
        with opened(listing_url(model, hub), link.headers, seconds=link.silence) as reply:
            _refuse(reply, model)
            listing = b""
            for piece in reply.pieces:
                listing += piece
                if len(listing) > _MOST_LISTING_BYTES:
                    break
        return True

    link.patiently(attempt)
    return chosen_from(model, listing).file


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

    def __init__(self, model: HubModel, file: Path, url: str, link: _Link, progress: Progress | None) -> None:
        self._model = model
        self._file = file
        self._url = url
        self._link = link
        self._progress = progress
        self._part = file.with_name(f"{file.name}.part")
        self._note = file.with_name(f"{file.name}.part.json")

    def run(self, patience: float) -> None:
        import filelock

        try:
            with filelock.FileLock(f"{self._file}.lock", timeout=patience, mode=PRIVATE_FILE):
                if not self._file.is_file():
                    self._link.require(self._model)
                    self._link.patiently(self._attempt)
        except filelock.Timeout as error:
            raise ProviderUnavailable(
                f"another process has been downloading {self._model.name} for {patience:g} s",
                remedy="wait for it, or end it",
            ) from error

    def _attempt(self) -> bool:
        """Return True once the file is complete, or False if data arrived before the connection broke."""
        known, before = self._known()
        with opened(self._url, self._headers(known, before), seconds=self._link.silence) as reply:
            if reply.status == 416:
                self._discard()
                raise Interrupted("the server does not know the part that is wanted")
            _refuse(reply, self._model)
            facts, start = _facts(reply), _start(reply)
            if start and not (start == before and facts.same_file(known)):
                self._discard()
                raise Interrupted("the file has changed on the server")
            most = self._check_room(facts, start)
            with open(self._note, "w", encoding="utf-8", opener=open_private) as note:
                json.dump(asdict(facts), note)
            have, broken = self._received(reply, start, facts, most)
        if broken:
            if have > before:
                return False
            raise Interrupted(broken)
        self._finish(facts, have, resumed=start > 0)
        return True

    def _received(self, reply: HttpReply, start: int, facts: _Facts, most: int) -> tuple[int, str]:
        """Return the length of the part when the response ends, and the reason if it ended early."""
        have = start
        try:
            for size in self._written(reply, start):
                have += size
                self._check_size(have, most)
                if self._progress is not None:
                    self._progress(have, facts.size)
        except Interrupted as error:
            return have, str(error)
        except ProviderUnavailable:
            self._discard()
            raise
        short = facts.size is not None and have < facts.size
        return have, f"the server sent {have:,} of {facts.size:,} bytes" if short else ""

    def _check_size(self, have: int, most: int) -> None:
        if have > most:
            raise ProviderUnavailable(
                f"the hub sends more than the {most:,} bytes that {self._model.name} has or there is room for",
                remedy="try again; if it stays so, set local.modelPath to a GGUF file",
            )

    def _written(self, reply: HttpReply, start: int) -> Iterator[int]:
        """Append each piece to the part, and yield its size once it is written."""
        with open(self._part, "r+b" if start else "wb", opener=open_private) as stream:
            stream.seek(start)
            stream.truncate()
            for number, piece in enumerate(reply.pieces):
                if not start and not number and len(piece) >= 4 and not piece.startswith(b"GGUF"):
                    parse_gguf(piece, self._model.name)  # raises an error that names the actual format
                stream.write(piece)
                yield len(piece)
            stream.flush()
            os.fsync(stream.fileno())

    def _finish(self, facts: _Facts, have: int, *, resumed: bool) -> None:
        wrong = ""
        if facts.size is not None and have != facts.size:
            wrong = f"it has {have:,} bytes in place of {facts.size:,}"
        elif facts.sha256 and (found := sha256_of(self._part)) != facts.sha256:
            wrong = f"its SHA-256 is {found[:16]}… in place of {facts.sha256[:16]}…"
        if wrong:
            self._discard()
            if resumed:
                raise Interrupted(wrong)
            raise ProviderUnavailable(
                f"the download of {self._model.name} is not the file that the hub names: {wrong}",
                remedy="try again; if it stays so, something between here and the hub changes files",
            )
        try:
            read_gguf(self._part)
        except ProviderUnavailable:
            self._discard()
            raise
        self._part.replace(self._file)
        self._note.unlink(missing_ok=True)

    def _known(self) -> tuple[_Facts, int]:
        """Return the stored properties of the file, and the length of its part."""
        try:
            facts = _Facts(**cast("dict[str, Any]", json.loads(self._note.read_bytes())))
            return facts, self._part.stat().st_size
        except (OSError, ValueError, TypeError):
            return _Facts(), 0

    def _headers(self, known: _Facts, have: int) -> dict[str, str]:
        headers = dict(self._link.headers)
        # Without a hash or an ETag, the rest might belong to another version of the file.
        if have and (known.etag or known.sha256):
            headers["range"] = f"bytes={have}-"
            if known.etag:
                headers["if-range"] = known.etag
        return headers

    def _check_room(self, facts: _Facts, have: int) -> int:
        """Return the maximum size of the complete file: the announced size, or what fits on the disk."""
        free = shutil.disk_usage(self._file.parent).free
        if facts.size is not None and facts.size - have + _SPARE_BYTES > free:
            raise ProviderUnavailable(
                f"the model needs {(facts.size - have) >> 20:,} MB, and {self._file.parent} has {free >> 20:,} MB free",
                remedy="make room, or set memorySearch.local.modelCacheDir to a folder on another disk",
            )
        return facts.size if facts.size is not None else have + max(free - _SPARE_BYTES, 0)

    def _discard(self) -> None:
        self._part.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)


def _refuse(reply: HttpReply, model: HubModel) -> None:
    """Raise the error that a response without the file stands for."""
    status = reply.status
    if status in {200, 206}:
        return
    if status in {408, 425, 429} or status >= 500:
        raise Interrupted(f"the hub answers {status}")
    if status in {401, 403}:
        raise ProviderUnavailable(
            f"the hub does not give {model.name} to everyone, or has no such repository ({status})",
            remedy="check the name; accept the model's terms on its page and give a token of the hub",
        )
    raise ProviderUnavailable(
        f"the hub does not have {model.name} ({status})", remedy="check owner, repository and file"
    )


def _facts(reply: HttpReply) -> _Facts:
    headers = reply.headers
    linked, etag = (headers.get(name, "").strip() for name in ("x-linked-etag", "etag"))
    hashes = [text.strip('"').lower() for text in (linked, etag)]
    total = headers.get("content-range", "").rpartition("/")[2]
    length = headers.get("content-length", "") if reply.status == 200 else ""
    sizes = [text for text in (headers.get("x-linked-size", ""), total, length) if re.fullmatch(r"[0-9]{1,18}", text)]
    return _Facts(
        sha256=next((text for text in hashes if re.fullmatch("[0-9a-f]{64}", text)), ""),
        size=int(sizes[0]) if sizes else None,
        etag="" if etag.startswith("W/") else etag,
    )


def _start(reply: HttpReply) -> int:
    """Return the offset in the file at which the content begins."""
    found = re.match(r"bytes ([0-9]{1,18})-", reply.headers.get("content-range", ""))
    return int(found[1]) if reply.status == 206 and found else 0


def _unwritable(file: Path, error: OSError) -> ProviderUnavailable:
    if error.errno in _NO_ROOM:
        return ProviderUnavailable(
            f"there is no room for the model in {file.parent}: {error.strerror}",
            remedy="make room, or set memorySearch.local.modelCacheDir to a folder on another disk; what came is kept",
        )
    return ProviderUnavailable(
        f"the model cannot be kept in {file.parent}: {error.strerror or error}",
        remedy="set memorySearch.local.modelCacheDir to a folder that can be written",
    )
