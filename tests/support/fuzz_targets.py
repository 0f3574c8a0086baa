"""What may come from outside, as functions of bytes that raise when memoriter breaks a promise.

A target raises nothing for a good input and nothing for a bad one that is refused with an error of ours. Whatever else
it raises is a finding. Folders that a target needs are made once for each process and removed when the process ends.
"""

from __future__ import annotations

import atexit
import json
import shutil
import struct
import tempfile
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import anyio
from mcp.server.stdio import stdio_server

from memoriter import Memory
from memoriter.agent import looks_like_injection, read_hook
from memoriter.coding_hooks import HOOKS
from memoriter.config import load
from memoriter.embed.remote._remote import RemoteSettings, remote_names, vendor_of
from memoriter.errors import ConfigError, EmbeddingError, UsageError
from memoriter.masking import mask
from memoriter.mcp_server import server_of
from memoriter.workspace import (
    TERMINAL,
    TranscriptFolder,
    Transcripts,
    Workspace,
    blocks_with,
    chunk_lines,
    chunk_markdown,
    neutral,
    neutral_json,
    without_injected,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from memoriter.types import SearchResult

    Target = Callable[[bytes], None]

PLANTED = "ghp_Zq3mT8vLk2WxYb7Nc4RdJf9HsPa6Ue1Gt5Qo"
"""A token in the form of a code host's, which a masker must never let through."""
NOTES = {
    "MEMORY.md": "# Decisions\n\n- We chose PostgreSQL for the ledger because of ACID.\n- Tea, not coffee.\n",
    "memory/2026-02-10.md": "# Router\n\nThe Omada ER605 keeps VLAN 10 for the printers.\n",
    "memory/2026-03-05.md": "# 여행\n\n오사카행 기차는 정오에 출발한다. The hotel is by the river.\n",
}
QUESTIONS = ("which database for the ledger", "VLAN printers", "오사카 기차")
PATIENCE = 150.0
"""Seconds after which a server that does not answer is a finding."""
REQUESTS = ("memory_search", "memory_get", "memory_append")
HANDSHAKE = {
    "jsonrpc": "2.0",
    "id": "first",
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "fuzz", "version": "1"}},
}


def chunks(data: bytes) -> None:
    """Chunks of any text follow each other and hold the lines that they cite."""
    text = data.decode("utf-8", "replace")
    lines = text.split("\n")
    for found in (chunk_markdown(text, tokens=40, overlap=8), chunk_lines(text, tokens=40, overlap=8)):
        last = 1
        for chunk in found:
            assert last <= chunk.start_line <= chunk.end_line <= len(lines)
            last = chunk.start_line
    for chunk in chunk_markdown(text, tokens=40, overlap=8):
        assert chunk.text
        assert chunk.text in "\n".join(lines[chunk.start_line - 1 : chunk.end_line])


def forget(data: bytes) -> None:
    """Forgetting plans lines that exist, and among them every line that holds the text."""
    words, _, content = data.partition(b"\0")
    text = words.decode("utf-8", "replace").strip()
    if text:
        total = content.count(b"\n") + 1
        assert all(1 <= each.start_line <= each.end_line <= total for each in blocks_with(content, text))


def secrets(data: bytes) -> None:
    """A masked text holds no planted token; masking twice changes nothing more."""
    text = data.decode("utf-8", "replace")
    once = mask(f"{text}\n{PLANTED}\n{text}")
    assert PLANTED not in once
    assert mask(once) == once
    without_injected(text)


def settings(data: bytes) -> None:
    """A configuration is read, or refused with a message."""
    home = _scratch("settings")
    (home / "memoriter.json5").write_bytes(data)
    with suppress(ConfigError):
        load(None, home=home, environ={})
    (home / ".memoriter.json5").write_bytes(data)
    with suppress(ConfigError):
        load(home / "none.json5", home=home, environ={}, project=home)


def ignores(data: bytes) -> None:
    """Ignore rules of any form leave a scan that ends."""
    folder = _scratch("ignores")
    if not (folder / "memory").exists():
        for path, text in NOTES.items():
            _write(folder / path, text)
        _write(folder / "memory" / ("a" * 100) / ("b" * 100) / "c.md", "# Deep\n")
    (folder / ".memoryignore").write_bytes(data)
    Workspace(folder).scan()


def transcripts(data: bytes) -> None:
    """Any bytes in a transcript are read to their end; its lines are numbered from 1."""
    folder = _scratch("transcripts")
    (folder / "one.jsonl").write_bytes(data)
    found = Transcripts([TranscriptFolder(folder)])
    for source in found.scan().sources:
        with found.opened(source) as transcript:
            numbers = [line.number for line in transcript.lines()]
        assert numbers == sorted(set(numbers))
        assert not numbers or numbers[0] >= 1
        found.read(source.path, start=1, lines=3, max_chars=1_000)


def replies(data: bytes) -> None:
    """What a service answers is vectors, or an error of ours."""
    if len(data) < 3:
        return
    names = remote_names()
    vendor = vendor_of(names[data[0] % len(names)])
    count = data[1] % 4 + 1
    dimensions = (None, 2, 4)[data[2] % 3]
    body = data[3:]
    with suppress(EmbeddingError):
        vendor.parse_response(body, count, dimensions, vendor.title)
    headers = {"content-type": "application/json", "retry-after": body[:20].decode("latin-1")}
    status = (400, 401, 403, 404, 408, 413, 429, 500, 503)[data[2] % 9]
    assert isinstance(vendor.error_of(status, headers, body, ("secret",), vendor.title), EmbeddingError)
    with suppress(ConfigError):
        vendor.resolved(RemoteSettings(vendor.name, base_url=body[:80].decode("utf-8", "replace"), model="m"))


def hooks(data: bytes) -> None:
    """What a coding agent writes to a hook is understood, or refused with a message."""
    for event in HOOKS.values():
        with suppress(UsageError):
            read_hook(event, data)


def prompts(data: bytes) -> None:
    """Text for a model hides nothing, and making it neutral twice changes nothing more."""
    text = data.decode("utf-8", "replace")
    shown = neutral(text)
    assert not TERMINAL.search(shown)
    assert neutral(shown) == shown
    json.loads(neutral_json(json.dumps(text)))
    looks_like_injection(text)


def messages(data: bytes) -> None:
    """A server answers in JSON whatever lines a client sends, and still answers a ping afterwards."""
    folder = _scratch("messages")
    if not (folder / "notes").exists():
        _workspace(folder)
    lines = [json.dumps(HANDSHAKE), json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})]
    text = data.decode("utf-8", "replace")
    lines += text.splitlines()
    with suppress(ValueError, RecursionError):  # as arguments of each tool
        arguments = json.loads(text)
        lines += [_called(name, arguments) for name in REQUESTS]
    answers = [json.loads(line) for line in anyio.run(_conversation, folder, lines)]
    assert {"first", "last"} <= {str(answer.get("id")) for answer in answers}, answers[:3]
    if sum(file.stat().st_size for file in (folder / "notes").rglob("*.md")) > 1 << 18:
        shutil.rmtree(folder / "notes")


def index(data: bytes) -> None:
    """An index with changed bytes gives the same answers as before, or says what is wrong."""
    folder, right = _indexed()
    home = _scratch("index") / "damaged"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(folder / "home", home, symlinks=True)
    file = (home / "memory").joinpath("main.sqlite").resolve() if (home / "memory" / "main.sqlite").exists() else None
    file = file or next(iter(sorted((home / "memory").glob("*.sqlite*"))))
    content = bytearray(file.read_bytes())
    for offset, value in struct.iter_unpack("<IB", data[: len(data) // 5 * 5]):
        content[offset % len(content)] ^= value
    file.write_bytes(content)
    with Memory.open(folder / "notes", home=home) as memory:
        for question in QUESTIONS:
            result = memory.search(question)
            assert _answer(result) == right[question] or result.health.reasons, (question, _answer(result))


TARGETS: dict[str, Target] = {
    "chunks": chunks,
    "forget": forget,
    "secrets": secrets,
    "settings": settings,
    "ignores": ignores,
    "transcripts": transcripts,
    "replies": replies,
    "hooks": hooks,
    "prompts": prompts,
    "messages": messages,
    "index": index,
}


@cache
def _scratch(name: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix=f"memoriter-fuzz-{name}-"))
    atexit.register(partial(shutil.rmtree, folder, ignore_errors=True))
    return folder


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _workspace(folder: Path) -> None:
    for path, text in NOTES.items():
        _write(folder / "notes" / path, text)
    _write(folder / "home" / "memoriter.json5", '{agents: {defaults: {memorySearch: {provider: "fake"}}}}')


@cache
def _indexed() -> tuple[Path, dict[str, Any]]:
    folder = _scratch("index")
    _workspace(folder)
    with Memory.open(folder / "notes", home=folder / "home") as memory:
        memory.sync()
        right = {question: _answer(memory.search(question)) for question in QUESTIONS}
    return folder, right


def _answer(result: SearchResult) -> list[tuple[str, str]]:
    return [(hit.citation, hit.snippet) for hit in result.hits]


def _called(name: str, arguments: Any) -> str:
    params = {"name": name, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": params})


async def _conversation(folder: Path, lines: list[str]) -> list[str]:
    """The lines that a server writes in answer to these; its input stays open until the ping after them is answered."""
    client = _Client(lines)
    server = server_of(Memory.open(folder / "notes", home=folder / "home"))
    with anyio.move_on_after(PATIENCE):
        async with stdio_server(cast("Any", client), cast("Any", client)) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    return client.received


class _Client:
    """The standard streams of a server, as the program at their other end."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self.received: list[str] = []
        self._answered = anyio.Event()

    async def __aiter__(self) -> AsyncIterator[str]:
        for line in self._lines:
            yield f"{line}\n"
        yield json.dumps({"jsonrpc": "2.0", "id": "last", "method": "ping"}) + "\n"
        await self._answered.wait()

    async def write(self, text: str) -> None:
        self.received.append(text)
        if json.loads(text).get("id") == "last":
            self._answered.set()

    async def flush(self) -> None:
        """Keep nothing back."""
