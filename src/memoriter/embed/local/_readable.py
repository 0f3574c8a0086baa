"""Text as a model of the user's may see it: bounded, and without what is not text. Pure."""

from __future__ import annotations

from typing import Literal

from memoriter.ids import normalize

Form = Literal["NFC", "NFKC"]

_MOST_CHARACTERS_PER_TOKEN = 16
"""No vocabulary has many pieces that are longer."""


def readable(text: str, form: Form, most_tokens: int) -> str:
    """The beginning of the text that a model could read, normalised; a space for NUL, U+FFFD for lone surrogates.

    With NFKC goes one space for each run of white space: the models that were trained on the one were on the other.
    """
    text = text[: most_characters(most_tokens)].replace("\0", " ")
    if not text.isascii():
        text = normalize(form, text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    return " ".join(text.split()) if form == "NFKC" else text


def most_characters(most_tokens: int) -> int:
    """Characters that are looked at, so that a huge text costs no more than a large one."""
    return most_tokens * _MOST_CHARACTERS_PER_TOKEN


def counted(tokens: int, text: str, most_tokens: int) -> int:
    """Tokens of the whole text, when so many were counted in what is looked at: it goes on at the same rate."""
    looked_at = most_characters(most_tokens)
    return tokens if len(text) <= looked_at else max(tokens, tokens * len(text) // looked_at)
