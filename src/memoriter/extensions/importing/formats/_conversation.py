"""A conversation as Markdown: a heading for each turn, with the speaker and the time."""

from __future__ import annotations

import re
from datetime import UTC
from typing import TYPE_CHECKING

from memoriter.extensions.importing._json import mapping
from memoriter.extensions.importing._records import LeftOut, Page, text_of
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator
    from datetime import datetime

_HEADING = re.compile(r"(#{1,6})(?=[ \t])")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_INNER = 2
"""Levels by which headings inside a turn are lowered, so that they stay below the heading of the turn."""

_ESCAPED = re.compile(r"\\([^A-Za-z0-9])")
_SPECIAL = re.compile(r"[.^$*+?{}\[\]|()]|\\")
WHOLE = frozenset({".*", "(?s).*", "^.*$", r"[\s\S]*", r"[\S\s]*"})
"""Regular expressions that stand for the whole document."""


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


def omitted(counts: Counter[str]) -> Iterator[LeftOut]:
    """Yield a record for each kind of things that an export has besides text, so that the report names it."""
    for kind, number in sorted(counts.items()):
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


@dataclass(slots=True)
class Document:
    """A document in its last state so far."""

    title: str
    text: str
    language: str | None = None
    """The language of code, which may be empty; None: the text is Markdown."""
    at: datetime | None = None


class Documents(dict[str, Document]):
    """The documents of one conversation, by their ids in it."""

    def named(self, key: str) -> Document | None:
        """Return a document, or the last one if the id is empty."""
        return self.get(key) if key else next(reversed(self.values()), None)

    def pages(self, prefix: str) -> Iterator[Page]:
        """Yield a page for each document; its id begins with `prefix`."""
        for key, each in self.items():
            text = each.text if each.language is None else fenced(each.text, each.language)
            if each.text.strip():
                yield Page(f"{prefix} {key}", each.title, text, each.at)


def replaced(text: str, pattern: str, new: str, *, every: bool) -> str | None:
    r"""Return a text in which what a regular expression matches is replaced; None if it is not a plain text.

    Expressions come from a stranger's file and are not run, because one can take any time. Those that match all of the
    text, and those that match only themselves, are known without.

    >>> replaced("one (two)", r"\(two\)", "three", every=False), replaced("one", "o+", "two", every=True)
    ('one three', None)
    """
    if pattern in WHOLE:
        return new
    plain = _ESCAPED.sub("", pattern)
    if _SPECIAL.search(plain):
        return None
    return literal(text, _ESCAPED.sub(r"\1", pattern), new, every=every)


def literal(text: str, old: str, new: str, *, every: bool = False) -> str | None:
    """Return a text with another part in place of one; None if the part is not in it."""
    return text.replace(old, new, -1 if every else 1) if old and old in text else None
