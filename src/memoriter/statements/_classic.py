"""The rules of OpenClaw 2026.2.26: which messages are stored, and in which category.

They are exact, including what they miss: only English and Czech words trigger them. Lengths are in UTF-16 units, and
letters match only those that JavaScript's regular expressions match.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoriter.agent import looks_like_injection

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoriter.types import Category

LEAST_CHARACTERS = 10
MOST_CHARACTERS = 500
"""Default of `captureMaxChars`."""
MOST_EMOJI = 3
_ASCII_WORD = "[A-Za-z0-9_]"
_SPACE = r"[\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]"
_NAME = r"[A-Za-z0-9_.\-]+"
_TRIGGERS = re.compile(
    rf"""(?ix)
      zapamatuj\ si | pamatuj | remember
    | preferuji | radši | nechci | prefer
    | rozhodli\ jsme | budeme\ používat
    | \+[0-9]{{10,}}
    | (?<![A-Za-z0-9_.\-]){_NAME}+@{_NAME}\.{_ASCII_WORD}+
    | můj{_SPACE}+{_ASCII_WORD}+{_SPACE}+je | je{_SPACE}+můj
    | my{_SPACE}+{_ASCII_WORD}+{_SPACE}+is | is{_SPACE}+my
    | i\ (?:like|prefer|hate|love|want|need)
    | always | never | important
    """
)
_CATEGORIES: tuple[tuple[Category, re.Pattern[str]], ...] = (
    ("preference", re.compile(r"prefer|radši|like|love|hate|want")),
    ("decision", re.compile(r"rozhodli|decided|will use|budeme")),
    ("entity", re.compile(rf"\+[0-9]{{10,}}|@{_NAME}\.{_ASCII_WORD}+|is called|jmenuje se")),
    ("fact", re.compile(r"is|are|has|have|je|má|jsou")),
)
_EMOJI = re.compile("[\U0001f300-\U0001f9ff]")
_OTHER_LETTERS = {ord(letter): "\0" for letter in "ſıİ\u212a"}
"""Letters that match `s`, `i` and `k` without case in Python, and do not in JavaScript."""


def is_markup(text: str) -> bool:
    """Return whether a message is markup of a program or a model's answer, rather than a person's words."""
    return (text.startswith("<") and "</" in text) or ("**" in text and "\n-" in text)


def has_many_emoji(text: str) -> bool:
    """Return whether a message has more emoji than people write into a statement."""
    return len(_EMOJI.findall(text)) > MOST_EMOJI


def utf16_length(text: str) -> int:
    """Return the length of a text in UTF-16 units."""
    return len(text) + sum(character > "\uffff" for character in text)


def has_phrase(text: str, phrases: Iterable[str]) -> bool:
    """Return whether a text contains one of the owner's phrases, without regard to case."""
    folded = text.casefold()
    return any(phrase.strip() and phrase.strip().casefold() in folded for phrase in phrases)


def classic_capture(text: str, *, most: int = MOST_CHARACTERS, phrases: Iterable[str] = ()) -> bool:
    """Return whether OpenClaw would store a message of at most `most` UTF-16 units. Phrases are further triggers."""
    if not LEAST_CHARACTERS <= utf16_length(text) <= most:
        return False
    if "<relevant-memories>" in text or is_markup(text) or has_many_emoji(text) or looks_like_injection(text):
        return False
    return _TRIGGERS.search(text.translate(_OTHER_LETTERS)) is not None or has_phrase(text, phrases)


def classic_category(text: str) -> Category:
    """Return the category that OpenClaw gives to a message."""
    lower = text.lower()
    for category, pattern in _CATEGORIES:
        if pattern.search(lower):
            return category
    return "other"
