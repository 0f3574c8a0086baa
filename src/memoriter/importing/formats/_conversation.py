"""A conversation as Markdown: a heading for each turn, with the speaker and the time."""

from __future__ import annotations

import re
from datetime import UTC
from typing import TYPE_CHECKING

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

_HEADING = re.compile(r"(#{1,6})(?=[ \t])")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_INNER = 2
"""Levels by which headings inside a turn are lowered, so that they stay below the heading of the turn."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side said."""

    speaker: str
    text: str
    at: datetime | None = None


def conversation(turns: Iterable[Turn]) -> str:
    """Return turns as Markdown; turns without text are left out."""
    parts = list[str]()
    for turn in turns:
        if text := turn.text.strip():
            time = f", {turn.at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if turn.at else ""
            parts.append(f"## {turn.speaker}{time}\n\n{lowered(text)}\n")
    return "\n".join(parts)


def lowered(text: str) -> str:
    """Return Markdown with its headings two levels lower, except in code; an open fence is closed.

    >>> lowered("# Plan")
    '### Plan'
    """
    lines, fence = list[str](), ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if fence:
            rest = line.strip()
            fence = "" if rest.startswith(fence) and not rest.strip(fence[0]) else fence
        elif match:
            fence = match[1]
        elif found := _HEADING.match(line):
            line = "#" * min(6, len(found[1]) + _INNER) + line[found.end() :]  # noqa: PLW2901 - one line of the text
        lines.append(line)
    return "\n".join([*lines, *([fence] if fence else [])])


def fenced(text: str, language: str = "") -> str:
    """Return text as a code block, with a fence that does not occur in it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.strip(chr(10))}\n{fence}"
