"""The part of a chunk that is shown: bounded, never a cut character."""

from __future__ import annotations

SNIPPET_LENGTH = 700
"""UTF-16 units, as the agents' side counts characters."""


def snippet(text: str, limit: int = SNIPPET_LENGTH) -> str:
    """The beginning of the text, at most `limit` UTF-16 units long, ending between two graphemes (UAX #29)."""
    if len(text) <= limit // 2 or (text.isascii() and len(text) <= limit):
        return text
    head = _units(text, limit)
    if len(head) == len(text) or text.isascii():
        return head
    return _whole_graphemes(text, len(head))


def _units(text: str, limit: int) -> str:
    used = 0
    for position, character in enumerate(text):
        used += 2 if ord(character) > 0xFFFF else 1
        if used > limit:
            return text[:position]
    return text


def _whole_graphemes(text: str, end: int) -> str:
    """The longest run of whole graphemes within the first `end` characters; one huge grapheme is cut all the same."""
    import regex  # only long texts of other scripts need it

    window = text[: end + 64]
    last = 0
    for match in regex.finditer(r"\X", window):
        if match.end() > end:
            break
        last = match.end()
    return text[:last] or text[:end]
