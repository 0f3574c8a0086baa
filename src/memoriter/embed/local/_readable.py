"""Prepare text for a local model: bounded, normalised, and without characters that are not text. Pure."""

from __future__ import annotations

from typing import Literal

from memoriter.ids import normalize

Form = Literal["NFC", "NFKC"]

_MOST_CHARACTERS_PER_TOKEN = 16
"""Few pieces in any vocabulary are longer."""


def prepare_text(text: str, form: Form, most_tokens: int) -> str:
    """Return the beginning of the text, normalised and no longer than the model could read.

    NUL becomes a space, lone surrogates become U+FFFD. With NFKC, runs of white space become one space, because models
    trained on NFKC were trained on that as well.
    """
    text = text[: most_characters(most_tokens)].replace("\0", " ")
    if not text.isascii():
        text = normalize(form, text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    return " ".join(text.split()) if form == "NFKC" else text


def most_characters(most_tokens: int) -> int:
    """Return how many characters to read, so that a huge text costs no more than a large one."""
    return most_tokens * _MOST_CHARACTERS_PER_TOKEN


def extrapolate_tokens(tokens: int, text: str, most_tokens: int) -> int:
    """Estimate the tokens of the whole text from the count for its readable beginning, at the same rate."""
    limit = most_characters(most_tokens)
    return tokens if len(text) <= limit else max(tokens, tokens * len(text) // limit)
