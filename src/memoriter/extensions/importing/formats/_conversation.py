"""A conversation as Markdown: a heading for each turn, with the speaker and the time."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC
from typing import TYPE_CHECKING

from memoriter.extensions.importing._json import mapping
from memoriter.extensions.importing._records import LeftOut, text_of
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
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
    lines = list[str]()
    fence = ""
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


class Omitted:
    """Counts what an export has besides text, so that the report names it."""

    def __init__(self) -> None:
        self._counts = Counter[str]()

    def add(self, kind: str, number: int = 1) -> None:
        """Count things of a kind, such as `documents of its canvas`."""
        self._counts[kind] += number

    def records(self) -> Iterator[LeftOut]:
        """Yield a record for each kind."""
        for kind, number in sorted(self._counts.items()):
            if number:
                yield LeftOut(f"{kind} ({number:,})", "memoriter does not import them")


def attached(values: Iterable[object]) -> str:
    """Return a line for each file that was attached without its text, with its name."""
    found = [mapping(value) for value in values]
    names = [" ".join((text_of(each.get("name")) or text_of(each.get("file_name"))).split()) for each in found]
    return "\n".join(f"(attached: {name})" for name in names if name)


def fenced(text: str, language: str = "") -> str:
    """Return text as a code block, with a fence that does not occur in it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.strip(chr(10))}\n{fence}"
