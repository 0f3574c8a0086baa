"""The cues of all language packs as one expression of each kind, and cues that no language owns."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from memoriter.statements.packs import (
    CHINESE,
    CZECH,
    ENGLISH,
    FRENCH,
    GERMAN,
    JAPANESE,
    KOREAN,
    PORTUGUESE,
    SPANISH,
    LanguagePack,
)

PACKS: tuple[LanguagePack, ...] = (ENGLISH, CZECH, KOREAN, CHINESE, JAPANESE, SPANISH, GERMAN, FRENCH, PORTUGUESE)

Cue = Literal[
    "remember",
    "preference",
    "decision",
    "switch",
    "entity",
    "fact",
    "question",
    "request",
    "supposition",
    "forget",
    "report",
    "passing",
    "text_work",
    "task",
    "lasting",
    "workpiece",
]

CONTACT = re.compile(r"(?<!\w)\+[0-9][0-9 ()/.\-]{7,20}[0-9]|[\w.+\-]+@[\w\-]+(?:\.[\w\-]+)+")
"""A telephone number in its international form, or a mail address."""
EASTERN = ("ko", "zh", "ja")
"""Languages whose script is not Latin. A message that begins in one of them is not read in any other."""


@cache
def cues(kind: Cue, *, eastern: bool = False) -> re.Pattern[str]:
    """Return the expression that finds a kind of cue in any language, or only in the `EASTERN` ones."""
    patterns = (pattern for pack in _packs(eastern) for pattern in getattr(pack, kind))
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


@cache
def own_words(*, eastern: bool = False) -> re.Pattern[str]:
    """Return the expression that finds the author, or what is theirs, in any or an `EASTERN` language."""
    return re.compile("|".join(f"(?:{pack.own})" for pack in _packs(eastern)))


def _packs(eastern: bool) -> list[LanguagePack]:
    return [pack for pack in PACKS if not eastern or pack.language in EASTERN]
