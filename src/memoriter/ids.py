"""Identities: pure functions from content to stable names."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from dataclasses import asdict, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from memoriter.types import Chunk, ModelSpec

_PILE = re.compile(r"[^\w\s\x00-\x7f]{64}")
"""More marks on one letter than any language puts there."""


def normalize(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """Return a Unicode normalization form of the text, in time that is proportional to its length.

    `unicodedata` sorts the combining marks of a letter in quadratic time, so that 20,000 marks take over a second. Runs
    of 64 and more are normalized in parts here, which differs from Unicode only for text that nobody writes.
    """
    if text.isascii():
        return text
    ends = [found.end() for found in _PILE.finditer(text)]
    if not ends:
        return unicodedata.normalize(form, text)
    return "".join(unicodedata.normalize(form, text[a:b]) for a, b in pairwise([0, *ends, len(text)]))


def content_hash(text: str) -> str:
    """SHA-256 of the text as UTF-8, in hex; a lone surrogate counts as U+FFFD."""
    return hashlib.sha256(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()).hexdigest()


def note_bytes(text: str) -> bytes:
    """Return a text as it is written into a note: in UTF-8, with U+FFFD for NUL and for lone surrogates."""
    cleaned = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return cleaned.replace("\0", "\ufffd").encode()


def has_crlf(content: bytes) -> bool:
    """Return whether most lines of a note end as on Windows."""
    return 2 * content.count(b"\r\n") > content.count(b"\n")


def has_cr_alone(content: bytes) -> bool:
    """Return whether the lines of a note end in carriage returns alone, as on old Macs."""
    return b"\n" not in content and b"\r" in content


def with_line_feeds(content: bytes) -> bytes:
    """Return a note with a line feed for each carriage return if it has nothing else; its length is the same."""
    return content.replace(b"\r", b"\n") if has_cr_alone(content) else content


def bytes_hash(content: bytes) -> str:
    """Return the SHA-256 of bytes in hex."""
    return hashlib.sha256(content).hexdigest()


def text_key(text: str) -> bytes:
    """Return the key of the vector of a text: 16 bytes of the hash of exactly the text that is embedded."""
    return bytes.fromhex(content_hash(text))[:16]


def vector_key(chunk: Chunk) -> bytes:
    """Return the key of the chunk's vector."""
    return text_key(chunk.contextual)


def fingerprint(spec: ModelSpec) -> str:
    """Return the name of a set of comparable vectors: 16 hex digits over every field that affects them."""
    identity = {key: value for key, value in asdict(spec).items() if key not in {"background", "max_tokens"}}
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]


def spec_of(description: str) -> ModelSpec:
    """Return a model from the JSON of its fields, as a store keeps it."""
    from memoriter.types import ModelSpec

    fields: dict[str, Any] = json.loads(description)
    background: list[float] = fields.pop("background", [])
    spec = ModelSpec(**fields)
    return replace(spec, background=(background[0], background[1])) if background else spec
