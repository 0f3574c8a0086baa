"""Fold text to the form that a reader perceives: one plain letter for all that look like it."""

from __future__ import annotations

import re

from memoriter.ids import normalize
from memoriter.workspace._hidden import HIDDEN

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
