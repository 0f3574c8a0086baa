"""Identities: pure functions from content to stable names."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from dataclasses import asdict, replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from memoriter.types import Chunk, ModelSpec

_NOT_IN_NAMES = re.compile(r"[\W_]+")
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


def fold_name(name: str) -> str:
    """Return the name of a note as it is compared: letters and digits in lower case, one space between words.

    >>> fold_name("Kitchen_budget, 2nd draft!")
    'kitchen budget 2nd draft'
    """
    return " ".join(_NOT_IN_NAMES.sub(" ", normalize("NFKC", name).casefold()).split())


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


def holds_phrase(heading: str, text: str, phrase: str) -> bool:
    """Return whether a text or its headings contain a phrase as whole words, whatever the case and the emphasis."""
    pattern = _phrase_pattern(phrase)
    return pattern.search(_folded(text)) is not None or pattern.search(_folded(heading)) is not None


@lru_cache(maxsize=64)
def _phrase_pattern(phrase: str) -> re.Pattern[str]:
    """Return a pattern over folded text. In scripts that are written without spaces, a word may be part of another."""
    folded = _folded(phrase)
    before = r"(?<!\w)" if _ALPHABETIC.match(folded[:1]) else ""
    after = r"(?!\w)" if _ALPHABETIC.match(folded[-1:]) else ""
    return re.compile(before + re.escape(folded) + after)


def _folded(text: str) -> str:
    return " ".join(normalize("NFKC", text).casefold().translate(_NO_EMPHASIS).split())


_NO_EMPHASIS = str.maketrans("", "", "*`")
_ALPHABETIC = re.compile(
    r"(?![\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff])\w"
)
"""A letter or digit of a script whose words have spaces between them; Korean particles follow without one."""
