"""Detection of a text's writing system, a coarse stand-in for its language.

Embedding models put texts of one language close together.
"""

from __future__ import annotations

import re
from functools import cache

_RANGES = {
    "hangul": "\uac00-\ud7a3\u1100-\u11ff\u3131-\u318e",
    "kana": "\u3041-\u30ff\u31f0-\u31ff",
    "han": "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff",
    "cyrillic": "\u0400-\u052f",
    "arabic": "\u0600-\u06ff\u0750-\u077f",
    "devanagari": "\u0900-\u097f",
    "thai": "\u0e00-\u0e7f",
}
_WORDS = re.compile(r"[A-Za-z\u00c0-\u024f]+")
_LETTERS_PER_WORD = 2.0
"""Average length of a word in an ideographic or syllabic script."""
_JAPANESE_SHARE = 0.15
"""Least share of kana among kana and ideographs in a Japanese text."""


def script_of(text: str) -> str:
    """Return the script of most words: `latin`, `hangul`, `kana` (Japanese), `han` (Chinese) and so on."""
    if text.isascii():
        return "latin"
    words = {name: len(pattern.findall(text)) / _LETTERS_PER_WORD for name, pattern in _patterns().items()}
    ideographic = words["kana"] + words["han"]
    japanese = words["kana"] >= 1 and words["kana"] >= _JAPANESE_SHARE * ideographic
    words["kana"], words["han"] = (ideographic, 0.0) if japanese else (0.0, ideographic)
    words["latin"] = float(len(_WORDS.findall(text)))
    return max(words, key=lambda name: (words[name], name == "latin"))


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {name: re.compile(f"[{span}]") for name, span in _RANGES.items()}
