"""Estimate the tokens of a text, cut a text that is too long at a good place, and say why a text is empty."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cache
from typing import TYPE_CHECKING

from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    import regex

UNIT = 12
"""Weights are twelfths of a token, so that sums are exact."""


def estimate_tokens(text: str) -> int:
    """Return about the number of tokens that a multilingual subword tokenizer would produce, without one.

    Letters of alphabets count 1/4 (some 1/3), digits 5/12, ASCII punctuation 2/3, Hangul 7/12, kana 2/3, Han 3/4, and
    rare characters (symbols, emoji, small scripts) 1. The ratio of the estimate to the tokenizer of
    multilingual-e5-small is .85 to 1.3 for English, Russian, Arabic, Hindi, Korean, Japanese and Chinese, 1.4 for
    German, .9 for Markdown lists, .8 for code, JSON and URLs, and .4 for base64.
    """
    return -(-weigh(text) // UNIT)


def weigh(text: str) -> int:
    """Return the estimate in twelfths of a token; the weight of a text is the sum of the weights of its parts."""
    if text.isascii():
        return sum(text.encode("ascii").translate(_LATIN))
    units = text.encode("utf-16-le", "surrogatepass")
    return sum(text.encode("latin-1", "ignore").translate(_LATIN)) + sum(units[1::2].translate(_BLOCKS))


def _latin() -> bytes:
    """Return the weights of U+0000 to U+00FF."""
    weights = bytearray(b"\x03" * 256)
    for code in range(33, 127):
        character = chr(code)
        if not character.isalnum():
            weights[code] = 8
    for digit in b"0123456789":
        weights[digit] = 5
    for code in range(0xA1, 0xC0):
        weights[code] = 6
    return bytes(weights)


def _blocks() -> bytes:
    """Return the weights of the other UTF-16 units by their high byte; a surrogate is half a character."""
    weights = bytearray(b"\x0c" * 256)
    spans = [
        (0x00, 0x00, 0),  # counted as Latin
        (0x01, 0x02, 4),
        (0x03, 0x04, 3),  # Greek and Cyrillic
        (0x05, 0x06, 4),  # Hebrew and Arabic
        (0x09, 0x0E, 4),  # India, Thailand, Laos
        (0x10, 0x10, 6),
        (0x1E, 0x1F, 4),
        (0x20, 0x20, 6),  # dashes, quotation marks
        (0x30, 0x33, 8),  # kana
        (0x34, 0x9F, 9),  # Han
        (0xAC, 0xD7, 7),  # Hangul
        (0xD8, 0xDF, 6),
        (0xF9, 0xFA, 9),
        (0xFB, 0xFF, 8),
    ]
    for first, last, weight in spans:
        weights[first : last + 1] = bytes([weight]) * (last + 1 - first)
    return bytes(weights)


_LATIN = _latin()
_BLOCKS = _blocks()


_LIGHTEST = 3
"""Smallest weight of a character; see `weigh`."""
_LOOK_AHEAD = 64
# All repetitions are bounded: a line of a million full stops must not cost a million squared.
_SENTENCE = re.compile(r"[.!?…][\"'”’)\]]{0,4}\s|[。！？｡．][」』”’）]{0,4}\s?")
_SPACE = re.compile(r"\s")


def boundary(text: str, start: int, end: int, *, after: int = -1) -> int:
    """Return the last offset in `(after, end]` that is between two graphemes, the first of which begins at `start`.

    A grapheme that is longer than this range is cut at `end`, because the limit comes first.
    """
    places = _grapheme_ends(text, start, end)
    return places[-1] if places and places[-1] > after else end


def slice_line(line: str, limit: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of pieces of at most `limit` (weights), each repeating up to `overlap` of the one before."""
    start = covered = 0
    while covered < len(line):
        reach = _limit_end(line, start, limit)
        end = _best_end(line, start, reach, covered)
        yield start, end
        start = _next_start(line, start, end, overlap) if end < len(line) else end
        covered = end


def _limit_end(text: str, start: int, limit: int) -> int:
    """Return the last offset up to which the text from `start` weighs at most `limit`."""
    most = min(len(text) - start, limit // _LIGHTEST)
    lengths = range(1, most + 1)
    return start + max(1, bisect_right(lengths, limit, key=lambda length: weigh(text[start : start + length])))


def _best_end(text: str, start: int, end: int, covered: int) -> int:
    """Return the best offset to cut in `(covered, end]`: after a sentence or space if that keeps at least half."""
    if end == len(text):
        return end
    after = max(covered, start + (end - start) // 2)
    for pattern in (_SENTENCE, _SPACE):
        places = [match.end() for match in pattern.finditer(text, after, end)]
        candidates = _between_graphemes(text, start, end, places)
        if candidates:
            return candidates[-1]
    return boundary(text, start, end, after=covered)


def _next_start(text: str, start: int, end: int, overlap: int) -> int:
    """Return where the next piece starts so that it repeats at most `overlap` of the piece that ends at `end`."""
    lengths = range(end - start)
    longest = bisect_right(lengths, overlap, key=lambda length: weigh(text[end - length : end])) - 1
    earliest = end - max(0, longest)
    places = [match.end() for match in _SPACE.finditer(text, earliest, end)]
    spaces = _between_graphemes(text, start, end, places)
    if spaces and spaces[0] < end:
        return spaces[0]
    ends = _grapheme_ends(text, start, end)
    place = bisect_left(ends, earliest)
    return ends[place] if place < len(ends) else end


def _between_graphemes(text: str, start: int, end: int, places: list[int]) -> list[int]:
    if not places or text[start : end + 1].isascii():
        return places
    allowed = set(_grapheme_ends(text, start, end))
    return [place for place in places if place in allowed]


def _grapheme_ends(text: str, start: int, end: int) -> range | list[int]:
    if text[start : end + 1].isascii():
        return range(start + 1, end + 1)
    # Search a slice: for flags, `regex` would look back to the beginning of the text.
    graphemes = _graphemes().finditer(text[start : end + _LOOK_AHEAD])
    return [place for grapheme in graphemes if (place := start + grapheme.end()) <= end]


@cache
def _graphemes() -> regex.Pattern[str]:
    import regex

    # Surrogates, which JSON of other programs may contain, stay in pairs although Python counts each as a character.
    return regex.compile(r"[\ud800-\udbff][\udc00-\udfff]|\X")


def slice_lines(text: str, start: int | None, lines: int | None) -> str:
    """Return `lines` lines from `start` (1-based) on, or the whole text if both are None or 0."""
    if not start and not lines:
        return text
    first = max(1, start or 1) - 1
    rows = text.split("\n")
    return "\n".join(rows[first:] if lines is None else rows[first : first + max(1, lines)])


def truncate(text: str, length: int) -> tuple[str, bool]:
    """Return the whole lines (or else graphemes) of the text that fit `length` characters, and whether it was cut."""
    if len(text) <= length:
        return text, False
    end = text.rfind("\n", 0, length + 1)
    return text[: end if end > 0 else boundary(text, 0, length)], True


def no_such_note(path: str) -> Diagnostic:
    """Return a diagnostic for a note that does not exist, as before the day's first entry or for a wrong name."""
    return Diagnostic(
        "no_such_note", f"There is no note {path!r} yet.", "Look for its text with `memoriter search WORDS`."
    )


def no_text(path: str, text: str, start: int | None) -> Diagnostic:
    """Return a diagnostic for an existing note that has no text to show from line `start` on."""
    rows = text.count("\n") + (not text.endswith("\n"))
    if text and start and start > rows:
        message = f"{path!r} has {rows} line{'' if rows == 1 else 's'}, and line {start} was requested."
        return Diagnostic("past_the_end", message, f"Ask for line {max(rows, 1)} or an earlier one.")
    if not text.strip():
        return Diagnostic("no_text", f"{path!r} is empty.", "Run `memoriter remember TEXT`.")
    return Diagnostic("no_text", f"{path!r} has no text there.", f"Read all of it with `memoriter get {path}`.")
