"""Find quotations and links within the lines of a message, with quotation marks of any kind, in any order."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from memoriter.extensions.longterm.rules._cues import own_words

if TYPE_CHECKING:
    from collections.abc import Iterator

FOREIGN = "\ufffc"
"""Takes the place of the words of somebody else within a sentence."""
NAME = "\ufffb"
"""Takes the place of a name in quotation marks, or of an address, which belong to their sentence."""
WIDEST_NAME = 40
"""Columns of a quotation that may be a name or a title; a wider one is what somebody said."""
_CLOSINGS = {
    '"': '"“”',
    "“": '”“"',
    "”": '”“"',
    "„": '“”"',
    "‟": '”“"',
    "«": "»",
    "»": "«»",
    "‹": "›",
    "›": "‹›",
    "「": "」",
    "『": "』",
    "《": "》",
    "〈": "〉",
    "｢": "｣",
    "〝": "〞〟",
    "＂": "＂",
    "‘": "’'‘",
    "’": "’'",
    "‚": "‘’'",
    "'": "'’",
    "`": "`",
}
"""Marks that open a quotation, with those that close it."""
_EITHER = "\"”’'»›`“"
"""Marks that open a quotation only before a word, and not after one."""
_MARK = re.compile(f"[{re.escape(''.join(_CLOSINGS) + '」』》〉｣〞〟')}]")
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{0,600}[^()\n]{0,100}\)|(?:https?|ftp)://[!-~]+|www\.[!-~]+")
_ENDS_LINE = re.compile(r"[.!?,;]?[ \t]*(?:\n|$)")
_SENTENCE_INSIDE = re.compile(r"[.!?…]\s+\S|[。！？]\s*\w|\n")


def quotations(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield the places of quotations and links, and whether each is only a name or an address.

    A quotation that is never closed lasts to the end; one that was never opened begins with its line.
    """
    for link in _LINK.finditer(text):
        yield link.start(), link.end(), link[1] is None or _is_name(link[1])
    at = 0
    while mark := _MARK.search(text, at):
        place = mark.start()
        at = mark.end()
        if _is_apostrophe(text, place):
            continue
        if not _opens(text, place):
            if mark[0] not in "'’" or _ENDS_LINE.match(text, at):
                yield text.rfind("\n", 0, place) + 1, at, False
            continue
        end = _end_of(text, place)
        if end is None:
            yield place, len(text), False
            return
        yield place, end, _is_name(text[place + 1 : end - 1])
        at = end


def _is_apostrophe(text: str, place: int) -> bool:
    """Return whether a mark is within a word of an alphabet that writes apostrophes, as in `don't`."""
    return text[place] in "'’" and _is_letter(text[place - 1 : place]) and _is_letter(text[place + 1 : place + 2])


def _is_letter(character: str) -> bool:
    return character.isalnum() and character < "\u0530"


def _opens(text: str, place: int) -> bool:
    if text[place] not in _CLOSINGS:
        return False
    following = text[place + 1 : place + 2]
    return text[place] not in _EITHER or not (following.strip() == "" or _is_letter(text[place - 1 : place]))


def _end_of(text: str, place: int) -> int | None:
    """Return the place after the mark that closes a quotation; None: nothing does."""
    for at in range(place + 1, len(text)):
        if text[at] in _CLOSINGS[text[place]] and not _is_apostrophe(text, at):
            return at + 1
    return None


def _is_name(quoted: str) -> bool:
    """Return whether quoted words are a name or a title, rather than what somebody said of themselves."""
    width = len(quoted) + sum(unicodedata.east_asian_width(character) in "WF" for character in quoted)
    return width <= WIDEST_NAME and not _SENTENCE_INSIDE.search(quoted) and not own_words().search(quoted.lower())
