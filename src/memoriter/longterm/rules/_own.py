"""Find the author's own words in a message: memory, quotations, code, tables, markup, logs and mails are not theirs."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING

from memoriter.longterm.rules._cues import FENCE, QUOTATION, QUOTE_LINE
from memoriter.longterm.rules._passed_on import INDENTED, PASSED_ON, SET_APART
from memoriter.longterm.rules._recalled import LISTED
from memoriter.workspace import without_injected

if TYPE_CHECKING:
    from collections.abc import Iterator

_TABLE_LINE = re.compile(r"(?m)^[ \t]*\|.*\|[ \t]*$")
_LOG_LINE = re.compile(
    r"(?m)^[ \t]*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[\d\d:\d\d(?::\d\d)?\]"
    r"|\[(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL|NOTICE|CRITICAL)\]"
    r"|(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL|CRITICAL)[: \t]"
    r"|(?:ERREUR|AVERTISSEMENT|FEHLER|WARNUNG|ERRO|AVISO|CHYBA|VAROVÁNÍ|오류|경고|错误|警告|エラー)(?: \d+)? ?[:：]).*$"
)
_MAIL = re.compile(
    r"""(?imsx)
    ^[ \t]*(?:
        -{2,}[^\n]*(?:original|forwarded|weitergeleitet|ursprüngliche|reenviad|transfér|encaminhad|přeposlan|転送|转发|轉發|전달)[^\n]*-{2,}
      | (?:begin\ forwarded\ message|anfang\ der\ weitergeleiteten)[^\n]*:
      | (?:on|am|el|le|em|dne)\ [^\n]{5,120}(?:wrote|schrieb|escribió|a\ écrit|escreveu|napsal)[^\n]{0,60}:[ \t]*$
      | (?:from|von|de|od|发件人|寄件者|差出人|보낸\ ?사람)[ \t]*[:：]\ ?
        (?:[^\n]*<[^\n<>@]+@[^\n<>]+>|[^\n]+\n(?=(?:[^\n]*\n){0,3}
        (?:to|subject|date|sent|an|betreff|datum|gesendet|para|asunto|fecha|à|objet|assunto|komu|předmět
          |主题|主旨|件名|宛先|제목|받는\ ?사람)\ ?[:：]))
    ).*\Z
    """
)
"""The beginning of another mail, which lasts to the end of the message."""
_COMMENT = re.compile(r"(?s)<!--.*?(?:-->|\Z)")
_TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z][\w:.-]*)(?P<rest>[^<>]*)>")
_FORMATTING = frozenset({"a", "b", "br", "code", "em", "i", "kbd", "mark", "s", "strong", "u"})
_INLINE_CODE = re.compile(r"`[^`\n]+`")
_SENTENCE_INSIDE = re.compile(r"[.!?…]\s+\S|[。！？]\s*\w|\S\s*\n\s*\S")
_LONG_CODE = 5
"""Words of inline code from which it is a quotation rather than a name or a command."""


def own_text(text: str) -> str:
    """Return a message with line feeds in place of every character that its author did not write.

    A sentence ends at a line feed, so that none reaches over foreign text. Positions stay as they are.
    """
    kept = without_injected(text)
    if kept != text:
        # What is left is one or several pieces of the message, in order; each keeps its place.
        text = _blanked_to(text, kept)
    for pattern in (FENCE, QUOTE_LINE, LISTED, _COMMENT, SET_APART, _MAIL, PASSED_ON, _TABLE_LINE, _LOG_LINE, INDENTED):
        text = pattern.sub(lambda match: "\n" * len(match[0]), text)
    characters = list(text)
    for start, end in chain(_marked_up(text), _quoted(text)):
        characters[start:end] = "\n" * (end - start)
    return "".join(characters)


def _marked_up(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of elements in angle brackets, each from its beginning to its own end."""
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


def _quoted(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of inline code and quotations that are text of their own rather than a part of a sentence."""
    for match in _INLINE_CODE.finditer(text):
        if _SENTENCE_INSIDE.search(match[0]) or len(match[0].split()) >= _LONG_CODE or match[0][-2] in ".!?。！？":
            yield match.span()
    for match in QUOTATION.finditer(text):
        if _SENTENCE_INSIDE.search(match[0]):
            yield match.span()


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
