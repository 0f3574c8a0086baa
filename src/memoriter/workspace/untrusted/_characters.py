"""Characters that deceive a reader: invisible ones, and look-alikes, which fold to one plain letter."""

from __future__ import annotations

import re

from memoriter.ids import normalize

_CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_INVISIBLE = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2028\u2029\u2060-\u2065\u206a-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_NOT_TEXT = "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
HIDDEN = re.compile(f"[{_CONTROL}{_BIDI}{_INVISIBLE}{_NOT_TEXT}]")
"""Characters that are invisible, or that change how others are displayed; tab and line feed are not included."""
RUN = re.compile(f"[{_CONTROL}{_BIDI}{_INVISIBLE}{_NOT_TEXT}]+")
TERMINAL = re.compile(f"[{_CONTROL}{_BIDI}\u2028\u2029\u200b\u2060-\u206f\ufeff{_NOT_TEXT}\U000e0000-\U000e0fff]")
"""Characters that could move a cursor, repaint a screen, reverse a line or hide in it."""


_MARKER = re.compile(r"\[U\+[0-9A-F]{4,6}\]|\[\d[\d,]* hidden characters\]")
"""How `visible` shows a hidden character."""
_MARKS = re.compile("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
_LOOK_ALIKE = {
    "a": "аɑαᴀ",
    "b": "Ьʙƅᏼв",
    "c": "сϲᴄⅽ",
    "d": "ԁᴅɗⅾ",
    "e": "еєҽᴇɛ℮",
    "f": "ꜰƒϝ",
    "g": "ɡɢց",
    "h": "һʜհ",
    "i": "іɪıιі",
    "j": "јᴊϳ",
    "k": "кᴋκ",
    "l": "ӏʟⅼǀ",
    "m": "мᴍⅿ",
    "n": "ոɴпη",
    "o": "оοօᴏσө",
    "p": "рᴘρ",
    "q": "ԛգ",
    "r": "гʀ",
    "s": "ѕꜱʂ",
    "t": "тᴛτ",
    "u": "υսᴜ",
    "v": "ѵᴠν",
    "w": "ԝᴡѡɯ",
    "x": "хχ",
    "y": "уʏγү",
    "z": "ᴢʐ",
}
_LETTERS = {ord(odd): plain for plain, odds in _LOOK_ALIKE.items() for odd in odds} | {
    first + number: chr(ord("a") + number)
    for first in (0x1F150, 0x1F170, 0x1F1E6)  # circled, squared, and the letters of flags
    for number in range(26)
}
_DIGITS = [str.maketrans("0134578$@", f"o{one}east" + "bsa") for one in "il"]


def folded(text: str) -> str:
    """Return the text without hidden characters, in lower case, without accents, and in plain forms of its letters.

    Letters keep their script: Russian stays Russian. `skeleton` continues from this form.
    """
    plain = (
        HIDDEN.sub("", _MARKER.sub("", text)) if not text.isascii() or "[" in text or not text.isprintable() else text
    )
    if plain.isascii():
        return plain.casefold()
    split = normalize("NFD", normalize("NFKC", plain).casefold())
    return normalize("NFC", _MARKS.sub("", split))


def skeleton(plain: str) -> str:
    """Return folded text with every letter that looks like a Latin one replaced by it."""
    return plain if plain.isascii() else plain.translate(_LETTERS)


def without_digits(plain: str) -> tuple[str, str]:
    """Return folded text with digits and signs as letters, as in `1gn0re`: once with `1` as `i`, once as `l`."""
    return plain.translate(_DIGITS[0]), plain.translate(_DIGITS[1])
