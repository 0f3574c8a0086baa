"""Find the author's own words in a message, by its structure alone, in whatever language it is.

Memory, quoted lines, code, tables, markup, lists, logs, and what comes after a separating line are not the author's.
Nor are quotations, links, and blocks of lines that look pasted. Each line is read once. `Recalled` recognizes text from
memory in the messages after it, so that it is not captured again.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from itertools import groupby
from typing import TYPE_CHECKING

from memoriter.statements._cues import cues, own_words
from memoriter.values import dataclass
from memoriter.workspace import without_injected

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LINE_FEEDS = dict.fromkeys(map(ord, "\r\v\f\x85\u2028\u2029"), "\n")
"""Other ends of lines, as line feeds."""
LONGEST_LINE = 2_000
"""Characters of a line that is read for its form; a longer one is no statement."""
MOST_LINES = 3
"""Lines of a block that a person types at once; a longer block was pasted."""
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,}|\"{3}|'{3})")
_SEPARATOR = re.compile(r"[ \t]*(?:([-=*_+#~—–─━═•])\1{2}|#{1,6} )")
"""The beginning of a line of signs, which may hold a title, and of a heading: a document follows."""
_SIGNATURE = re.compile(r"[ \t]*(?:—|―|--|~)[ \t]?[^\W\d_]")
"""The beginning of a line that names who said what is above it."""
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+•·‣◦–—]|\d{1,3}[.)])[ \t]")
_OTHERS = re.compile(
    r"""(?x)
      [ \t]*>                                   # a quoted line
    | (?:\ {4}|\t)                              # code
    | [^|]*\|.*\| | [^\t]*\S\t+\S               # a table
    | [ \t]*[^\s<>]{1,40}>[ ]                   # `PM> …`
    | [ \t]*<[^<>]{1,40}>[ \t]*\S               # `<Eva> …`
    | [ \t]*\[[^\[\]]{1,40}\](?![(\[:])         # `[10:02] …`, `[INFO] …`
    | [ \t]*\d{4}-\d\d-\d\d[T ]\d\d:\d\d        # a log
    | [ \t]*(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)[:\ \t]
    """
)
"""The beginning of a line that shows the words of somebody else, or of a program."""
_TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z][\w:.-]*+)(?P<rest>[^<>]*+)>")
_FORMATTING = frozenset({"a", "b", "br", "code", "em", "i", "kbd", "mark", "s", "strong", "u"})
_COMMENT = re.compile(r"(?s)<!--.*?(?:-->|\Z)")

FOREIGN = "\ufffc"
"""Takes the place of the words of somebody else within a sentence."""
NAME = "\ufffb"
"""Takes the place of a name in quotation marks, or of an address, which belong to their sentence."""
WIDEST_NAME = 40
"""Columns of a quotation that may be a name or a title; a wider one is what somebody said."""
_CLOSINGS = {
    '"': '"“”',
    "“": '”“"',
    "”": '”“"',
    "„": '“”"',
    "‟": '”“"',
    "«": "»",
    "»": "«»",
    "‹": "›",
    "›": "‹›",
    "「": "」",
    "『": "』",
    "《": "》",
    "〈": "〉",
    "｢": "｣",
    "〝": "〞〟",
    "＂": "＂",
    "‘": "’'‘",
    "’": "’'",
    "‚": "‘’'",
    "'": "'’",
    "`": "`",
}
"""Marks that open a quotation, with those that close it."""
_EITHER = "\"”’'»›`“"
"""Marks that open a quotation only before a word, and not after one."""
_MARK = re.compile(f"[{re.escape(''.join(_CLOSINGS) + '」』》〉｣〞〟')}]")
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{0,600}[^()\n]{0,100}\)|(?:https?|ftp)://[!-~]+|www\.[!-~]+")
_ENDS_LINE = re.compile(r"[.!?,;]?[ \t]*(?:\n|$)")
_SENTENCE_INSIDE = re.compile(r"[.!?…]\s+\S|[。！？]\s*\w|\n")


def own_text(text: str) -> str:
    """Return a message with other characters in place of all that its author did not write. Positions stay as they are.

    Line feeds take the place of lines and elements, so that no sentence reaches over them; `FOREIGN` that of words of
    others within a sentence; `NAME` that of names in quotation marks and of addresses.
    """
    kept = without_injected(text)
    if kept != text:
        # What is left is one or several pieces of the message, in order; each keeps its place.
        text = _blanked_to(text, kept)
    text = text.replace("\r\n", " \n").translate(_LINE_FEEDS)
    characters = list(text)
    for start, end in _marked_up(text):
        characters[start:end] = "\n" * (end - start)
    text = "".join(characters)
    lines = text.split("\n")
    own = _own_lines(lines)
    text = "\n".join(line if is_own else "\n" * len(line) for line, is_own in zip(lines, own, strict=True))
    characters = list(text)
    for start, end, is_name in quotations(text):
        characters[start:end] = (NAME if is_name else FOREIGN) * (end - start)
    return "".join(characters)


def _own_lines(lines: list[str]) -> list[bool]:
    """Return for each line whether its author may have written it."""
    own = [False] * len(lines)
    fence = ""
    asked_list = False
    for number, line in enumerate(lines):
        opening = _FENCE.match(line)
        if fence:
            fence = "" if line.strip().startswith(fence) else fence
            continue
        if opening:
            fence = opening[1]
            continue
        if _SEPARATOR.match(line):
            break
        if not line.strip():
            continue
        if _SIGNATURE.match(line):
            own[:number] = [False] * number
            continue
        if _LIST_ITEM.match(line):
            own[number] = asked_list and not LISTED.match(line)
            continue
        own[number] = len(line) <= LONGEST_LINE and not _OTHERS.match(line)
        asked_list = (
            own[number] and line.rstrip().endswith((":", "：", "﹕")) and bool(cues("remember").search(line.lower()))
        )
    return _without_pasted(lines, own)


def _without_pasted(lines: list[str], own: list[bool]) -> list[bool]:
    """Return the same without a block that looks pasted, and all after it, which may belong to it.

    Such a block has many lines, or several and another paragraph beside it. A list that was asked for is none.
    """
    paragraphs = sum(bool(line.strip()) and (at == 0 or not lines[at - 1].strip()) for at, line in enumerate(lines))
    blocks = 0
    for is_own, group in groupby(range(len(lines)), own.__getitem__):
        block = list(group)
        if not is_own or _LIST_ITEM.match(lines[block[-1]]):
            continue
        several = len(block) > 1 and paragraphs > 1 and (blocks > 0 or len(block) == MOST_LINES)
        if several or len(block) > MOST_LINES:
            return [*own[: block[0]], *[False] * (len(lines) - block[0])]
        blocks += 1
    return own


def _marked_up(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of comments, and of elements in angle brackets, each from its beginning to its own end."""
    yield from (comment.span() for comment in _COMMENT.finditer(text))
    closings: defaultdict[str, list[int]] = defaultdict(list)
    tags = list(_TAG.finditer(text))
    for tag in tags:
        if tag["close"]:
            closings[tag["name"].lower()].append(tag.end())
    reached = 0
    for tag in tags:
        name = tag["name"].lower()
        if tag["close"] or name in _FORMATTING or tag.start() < reached:
            continue
        at = bisect_left(closings[name], tag.end() + 1)
        if at < len(closings[name]):
            reached = closings[name][at]
            yield tag.start(), reached


def _blanked_to(text: str, kept: str) -> str:
    """Return a text of the same length in which only the characters of `kept`, a subsequence from its end, are left."""
    blank = ["\n"] * len(text)
    position = len(text)
    for piece in reversed(_pieces(text, kept)):
        position = text.rindex(piece, 0, position)
        blank[position : position + len(piece)] = piece
    return "".join(blank)


def _pieces(text: str, kept: str) -> list[str]:
    """Return the longest beginning and the rest of `kept` as they stand in a text; nothing if they cannot be placed."""
    if kept in text:
        return [kept] if kept.strip() else []
    common = 0
    while common < len(kept) and kept[common] == text[common]:
        common += 1
    rest = kept[common:]
    return [kept[:common], rest] if rest in text[common:] else [kept[:common]]


def quotations(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield the places of quotations and links, and whether each is only a name or an address.

    A quotation that is never closed lasts to the end; one that was never opened begins with its line.
    """
    for link in _LINK.finditer(text):
        yield link.start(), link.end(), link[1] is None or _is_name(link[1])
    at = 0
    while mark := _MARK.search(text, at):
        place = mark.start()
        at = mark.end()
        if _is_apostrophe(text, place):
            continue
        if not _opens(text, place):
            if mark[0] not in "'’" or _ENDS_LINE.match(text, at):
                yield text.rfind("\n", 0, place) + 1, at, False
            continue
        end = _end_of(text, place)
        if end is None:
            yield place, len(text), False
            return
        yield place, end, _is_name(text[place + 1 : end - 1])
        at = end


def _is_apostrophe(text: str, place: int) -> bool:
    """Return whether a mark is within a word of an alphabet that writes apostrophes, as in `don't`."""
    return text[place] in "'’" and _is_letter(text[place - 1 : place]) and _is_letter(text[place + 1 : place + 2])


def _is_letter(character: str) -> bool:
    return character.isalnum() and character < "\u0530"


def _opens(text: str, place: int) -> bool:
    if text[place] not in _CLOSINGS:
        return False
    following = text[place + 1 : place + 2]
    return text[place] not in _EITHER or not (following.strip() == "" or _is_letter(text[place - 1 : place]))


def _end_of(text: str, place: int) -> int | None:
    """Return the place after the mark that closes a quotation; None: nothing does."""
    for at in range(place + 1, len(text)):
        if text[at] in _CLOSINGS[text[place]] and not _is_apostrophe(text, at):
            return at + 1
    return None


def _is_name(quoted: str) -> bool:
    """Return whether quoted words are a name or a title, rather than what somebody said of themselves."""
    width = len(quoted) + sum(unicodedata.east_asian_width(character) in "WF" for character in quoted)
    return width <= WIDEST_NAME and not _SENTENCE_INSIDE.search(quoted) and not own_words().search(quoted.lower())


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
