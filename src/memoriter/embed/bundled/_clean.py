"""Clean text for the bundled model. Both engines get the same text, so that their vectors cannot diverge."""

from __future__ import annotations

import re

from memoriter.ids import normalize

MOST_CHARACTERS = 8192
"""512 tokens of at most 16 characters, the longest piece of the vocabulary: the model could not read more."""
_RAW_CHARACTERS = 4 * MOST_CHARACTERS
"""Characters to clean, so that a huge text costs no more than a large one."""

# Control, zero-width and replacement characters, which the model's own normaliser drops or replaces by spaces. A NUL
# would end the text in the C engine.
_MARKS = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\x8f\x9f\u200b-\u200f\u2581\ufeff\ufffd]")


def clean(text: str) -> str:
    """Return the beginning of the text, up to 8,192 characters, in NFKC.

    Marks, surrogates and runs of space become one space. NFKC is applied here because the C engine only replaces single
    characters, so that decomposed text would not match composed text.
    """
    text = text[:_RAW_CHARACTERS]
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        text = normalize("NFKC", text)
    return " ".join(_MARKS.sub(" ", text).split())[:MOST_CHARACTERS].rstrip()
