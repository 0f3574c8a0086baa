"""Where a text that is too long may be cut: after a sentence, after a space, between graphemes."""

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
"""No character weighs less; see `_tokens`."""
_LOOK_AHEAD = 64
# All repetitions are bounded: a line of a million full stops must not cost a million squared.
_SENTENCE = re.compile(r"[.!?…][\"'”’)\]]{0,4}\s|[。！？｡．][」』”’）]{0,4}\s?")
_SPACE = re.compile(r"\s")


def boundary(text: str, start: int, end: int, *, after: int = -1) -> int:
    """The last place in `(after, end]` that is between two graphemes, counting from one at `start`.

    A grapheme that alone is longer is cut at `end`: staying within a limit comes first.
    """
    places = _grapheme_ends(text, start, end)
    return places[-1] if places and places[-1] > after else end


def slices(line: str, limit: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Cut a line into pieces of at most `limit` (weights), each starting with up to `overlap` of the one before."""
    start, covered = 0, 0
    while covered < len(line):
        reach = _limit_end(line, start, limit)
        end = _best_end(line, start, reach, covered)
        yield start, end
        start, covered = (_next_start(line, start, end, overlap) if end < len(line) else end), end


def _limit_end(text: str, start: int, limit: int) -> int:
    """How far the text from `start` goes before it weighs more than `limit`."""
    most = min(len(text) - start, limit // _LIGHTEST)
    lengths = range(1, most + 1)
    return start + max(1, bisect_right(lengths, limit, key=lambda length: weigh(text[start : start + length])))


def _best_end(text: str, start: int, end: int, covered: int) -> int:
    """The best place to stop in `(done, end]`: after a sentence or a space, if that leaves at least half."""
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
    """Where the next piece starts so that it repeats at most `overlap` of the one that ends at `end`."""
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
    # A slice, since for flags the search would look back to the beginning of the text.
    graphemes = _graphemes().finditer(text[start : end + _LOOK_AHEAD])
    return [place for grapheme in graphemes if (place := start + grapheme.end()) <= end]


@cache
def _graphemes() -> regex.Pattern[str]:
    import regex

    # Half characters, as JSON of other programs may hold, stay together although each is a character here.
    return regex.compile(r"[\ud800-\udbff][\udc00-\udfff]|\X")
