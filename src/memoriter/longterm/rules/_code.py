"""Recognize a line of a program, of its output, or of a query."""

from __future__ import annotations

import re

LONGEST = 600
"""Characters of a line that are compared, so that the time is bounded."""
_LINE = re.compile(
    r"""(?x)
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


def has_code(text: str) -> bool:
    """Return whether a line of a text is one of a program."""
    return any(_LINE.search(line[:LONGEST]) for line in text.split("\n") if line.strip())
