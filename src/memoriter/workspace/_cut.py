"""Cut a text that is too long: after a sentence, after a space, or between graphemes."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cache
from typing import TYPE_CHECKING

from memoriter.workspace._tokens import weigh

if TYPE_CHECKING:
    from collections.abc import Iterator

    import regex

_LIGHTEST = 3
"""Smallest weight of a character; see `_tokens`."""
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
    start, covered = 0, 0
    while covered < len(line):
        reach = _limit_end(line, start, limit)
        end = _best_end(line, start, reach, covered)
        yield start, end
        start, covered = (_next_start(line, start, end, overlap) if end < len(line) else end), end


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
