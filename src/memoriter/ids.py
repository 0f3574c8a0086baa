"""Identities: pure functions from content to stable names."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoriter.types import Chunk, ModelSpec


def content_hash(text: str) -> str:
    """SHA-256 of the text as UTF-8, in hex; a lone surrogate counts as U+FFFD."""
    return hashlib.sha256(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()).hexdigest()


def bytes_hash(content: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(content).hexdigest()


def vector_key(chunk: Chunk) -> bytes:
    """What the chunk's vector is stored under: 16 bytes of the hash of exactly the text that is embedded."""
    return bytes.fromhex(content_hash(chunk.contextual))[:16]


def fingerprint(spec: ModelSpec) -> str:
    """Names a set of vectors that may be compared with each other: 16 hex digits over every field that shapes them."""
    identity = {key: value for key, value in asdict(spec).items() if key not in {"background", "max_tokens"}}
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
