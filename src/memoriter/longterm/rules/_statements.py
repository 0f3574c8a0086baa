"""Find the statements in a message that long-term memories should keep, as verbatim quotations (pure functions).

The rules favour precision. A sentence must state something about its author, and the message must not be code, a
supposition, a text to correct, or something that its author does not want to be remembered.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from memoriter.agent import gives_orders, looks_like_injection
from memoriter.longterm.rules._authority import claims_authority
from memoriter.longterm.rules._classic import (
    LEAST_CHARACTERS,
    MOST_CHARACTERS,
    has_many_emoji,
    has_phrase,
    is_markup,
    utf16_length,
)
from memoriter.longterm.rules._cues import CODE, CONTACT, QUOTATION, cues, own_words
from memoriter.longterm.rules._disguised import begins_order, is_disguised
from memoriter.longterm.rules._own import own_text
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from memoriter.longterm._records import Category

LONGEST_SENTENCE = 600
"""Characters of a sentence that are searched for cues, so that the time of a search is bounded."""
LEAST_CONTENT = 6
"""Letters and digits that a sentence needs beside its request to remember, wide characters counted twice."""
_SENTENCE = re.compile(
    r"(?:[^.!?。！？…\n]|(?<=[A-Za-z0-9_)-])\.(?=[a-z0-9])|(?<![^\s(])\.(?=[A-Za-z]))*"
    r"(?:[.!?…]+(?=[\s\"”»」』)]|$)[\"”»」』)]*|[。！？]+[」』”]*|[.!?…]|\n|$)"
)
"""A point within a name, an address or a number, such as `3.12`, does not end a sentence."""
_SPACES = re.compile(r"\s+")
_PLAIN = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "，": ",", "：": ":", "；": ";", "？": "?", "！": "!"})
_SCORES: tuple[tuple[Category, float], ...] = (("entity", 0.9), ("decision", 0.85), ("preference", 0.8), ("fact", 0.7))
"""Categories in the order in which they decide, with the confidence of their cues. See `Statement.score`."""
REMEMBER_SCORE = 0.95


@dataclass(frozen=True, slots=True)
class Statement:
    """What a message says that should be kept."""

    text: str
    """The words of the message from `start` to `end`."""
    start: int
    """First character in the message."""
    end: int
    """The character after the last one."""
    category: Category
    score: float
    """0..1, by the kind of its strongest cue: a request to remember is surest, a plain fact least. It is an order of
    confidence, not a probability."""


@dataclass(frozen=True, slots=True)
class _Sentence:
    start: int
    end: int
    plain: str
    """In the form that the cues expect."""


class _Judged(NamedTuple):
    """A sentence to keep."""

    sentence: _Sentence
    category: Category
    score: float


def find_statements(
    text: str,
    *,
    most: int = MOST_CHARACTERS,
    phrases: Iterable[str] = (),
    known: Callable[[str], bool] | None = None,
) -> tuple[Statement, ...]:
    """Return the statements of a user's message that should be kept, in their order.

    Each is one run of adjacent sentences of the author. Whatever is between two sentences and was written by somebody
    else, or is not worth keeping, ends the run, so that it never becomes a part of a statement.

    Args:
        text: the message.
        most: longest message, in UTF-16 units (`captureMaxChars`); the shortest has 10, wide characters counted twice.
        phrases: further words for "remember this" (`customTriggers`).
        known: whether a text was taken from memory, so that it is not captured again.
    """
    own = own_text(text)
    if _width(own.strip()) < LEAST_CHARACTERS or utf16_length(own.strip()) > most:
        return ()
    if is_markup(own.strip()) or has_many_emoji(own):
        return ()
    sentences = list(_sentences(own))
    if CODE.search(own) or any(_excludes_message(sentence.plain) for sentence in sentences):
        return ()
    judged = _judged(sentences, tuple(phrases))
    kept = [each for each in judged if not (known and known(own[each.sentence.start : each.sentence.end]))]
    if not kept or _is_unsafe(own):
        return ()
    found = (_statement(text, run) for run in _runs(text, kept))
    return tuple(each for each in found if not _is_unsafe(each.text) and not claims_authority(each.text))


def _runs(text: str, kept: list[_Judged]) -> Iterator[list[_Judged]]:
    """Yield the kept sentences in groups that have nothing but blanks between them in the message."""
    run: list[_Judged] = []
    for each in kept:
        if run and text[run[-1].sentence.end : each.sentence.start].strip():
            yield run
            run = []
        run.append(each)
    yield run


def _statement(text: str, run: list[_Judged]) -> Statement:
    start, end = run[0].sentence.start, run[-1].sentence.end
    category = _first_category({each.category for each in run})
    return Statement(text[start:end], start, end, category, max(each.score for each in run))


def _is_unsafe(text: str) -> bool:
    """Return whether a message gives orders to a model, also disguised, or in a part that another message completes."""
    if looks_like_injection(text) or gives_orders(text, owned=False) or is_disguised(text):
        return True
    return any(begins_order(line.strip().rstrip(".!。")) for line in text.split("\n") if line.strip())


def _first_category(found: Container[str]) -> Category:
    for category, _ in _SCORES:
        if category in found:
            return category
    return "fact"


def _sentences(text: str) -> Iterator[_Sentence]:
    for match in _SENTENCE.finditer(text):
        body = match[0].strip()
        if body:
            start = match.start() + len(match[0]) - len(match[0].lstrip())
            yield _Sentence(start, start + len(body), _plain(body))


def _plain(sentence: str) -> str:
    plain = unicodedata.normalize("NFC", QUOTATION.sub(" ", sentence)).translate(_PLAIN).lower()
    return _SPACES.sub(" ", plain).strip()[:LONGEST_SENTENCE]


def _excludes_message(plain: str) -> bool:
    """Return whether a sentence shows that nothing in its message may be kept."""
    if plain.endswith(":"):
        plain += " -"  # The text to work on begins on the next line.
    return any(cues(kind).search(plain) for kind in ("supposition", "forget", "text_work"))


def _judged(sentences: list[_Sentence], phrases: tuple[str, ...]) -> Iterator[_Judged]:
    """Yield the sentences to keep, each with its category and score, in their order."""
    previous: _Sentence | None = None
    has_task = any(cues("task").search(sentence.plain) for sentence in sentences)
    for sentence in sentences:
        asked = _asks_to_remember(sentence.plain, phrases)
        if asks := _is_question(sentence.plain) and not (asked and cues("request").search(sentence.plain)):
            previous = None
        elif asked and _has_content(sentence.plain):
            yield _Judged(sentence, _category(sentence.plain) or "fact", REMEMBER_SCORE)
        elif asked and previous is not None and not cues("passing").search(previous.plain):
            yield _Judged(previous, _category(previous.plain) or "fact", REMEMBER_SCORE)
        elif (category := _category(sentence.plain)) and not _is_of_the_moment(sentence.plain, has_task):
            yield _Judged(sentence, category, dict(_SCORES)[category])
        previous = None if asks else sentence


def _asks_to_remember(plain: str, phrases: tuple[str, ...]) -> bool:
    return cues("remember").search(plain) is not None or has_phrase(plain, phrases)


def _is_question(plain: str) -> bool:
    return plain.rstrip('"”»」』)').endswith("?") or cues("question").search(plain) is not None


def _is_of_the_moment(plain: str, has_task: bool) -> bool:
    """Return whether a sentence is about this moment, passes on what others say, or is a part of a task.

    Args:
        plain: the sentence.
        has_task: whether a sentence of the message is a request to the assistant.
    """
    if cues("passing").search(plain) or cues("report").search(plain):
        return True
    about_task = cues("task").search(plain) or (has_task and cues("workpiece").search(plain))
    return bool(about_task) and not cues("lasting").search(plain)


def _has_content(plain: str) -> bool:
    rest = cues("remember").sub(" ", plain)
    return _width("".join(character for character in rest if character.isalnum())) >= LEAST_CONTENT


def _category(plain: str) -> Category | None:
    """Return the category of a sentence by the first kind of cue in it; None: it states nothing to keep."""
    if CONTACT.search(plain) and own_words().search(plain):
        return "entity"
    for category, _ in _SCORES:
        if category != "other" and cues(category).search(plain):
            return category
        if category == "decision" and cues("switch").search(plain):
            return category
    return None


def _width(text: str) -> int:
    """Return the number of characters, with wide ones counted twice, since they say as much as two letters."""
    return len(text) + sum(unicodedata.east_asian_width(character) in "WF" for character in text)
