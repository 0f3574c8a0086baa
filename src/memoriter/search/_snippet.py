"""The part of a chunk that is shown: bounded, never a cut character."""

from __future__ import annotations

SNIPPET_LENGTH = 700
"""UTF-16 units, as the agents' side counts characters."""


def snippet(text: str, limit: int = SNIPPET_LENGTH) -> str:
    """The beginning of the text, at most `limit` UTF-16 units long, ending between two graphemes (UAX #29)."""
    if len(text) <= limit // 2 or (text.isascii() and len(text) <= limit):
        return text
    head = _cut_units(text, limit)
    if len(head) == len(text) or text.isascii():
        return head
    return _cut_graphemes(text, len(head))


def _cut_units(text: str, limit: int) -> str:
    """The longest beginning that takes at most `limit` UTF-16 units and does not end in half a pair."""
    units = text.encode("utf-16-le", "surrogatepass")[: 2 * limit]
    half = len(units) >= 2 and 0xD8 <= units[-1] <= 0xDB
    return (units[:-2] if half else units).decode("utf-16-le", "surrogatepass")


def _cut_graphemes(text: str, end: int) -> str:
    """The longest run of whole graphemes within the first `end` characters; one huge grapheme is cut all the same."""
    import regex  # only long texts of other scripts need it

    start = max(text.rfind(" ", 0, end), text.rfind("\n", 0, end), 0)
    last = start
    for match in regex.finditer(r"\X", text[start : end + 64]):
        if start + match.end() > end:
            break
        last = start + match.end()
    return text[:last] or text[:end]
