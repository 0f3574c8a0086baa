"""Functions that statements of the index call."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache

from memoriter.ids import normalize


def path_matches(path: str, pattern: str) -> bool:
    """Match like SQLite's `GLOB`, whose time grows by another power of the path's length with each `*`."""
    return fnmatchcase(path, pattern)


def holds_phrase(heading: str, text: str, phrase: str) -> bool:
    """Return whether a text or its headings contain a phrase as whole words, whatever the case and the emphasis."""
    pattern = _phrase_pattern(phrase)
    return pattern.search(_folded(text)) is not None or pattern.search(_folded(heading)) is not None


@lru_cache(maxsize=64)
def _phrase_pattern(phrase: str) -> re.Pattern[str]:
    """Return a pattern over folded text. In scripts that are written without spaces, a word may be part of another."""
    folded = _folded(phrase)
    before = r"(?<!\w)" if _ALPHABETIC.match(folded[:1]) else ""
    after = r"(?!\w)" if _ALPHABETIC.match(folded[-1:]) else ""
    return re.compile(before + re.escape(folded) + after)


def _folded(text: str) -> str:
    return " ".join(normalize("NFKC", text).casefold().translate(_NO_EMPHASIS).split())


_NO_EMPHASIS = str.maketrans("", "", "*`")
_ALPHABETIC = re.compile(
    r"(?![\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff])\w"
)
"""A letter or digit of a script whose words have spaces between them; Korean particles follow without one."""
