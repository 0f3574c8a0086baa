"""Documents that an assistant wrote beside a conversation, and changed in its course: only the last state is kept."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoriter.extensions.importing._records import Page
from memoriter.extensions.importing.formats._conversation import fenced
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

_ESCAPED = re.compile(r"\\([^A-Za-z0-9])")
_SPECIAL = re.compile(r"[.^$*+?{}\[\]|()]|\\")
WHOLE = frozenset({".*", "(?s).*", "^.*$", r"[\s\S]*", r"[\S\s]*"})
"""Regular expressions that stand for the whole document."""


@dataclass(slots=True)
class Document:
    """A document in its last state so far."""

    title: str
    text: str
    language: str | None = None
    """The language of code, which may be empty; None: the text is Markdown."""
    at: datetime | None = None


class Documents:
    """The documents of one conversation, by their ids in it."""

    def __init__(self) -> None:
        self._found = dict[str, Document]()

    def put(self, key: str, document: Document) -> None:
        """Add a document, or replace one of the same id."""
        self._found[key] = document

    def get(self, key: str) -> Document | None:
        """Return a document, or the last one if the id is empty."""
        return self._found.get(key) if key else next(reversed(self._found.values()), None)

    def pages(self, prefix: str) -> Iterator[Page]:
        """Yield a page for each document; its id begins with `prefix`."""
        for key, each in self._found.items():
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
