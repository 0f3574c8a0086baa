"""Find the statements in a message that long-term memories should keep, as verbatim quotations (pure functions).

The rules favour precision. A sentence must state something about its author in their own message, outside of what they
quote, report or paste; and the message must not be code, a supposition, a text to correct, or something that its author
does not want to be remembered. What the author tells their agent to do is theirs, too.

The `classic_` rules are those of OpenClaw 2026.2.26: which messages are stored, and in which category. They are exact,
including what they miss: only English and Czech words trigger them. Lengths are in UTF-16 units, and letters match only
those that JavaScript's regular expressions match.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Literal, NamedTuple

from memoriter.agent import looks_like_injection
from memoriter.statements._cues import CONTACT, Cue, cues, own_words
from memoriter.statements._own import FOREIGN, NAME, own_text
from memoriter.values import dataclass
from memoriter.workspace import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from memoriter.types import Category

LEAST_CHARACTERS = 10
MOST_CHARACTERS = 500
"""Default of `captureMaxChars`."""
MOST_EMOJI = 3
_EMOJI = re.compile("[\U0001f300-\U0001f9ff]")


def is_markup(text: str) -> bool:
    """Return whether a message is markup of a program or a model's answer, rather than a person's words."""
    return (text.startswith("<") and "</" in text) or ("**" in text and "\n-" in text)


def has_many_emoji(text: str) -> bool:
    """Return whether a message has more emoji than people write into a statement."""
    return len(_EMOJI.findall(text)) > MOST_EMOJI


def utf16_length(text: str) -> int:
    """Return the length of a text in UTF-16 units."""
    return len(text) + sum(character > "\uffff" for character in text)


def has_phrase(text: str, phrases: Iterable[str]) -> bool:
    """Return whether a text contains one of the owner's phrases, without regard to case."""
    folded = text.casefold()
    return any(phrase.strip() and phrase.strip().casefold() in folded for phrase in phrases)


LONGEST_MESSAGE = 32_000
"""Characters of a message, with what it quotes and what memory put into it. A longer one is not read at all."""
LONGEST_CODE = 600
"""Characters of a line that are compared, so that the time is bounded."""
_CODE = re.compile(
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
MOST_SENTENCES = 60
"""Sentences of a message; one with more is no message that a person typed."""
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
_PLAIN = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "，": ",", "：": ":", "﹕": ":", "；": ";", "？": "?", "！": "!"})
_COLON = re.compile(r":(?=[\s*_]|$|[^\x00-\u052f])")
"""What separates an introduction from what it introduces, and not the parts of a time, an address or a name."""
_LETTER = re.compile(r"[^\W\d_]")
_SCORES: tuple[tuple[Category, float], ...] = (("entity", 0.9), ("decision", 0.85), ("preference", 0.8), ("fact", 0.7))
"""Categories in the order in which they decide, with the confidence of their cues. See `Statement.score`."""
REMEMBER_SCORE = 0.95
LONGEST_LABEL = 4
"""Words before a colon that name an address or a number of the author."""


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
    eastern: bool
    """Whether its message begins in an Eastern language, so that it is in no other."""

    def has(self, kind: Cue) -> bool:
        """Return whether a kind of cue is in the sentence."""
        return cues(kind, eastern=self.eastern).search(self.plain) is not None


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
    if len(text) > LONGEST_MESSAGE:
        return ()
    own = own_text(text)
    typed = own.strip()
    if _width(typed) < LEAST_CHARACTERS or utf16_length(typed) > most:
        return ()
    if is_markup(typed) or has_many_emoji(own) or _has_code(own) or looks_like_injection(own):
        return ()
    sentences = list(islice(_sentences(own), MOST_SENTENCES + 1))
    if len(sentences) > MOST_SENTENCES or any(_excludes_message(sentence) for sentence in sentences):
        return ()
    asking = tuple(phrases)
    judged = _judged(list(takewhile(lambda each: not _introduces(each, asking), sentences)), asking)
    kept = [each for each in judged if not (known and known(text[each.sentence.start : each.sentence.end]))]
    found = [_statement(text, run) for run in _runs(text, kept)]
    return tuple(each for each in found if not looks_like_injection(each.text) and visible(each.text) == each.text)


def may_be_kept(text: str) -> bool:
    """Return whether a text has a cue of more than a plain fact; without one, `find_statements` need not read it."""
    plain = _plain(text)
    kinds: tuple[Cue, ...] = ("remember", "decision", "switch", "preference", "entity")
    return CONTACT.search(plain) is not None or any(cues(kind).search(plain) for kind in kinds)


def _runs(text: str, kept: list[_Judged]) -> Iterator[list[_Judged]]:
    """Yield the kept sentences in groups that have nothing but blanks between them in the message."""
    run: list[_Judged] = []
    for each in kept:
        if run and text[run[-1].sentence.end : each.sentence.start].strip():
            yield run
            run = []
        run.append(each)
    if run:
        yield run


def _statement(text: str, run: list[_Judged]) -> Statement:
    start = run[0].sentence.start
    end = run[-1].sentence.end
    kinds = {each.category for each in run}
    first: Category = next(category for category, _ in _SCORES if category in kinds)
    return Statement(text[start:end], start, end, first, max(each.score for each in run))


def _sentences(text: str) -> Iterator[_Sentence]:
    eastern = _script(text) == "eastern"
    for match in _SENTENCE.finditer(text):
        body = match[0].strip()
        if body:
            start = match.start() + len(match[0]) - len(match[0].lstrip())
            plain = _plain(body)
            yield _Sentence(start, start + len(body), plain, eastern or _script(plain) == "eastern")


def _script(text: str) -> Literal["latin", "eastern", "other"]:
    """Return the script in which a text begins: one that a language pack has, or another one."""
    letter = _LETTER.search(text)
    name = unicodedata.name(letter[0], "") if letter else "LATIN"
    if name.startswith(("LATIN", "FULLWIDTH LATIN", "MICRO", "FEMININE", "MASCULINE")):
        return "latin"
    return "eastern" if name.startswith(("CJK", "HANGUL", "HIRAGANA", "KATAKANA", "HALFWIDTH")) else "other"


def _plain(sentence: str) -> str:
    plain = unicodedata.normalize("NFC", sentence[:LONGEST_SENTENCE]).translate(_PLAIN).replace(NAME, " ").lower()
    return _SPACES.sub(" ", plain).strip()


def _excludes_message(sentence: _Sentence) -> bool:
    """Return whether a sentence shows that nothing in its message may be kept."""
    return any(sentence.has(kind) for kind in ("supposition", "forget", "text_work"))


def _introduces(sentence: _Sentence, phrases: tuple[str, ...]) -> bool:
    """Return whether a sentence introduces words of somebody else, which last to the end of the message.

    Whatever is before a colon does, unless it asks to remember, or states something of the author itself. In a sentence
    that is longer than statements are, no colon is looked for.
    """
    if sentence.end - sentence.start > LONGEST_SENTENCE:
        return True
    colon = _COLON.search(sentence.plain)
    if colon is None:
        return False
    label = replace(sentence, plain=sentence.plain[: colon.end()])
    asked = cues("remember", eastern=sentence.eastern).search(sentence.plain)
    if (asked and asked.start() < colon.start()) or has_phrase(label.plain, phrases) or label.has("decision"):
        return False
    rest = sentence.plain[colon.end() :]
    own = own_words(eastern=sentence.eastern)
    if not rest or own.search(CONTACT.sub(" ", rest)):
        return True
    is_own_contact = CONTACT.search(rest) and own.match(label.plain) and len(label.plain.split()) <= LONGEST_LABEL
    return not is_own_contact and _category(label) is None


def _judged(sentences: list[_Sentence], phrases: tuple[str, ...]) -> Iterator[_Judged]:
    """Yield the sentences to keep, each with its category and score, in their order."""
    previous: _Sentence | None = None
    has_task = any(sentence.has("task") for sentence in sentences)
    for sentence in sentences:
        asked = _asks_to_remember(sentence, phrases)
        asks = _is_question(sentence) and not (asked and sentence.has("request"))
        if asks or _is_of_others(sentence):
            previous = None
            continue
        if asked and _has_content(sentence):
            yield _Judged(sentence, _category(sentence) or "fact", REMEMBER_SCORE)
        elif asked and previous is not None and not previous.has("passing"):
            yield _Judged(previous, _category(previous) or "fact", REMEMBER_SCORE)
        elif (category := _category(sentence)) and not _is_of_the_moment(sentence, has_task):
            yield _Judged(sentence, category, dict(_SCORES)[category])
        previous = sentence


def _is_of_others(sentence: _Sentence) -> bool:
    """Return whether words of somebody else are in a sentence, or it is in a language without a pack."""
    return FOREIGN in sentence.plain or _script(sentence.plain) == "other"


def _asks_to_remember(sentence: _Sentence, phrases: tuple[str, ...]) -> bool:
    return sentence.has("remember") or has_phrase(sentence.plain, phrases)


def _is_question(sentence: _Sentence) -> bool:
    return sentence.plain.rstrip('"”»」』)').endswith("?") or sentence.has("question")


def _is_of_the_moment(sentence: _Sentence, has_task: bool) -> bool:
    """Return whether a sentence is about this moment, passes on what others say, or is a part of a task."""
    if sentence.has("passing") or _is_reported(sentence):
        return True
    about_task = sentence.has("task") or (has_task and sentence.has("workpiece"))
    return about_task and not sentence.has("lasting")


def _is_reported(sentence: _Sentence) -> bool:
    """Return whether a sentence passes on what others say, and does not begin with what its author states."""
    first_clause = replace(sentence, plain=sentence.plain.partition(",")[0])
    return sentence.has("report") and (first_clause.has("report") or _category(first_clause) is None)


def _has_content(sentence: _Sentence) -> bool:
    rest = cues("remember", eastern=sentence.eastern).sub(" ", sentence.plain)
    return _width("".join(character for character in rest if character.isalnum())) >= LEAST_CONTENT


def _category(sentence: _Sentence) -> Category | None:
    """Return the category of a sentence by the first kind of cue in it; None: it states nothing to keep."""
    if CONTACT.search(sentence.plain) and own_words(eastern=sentence.eastern).search(sentence.plain):
        return "entity"
    for category, _ in _SCORES:
        if category != "other" and sentence.has(category):
            return category
        if category == "decision" and sentence.has("switch"):
            return category
    return None


def _width(text: str) -> int:
    """Return the number of characters, with wide ones counted twice, since they say as much as two letters."""
    return len(text) + sum(unicodedata.east_asian_width(character) in "WF" for character in text)


def _has_code(text: str) -> bool:
    """Return whether a line of a text is one of a program."""
    return any(_CODE.search(line[:LONGEST_CODE]) for line in text.split("\n") if line.strip())


_ASCII_WORD = "[A-Za-z0-9_]"
_SPACE = r"[\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]"
_NAME = r"[A-Za-z0-9_.\-]+"
_TRIGGERS = re.compile(
    rf"""(?ix)
      zapamatuj\ si | pamatuj | remember
    | preferuji | radši | nechci | prefer
    | rozhodli\ jsme | budeme\ používat
    | \+[0-9]{{10,}}
    | (?<![A-Za-z0-9_.\-]){_NAME}+@{_NAME}\.{_ASCII_WORD}+
    | můj{_SPACE}+{_ASCII_WORD}+{_SPACE}+je | je{_SPACE}+můj
    | my{_SPACE}+{_ASCII_WORD}+{_SPACE}+is | is{_SPACE}+my
    | i\ (?:like|prefer|hate|love|want|need)
    | always | never | important
    """
)
_CATEGORIES: tuple[tuple[Category, re.Pattern[str]], ...] = (
    ("preference", re.compile(r"prefer|radši|like|love|hate|want")),
    ("decision", re.compile(r"rozhodli|decided|will use|budeme")),
    ("entity", re.compile(rf"\+[0-9]{{10,}}|@{_NAME}\.{_ASCII_WORD}+|is called|jmenuje se")),
    ("fact", re.compile(r"is|are|has|have|je|má|jsou")),
)
_OTHER_LETTERS = {ord(letter): "\0" for letter in "ſıİ\u212a"}
"""Letters that match `s`, `i` and `k` without case in Python, and do not in JavaScript."""


def classic_capture(text: str, *, most: int = MOST_CHARACTERS, phrases: Iterable[str] = ()) -> bool:
    """Return whether OpenClaw would store a message of at most `most` UTF-16 units. Phrases are further triggers."""
    if not LEAST_CHARACTERS <= utf16_length(text) <= most:
        return False
    if "<relevant-memories>" in text or is_markup(text) or has_many_emoji(text) or looks_like_injection(text):
        return False
    return _TRIGGERS.search(text.translate(_OTHER_LETTERS)) is not None or has_phrase(text, phrases)


def classic_category(text: str) -> Category:
    """Return the category that OpenClaw gives to a message."""
    lower = text.lower()
    for category, pattern in _CATEGORIES:
        if pattern.search(lower):
            return category
    return "other"
