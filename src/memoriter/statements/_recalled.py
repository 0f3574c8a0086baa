"""Recognize text from memory in a conversation, so that it is not captured again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoriter.values import dataclass
from memoriter.workspace import without_injected

if TYPE_CHECKING:
    from collections.abc import Iterable

LISTED = re.compile(r"(?m)^[ \t>]*(?:\d{1,3}[.)]|[-*+])[ \t]*\\?\[(?:preference|fact|decision|entity|other)\\?\].*$")
"""A memory as the block before a turn lists it: `1. [preference] I prefer tea.`"""
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s*|\n")
_WORDS = re.compile(r"\w+")
_ENTITY = re.compile(r"&(?:amp;)*(?:lt|gt|quot|amp|#39);")
SHORTEST = 6
"""Letters and digits; a shorter sentence is too common to come from memory."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """The sentences that a memory put into a conversation, as words alone."""

    sentences: frozenset[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Recalled:
        """Return the sentences in the injected blocks, and in the listed memories, of some messages."""
        found: set[str] = set()
        for text in texts:
            kept = LISTED.sub("\n", without_injected(text))
            if kept != text:
                found |= set(_sentences(text)) - set(_sentences(kept))
        return cls(frozenset(found))

    def covers(self, text: str) -> bool:
        """Return whether all sentences of a text were recalled before."""
        own = list(_sentences(text))
        return bool(own) and all(each in self.sentences for each in own)


def _sentences(text: str) -> Iterable[str]:
    plain = _ENTITY.sub(" ", text)
    plain = re.sub(r"(?m)^[ \t>]*(?:\d{1,3}[.)]|[-*+])[ \t]*\\?\[\w+\\?\][ \t]*", "", plain)
    words = (" ".join(_WORDS.findall(sentence.casefold())) for sentence in _SENTENCE.split(plain))
    return [each for each in words if len(each) >= SHORTEST]
