"""Text as the bundled model may see it: both of its engines get exactly this, so that they cannot drift apart."""

from __future__ import annotations

import re

from memoriter.ids import normalize

MOST_CHARACTERS = 8192
"""512 tokens, and no piece of the vocabulary is longer than 16 characters: nothing beyond could be read."""
_RAW_CHARACTERS = 4 * MOST_CHARACTERS
"""Looked at before cleaning, so that a huge text costs no more than a large one."""

# The control, zero-width and replacement characters that the model's own normaliser drops or turns into spaces; the C
# engine would take a NUL for the end of the text.
_MARKS = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\x8f\x9f\u200b-\u200f\u2581\ufeff\ufffd]")


def clean(text: str) -> str:
    """The beginning of the text, at most 8,192 characters: NFKC, one space for marks, surrogates and runs of space.

    NFKC here, since the C engine only replaces single characters: decomposed text would not find composed text.
    """
    text = text[:_RAW_CHARACTERS]
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        text = normalize("NFKC", text)
    return " ".join(_MARKS.sub(" ", text).split())[:MOST_CHARACTERS].rstrip()
