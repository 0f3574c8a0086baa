"""The snippet of a chunk that a hit shows: limited in length, without cut characters."""

from __future__ import annotations

SNIPPET_LENGTH = 700
"""Length limit in UTF-16 units, the unit in which agents count characters."""


def snippet(text: str, limit: int = SNIPPET_LENGTH) -> str:
    """Return the beginning of the text, at most `limit` UTF-16 units, ending between two graphemes (UAX #29)."""
    if len(text) <= limit // 2 or (text.isascii() and len(text) <= limit):
        return text
    head = _cut_units(text, limit)
    if len(head) == len(text) or text.isascii():
        return head
    return _cut_graphemes(text, len(head))


def _cut_units(text: str, limit: int) -> str:
    """Return the longest beginning of at most `limit` UTF-16 units that does not end in half a surrogate pair."""
    units = text.encode("utf-16-le", "surrogatepass")[: 2 * limit]
    half = len(units) >= 2 and 0xD8 <= units[-1] <= 0xDB
    return (units[:-2] if half else units).decode("utf-16-le", "surrogatepass")


def _cut_graphemes(text: str, end: int) -> str:
    """Return the longest run of whole graphemes in the first `end` characters. A single longer grapheme is cut."""
    import regex  # imported here because only long texts that are not ASCII need it

    start = max(text.rfind(" ", 0, end), text.rfind("\n", 0, end), 0)
    last = start
    for match in regex.finditer(r"\X", text[start : end + 64]):
        if start + match.end() > end:
            break
        last = start + match.end()
    return text[:last] or text[:end]
