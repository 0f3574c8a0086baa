"""Text that SQLite can hold."""

from __future__ import annotations


def storable(text: str) -> str:
    """Return the text with each lone surrogate replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
