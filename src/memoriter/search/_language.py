"""The language of queries: `"exact phrase"`, `-word`, `tag:`, `path:`, `since:`, `until:`, a time in words, and lines.

A typed query has several lines, each for one retriever, and at most one line with the intent:

    lex: "connection pool" timeout -redis
    vec: why do connections to the database time out under load
    hyde: The pool has ten connections, and slow reports hold them for minutes.
    intent: a production incident, not the setup

The form is that of QMD 2.8.3. A query is typed if its first line begins with one of these types, or if every line
begins with some type and one of them is `lex`, `vec` or `hyde`. Any other text is a question. All else is plain text.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast, get_args

from memoriter.errors import InvalidQuery
from memoriter.filters import ANY, parse_days
from memoriter.folding import compile_words
from memoriter.search._hits import with_time
from memoriter.types import LineKind, QueryLine
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence
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


INTENT = "intent"
KINDS: frozenset[str] = frozenset(get_args(LineKind))
MOST_LINES = 10
"""The most lines that are searched: each of them costs a retrieval, and most a vector."""
_LINE = re.compile(r"([^\W\d_][\w-]{0,19}):(?!//)\s*(.*)", re.DOTALL)
FORMS = "Begin each line with `lex:`, `vec:` or `hyde:`, and at most one line with `intent:`."


def understand(query: Query, today: date) -> Query:
    """Return the query as its text means it: a question with operators, or a typed query with its lines.

    Raises:
        InvalidQuery: a line of a typed query is not valid.
    """
    return read_lines(query, today) if is_typed(query.text) else read_question(query, today)


def is_typed(text: str) -> bool:
    r"""Return whether a query is typed, perhaps with mistakes, and not a question.

    >>> is_typed("vec: who paints"), is_typed("what does vec: mean"), is_typed("lexi: a\nvec: b"), is_typed("a\nvec: b")
    (True, False, True, False)
    """
    names = [name for _, name, _ in _split(text)]
    return (
        names[:1] == [INTENT]
        or (bool(names) and names[0] in KINDS)
        or (None not in names and not KINDS.isdisjoint(cast("list[str]", names)))
    )


def _split(text: str) -> list[tuple[int, str | None, str]]:
    """Return the number (from 1), the type, or None, and the text of each line that is not blank."""
    numbered = [(number, line.strip()) for number, line in enumerate(text.split("\n"), start=1)]
    matches = [(number, line, _LINE.fullmatch(line)) for number, line in numbered if line]
    return [(number, match and match[1], match[2] if match else line) for number, line, match in matches]


def read_lines(query: Query, today: date) -> Query:
    """Return a typed query with its lines and its intent.

    Operators in a `lex` or `vec` line restrict that line; the other lines are plain text. A line of operators alone is
    also searched for the words in them.

    Raises:
        InvalidQuery: a line has an unknown type, no type, no text or an open quote; there are two intents, too many
            lines, or no line to search for.
    """
    lines = list[QueryLine]()
    shown = list[dict[str, Any]]()
    intents = list[tuple[int, str]]()
    for number, name, text in _split(query.text):
        if name is None:
            raise InvalidQuery(f"Line {number} of the query has no type: {_short(text)!r}.", remedy=FORMS)
        if name not in KINDS and name != INTENT:
            raise InvalidQuery(f"Line {number} of the query has the unknown type {name!r}.", remedy=FORMS)
        if not text:
            raise InvalidQuery(
                f"Line {number} of the query has no text after '{name}:'.", remedy="Write its text, or remove the line."
            )
        if name == INTENT:
            intents.append((number, " ".join(text.split())))
            continue
        line, understood = _read_line(number, cast("LineKind", name), text, query, today)
        lines.append(line)
        shown.append({"type": name, **understood})
    _check(lines, [number for number, _ in intents])
    intent = "".join(text for _, text in intents)
    text = _text_of(lines)
    understood = {"text": text, "lines": shown, **({"intent": intent} if intent else {})}
    return replace(query, text=text, lines=tuple(lines), intent=intent, understood=understood)


def _check(lines: Sequence[QueryLine], intents: Sequence[int]) -> None:
    if len(intents) > 1:
        numbers = " and ".join(map(str, intents))
        raise InvalidQuery(f"The query has more than one intent, in lines {numbers}.", remedy="Write them in one line.")
    if not lines:
        raise InvalidQuery(
            "The query has an intent, and no line to search for.", remedy="Add a line with `lex:`, `vec:` or `hyde:`."
        )
    if len(lines) > MOST_LINES:
        raise InvalidQuery(
            f"The query has {len(lines)} lines to search for; {MOST_LINES} are allowed.", remedy="Leave some out."
        )


def _read_line(number: int, kind: LineKind, text: str, query: Query, today: date) -> tuple[QueryLine, dict[str, Any]]:
    """Return a line with its operators as filters, and the JSON of what was understood."""
    text = " ".join(text.split())
    operators = Operators([], [], [])
    if kind == "lex" and _has_open_quote(text):
        raise InvalidQuery(
            f"Line {number} of the query has a quote that is not closed: {_short(text)!r}.",
            remedy="Close the quote, or leave it out.",
        )
    if kind != "hyde":
        kept = extract_operators(text, operators, query.filters, today)
        text = text if kept is None else kept
    if not has_letters(text) and operators.restricts:
        text = words_of(operators)
    if not text or (kind == "lex" and not has_letters(text)):
        raise InvalidQuery(
            f"Line {number} of the query has no word to search for.", remedy=f"Add a word to its '{kind}:' line."
        )
    return QueryLine(kind, text, merged(query.filters, operators)), as_json(text, operators)


def _has_open_quote(text: str) -> bool:
    return text.count('"') % 2 == 1 or text.count("“") != text.count("”")


def _text_of(lines: Sequence[QueryLine]) -> str:
    """Return the text of the words and questions, or of the hypothetical answers if there is nothing else."""
    asked = [line.text for line in lines if line.kind != "hyde"]
    return " ".join(dict.fromkeys(asked or [line.text for line in lines]))


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"
