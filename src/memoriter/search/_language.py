"""Operators in a query: `"exact phrase"`, `-word`, `tag:`, `path:`, `since:`, `until:`, and a time in its words.

All else is plain text.

`_typed.py` reads typed queries, with the operators of this file in their lines.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memoriter.filters import ANY, parse_days
from memoriter.folding import compile_words
from memoriter.search._hits import with_time
from memoriter.values import dataclass

if TYPE_CHECKING:
    from datetime import date

    from memoriter.types import Filters, Query

_MINUS = "[-‐‑−]"
_TOKEN = (
    r"(?<!\S)(?:"
    rf"(?P<minus>{_MINUS})?"
    r"(?:\"(?P<phrase>[^\"]{1,1000})\"|[“”„‟«»](?P<curly>[^“”„‟«»\"]{1,1000})[“”„‟«»])(?=[\s.,;:!?)]|$)"
    rf"|{_MINUS}(?P<word>\w(?:[\w'’.‐‑-]{{0,98}}\w)?)(?!\S)"
    r"|(?P<key>tag|path|since|until):(?:\"(?P<quoted>[^\"\s][^\"]{0,1000})\"|(?P<value>[^\s\"]{1,1000}))(?!\S)"
    r")"
)
_TAG = r"#?([\w/-]*[^\W\d][\w/-]*)"
_LETTER = re.compile(r"\w")
_SHORTEST_ASCII_WORD = 3
"""Fewest characters of an excluded word in ASCII, so that `tar -x` and `git commit -am` are plain text."""


@dataclass(slots=True)
class Operators:
    """The operators of one query, or of one line of a typed query, as they are read."""

    phrases: list[str]
    without: list[str]
    tags: list[str]
    path: str | None = None
    since: date | None = None
    until: date | None = None
    any_day: bool = False
    """Whether `since:any` or `until:any` says that a time in the text is not to be read."""

    @property
    def restricts(self) -> bool:
        return bool(self.tags or self.path or self.since or self.until or self.phrases)


def read_question(query: Query, today: date) -> Query:
    """Return the query with its operators as filters and the time that it names, and its text without the operators.

    An operator with a value that is not valid is plain text, and so is a path or day that a filter already sets. A
    query of operators alone is also searched for the words in them, and then every score counts; with a day among them,
    it is a request for everything of this day.
    """
    operators = Operators([], [], [])
    text = extract_operators(query.text, operators, query.filters, today)
    if text is None:
        return with_time(query, query.text, lambda: today)
    min_score = query.min_score
    if not has_letters(text):
        if not operators.restricts:
            return query
        dates = operators.since, operators.until, query.filters.since, query.filters.until
        text = "" if any(dates) else words_of(operators)
        min_score = 0.0 if min_score is None else min_score
    restricted = replace(
        query,
        text=text,
        min_score=min_score,
        filters=merged(query.filters, operators),
        any_day=query.any_day or operators.any_day,
        understood=as_json(text, operators),
    )
    return with_time(
        restricted, " ".join(compile_words(_TOKEN, query.text).sub(" ", query.text).split()), lambda: today
    )


def extract_operators(text: str, operators: Operators, filters: Filters, today: date) -> str | None:
    """Return the text without its operators, which are added to `operators`; None if it has none."""
    kept = list[str]()
    position = 0
    for match in compile_words(_TOKEN, text).finditer(text):
        if _read(match, operators, filters, today):
            phrase = "" if match["minus"] else match["phrase"] or match["curly"] or ""
            kept += [text[position : match.start()], phrase]
            position = match.end()
    return " ".join("".join([*kept, text[position:]]).split()) if position else None


def has_letters(text: str) -> bool:
    """Return whether a text has a letter or a digit of any script."""
    return _LETTER.search(text) is not None


def _read(match: re.Match[str], operators: Operators, filters: Filters, today: date) -> bool:
    """Take up one operator; return False if it is plain text."""
    if phrase := match["phrase"] or match["curly"]:
        if _LETTER.search(phrase) is None:
            return False
        (operators.without if match["minus"] else operators.phrases).append(" ".join(phrase.split()))
        return True
    if word := match["word"]:
        if word.isdecimal() or (word.isascii() and len(word) < _SHORTEST_ASCII_WORD):
            return False
        operators.without.append(word)
        return True
    key = match["key"]
    value = match["quoted"] or match["value"]
    if key == "tag":
        tag = compile_words(_TAG, value).fullmatch(value)
        operators.tags += [tag[1].strip("/")] if tag else []
        return tag is not None
    if getattr(operators, key) is not None or getattr(filters, key) is not None:
        return False
    if key == "path":
        operators.path = value
        return True
    if value.lower() == ANY:
        operators.any_day = True
        return True
    days = parse_days(value, today)
    setattr(operators, key, days and (days.first if key == "since" else days.last))
    return days is not None


def merged(filters: Filters, operators: Operators) -> Filters:
    """Return the filters with the operators added. A filter that is set wins, and tags add up."""
    tags = frozenset(operators.tags) | (filters.tags or frozenset())
    return replace(
        filters,
        since=filters.since or operators.since,
        until=filters.until or operators.until,
        path=filters.path or operators.path,
        tags=tags or None,
        phrases=tuple(operators.phrases),
        without=tuple(operators.without),
    )


def words_of(operators: Operators) -> str:
    """Return what to search for in a query of nothing but operators."""
    return " ".join([*operators.tags, *([operators.path] if operators.path else [])])


def as_json(text: str, operators: Operators) -> dict[str, Any]:
    """Return what was understood; `text` is what is searched for."""
    values: dict[str, Any] = {
        "text": text,
        "phrases": operators.phrases,
        "without": operators.without,
        "tags": operators.tags,
        "path": operators.path,
        "since": operators.since and operators.since.isoformat(),
        "until": operators.until and operators.until.isoformat(),
    }
    return {name: value for name, value in values.items() if value}
