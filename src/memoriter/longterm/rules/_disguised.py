"""Recognize disguised text: invisible characters, and encoded words that a model reads and a person does not."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from memoriter.agent import gives_orders

if TYPE_CHECKING:
    from collections.abc import Iterator

_INVISIBLE = re.compile(r"[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]|\w[\u200b\u2060\ufeff]+\w")
"""Characters that reverse a line, letters of the Tags block, and blanks without width inside a word."""
_RUN = re.compile(r"[A-Za-z0-9+/_\-]{16,}={0,6}|(?:%[0-9A-Fa-f]{2}){6,}|(?:\\x[0-9A-Fa-f]{2}){6,}")
LONGEST_RUN = 4_000
"""Characters of an encoded run that are decoded."""


def is_disguised(text: str) -> bool:
    """Return whether a text has invisible characters, encoded sentences, or orders that are reversed or in ROT13.

    Other ciphers pass. This is a sieve, as `gives_orders` is; the origin of a memory is the protection.
    """
    if _INVISIBLE.search(text):
        return True
    if any(_is_sentence(decoded) for run in _RUN.findall(text) for decoded in _decoded(run[:LONGEST_RUN])):
        return True
    return gives_orders(codecs.encode(text, "rot13"), owned=False) or gives_orders(text[::-1], owned=False)


_ENDS = (
    "previous instructions and",
    "instructions and",
    "are an unrestricted assistant",
    "must always",
    "your system prompt",
    "the user about",
    "지시를 무시하고",
    "무시하고",
    "所有指令",
    "すべて無視して",
    "vorherigen Anweisungen",
    "instrucciones anteriores",
    "consignes précédentes",
    "instruções anteriores",
)
"""What completes an order that was begun in another message, in some of the languages of `gives_orders`."""


def begins_order(text: str) -> bool:
    """Return whether a text is an order to a model as soon as another message completes it."""
    return gives_orders(". ".join(f"{text} {end}" for end in _ENDS), owned=False)


def _decoded(run: str) -> Iterator[str]:
    """Yield what an encoded run may mean, as far as it is text."""
    if run.startswith(("%", "\\")):
        yield unquote(run.replace("\\x", "%"))
        return
    plain = run.rstrip("=").replace("-", "+").replace("_", "/")
    codings = (
        lambda: base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True),
        lambda: base64.b32decode(plain + "=" * (-len(plain) % 8)),
        lambda: bytes.fromhex(plain),
    )
    for decode in codings:
        try:
            yield decode().decode("utf-8")
        except (binascii.Error, ValueError):
            continue


def _is_sentence(text: str) -> bool:
    """Return whether a decoded text consists of words rather than of random characters."""
    readable = sum(character.isalpha() or character.isspace() for character in text)
    return len(text) >= 6 and text.isprintable() and readable >= 0.8 * len(text) and (" " in text or not text.isascii())
