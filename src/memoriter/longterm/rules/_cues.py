"""The cues of all language packs as one expression of each kind, and cues that no language owns."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Literal

from memoriter.longterm.rules.packs import (
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
CODE = re.compile(
    r"""(?mx)
      ^\s*(?:def|class|function|import|const|let|var|return|public|private|package|using|namespace|async|await|export)\b
          .*[(){}=;:]\s*(?:\#.*|//.*)?$
    | ^\s*(?:from\ [\w.]+\ import\ |\#include\b|Traceback\ \(|File\ "|at\ \S+\ \(|\$\ \w+|>>>\ |npm\ ERR
          |\#!/|fatal:|warning:|diff\ -{2}git)
    | \bFile\ "[^"]+",\ line\ \d+ | ^\s*at\ [\w.$<>]+\ ?\([^)]*:\d+
    | ^\s*(?:[\w.]*(?:Error|Exception|Fehler|FATAL|WARN|ERROR|INFO|DEBUG)|Error)(?:\ \d+)?(?:\ \([^)]*\))?:\s
    | \b(?:SELECT\b.+\bFROM|INSERT\ INTO|UPDATE\b.+\bSET|CREATE\ TABLE|DELETE\ FROM)\b
    | ^\s*[\w.\[\]"']+\s*(?:=|\+=|:=)\s*[^=].*[;)\]}"']\s*$ | [;{}]\s*$ | ^\s*</?\w+[^>]*>\s*$
    """
)
"""A line of a program, of its output, or of a query."""
FENCE = re.compile(r"(?ms)^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)")
QUOTE_LINE = re.compile(r"(?m)^[ \t]*>.*$")
QUOTATION = re.compile(r"\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|»[^«]*«|「[^」]*」|『[^』]*』|《[^》]*》|‹[^›]*›")


@cache
def cues(kind: Cue) -> re.Pattern[str]:
    """Return the expression that finds a kind of cue in any language."""
    patterns = (pattern for pack in PACKS for pattern in getattr(pack, kind))
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


@lru_cache(maxsize=1)
def own_words() -> re.Pattern[str]:
    """Return the expression that finds the author, or what is theirs, in any language."""
    return re.compile("|".join(f"(?:{pack.own})" for pack in PACKS))
