"""What QMD is asked: clean texts, command lines, and the same searches for its MCP server; nothing is started here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from memoriter.search import query_terms
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.extensions.qmd._plan import SearchMode

LineType = Literal["lex", "vec", "hyde"]
Command = Literal["search", "vsearch", "query", "typed"]
Ranking = Literal["words", "any_word", "meaning", "reranked", "fused"]
"""What QMD's score of a hit means: BM25 of a document with all words, the rank among documents with any word, a cosine,
a blend with a reranker's score, or the rank in several lists."""
MOST_LINES = 10
"""Lines of a typed query; QMD's MCP server takes no more."""
MOST_CHARS = 8_000
"""Characters of a query; the rest is cut off."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_TYPED = re.compile(r"\s*(lex|vec|hyde|intent)\s*:\s*(\S.*?)\s*", re.IGNORECASE)
_WORD = re.compile(r"\w+(?:[-.]\w+)*")
"""A word of a query; QMD reads `db-host` as a phrase and `10.0.0.1` as its parts."""
_EAST_ASIAN = re.compile(r"[\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a typed query."""

    type: LineType
    text: str


@dataclass(frozen=True, slots=True)
class Search:
    """One search, in a form that both transports understand."""

    command: Command
    text: str
    """The query; empty for the command `typed`."""
    ranking: Ranking
    """What the scores of its results mean."""
    lines: tuple[Line, ...] = ()
    """The lines of a typed query."""
    intent: str = ""
    collections: tuple[str, ...] = ()
    """The collections to search. A typed query names none: QMD would rank the files of each collection apart."""
    limit: int = 6

    @property
    def needs_vectors(self) -> bool:
        """Whether it finds nothing, or less, without vectors."""
        return self.command in {"vsearch", "query"} or any(line.type != "lex" for line in self.lines)

    @property
    def only_vectors(self) -> bool:
        """Whether it finds nothing without vectors."""
        return self.command == "vsearch" or (bool(self.lines) and all(line.type != "lex" for line in self.lines))


def clean(text: str) -> str:
    """Return a query on one line, without control characters and of bounded length."""
    return _CONTROL.sub(" ", text[: 2 * MOST_CHARS]).strip()[:MOST_CHARS]


def typed_lines(text: str) -> tuple[tuple[Line, ...], str] | None:
    """Return the lines and the intent of a typed query; None if the text is a plain one.

    >>> typed_lines("lex: router")
    ((Line(type='lex', text='router'),), '')
    """
    lines: list[Line] = []
    intent = ""
    for raw in text.splitlines():
        if not raw.strip():
            continue
        match = _TYPED.fullmatch(raw)
        if match is None:
            return None
        kind = match[1].lower()
        words = clean(match[2])
        if kind == "intent":
            intent = words
        elif line := _line(kind, words):
            lines.append(line)
    return (tuple(lines[:MOST_LINES]), intent) if lines else None


def _line(kind: str, words: str) -> Line | None:
    """Return a line that QMD accepts: balanced quotes, and no word of a meaning that looks like an exclusion."""
    if kind == "lex":
        text = words if words.count('"') % 2 == 0 else words.replace('"', " ")
        return Line("lex", text.strip()) if text.strip() else None
    text = " ".join(word.lstrip("-") for word in words.replace('"', " ").split()).strip()
    return Line("hyde" if kind == "hyde" else "vec", text) if text else None


def word_lines(text: str) -> tuple[Line, ...]:
    """Return one line for each content word, so that a document with any of them is found.

    QMD requires all words of one line, stop words included. A Chinese, Japanese or Korean word becomes its pairs of
    characters, without a Korean particle.
    """
    written = _WORD.findall(clean(text))
    content = set(query_terms(" ".join(written)))  # without stop words, unless there is nothing else
    words: list[str] = []
    for word in written:
        terms = [term for term in query_terms(word) if term in content]
        words += terms if _EAST_ASIAN.search(word) else [word] if terms else []
    unique = dict.fromkeys(words) or dict.fromkeys(written)
    return tuple(Line("lex", word) for word in [*unique][:MOST_LINES])


def is_several_words(text: str) -> bool:
    """Return whether a query has several words that a document may hold separately."""
    return len(word_lines(text)) > 1


def first_search(mode: SearchMode, text: str, *, generates: bool, embeds: bool) -> Search | None:
    """Return the search of a mode; None if the text has nothing to search for.

    QMD's commands `vsearch` and `query` always load its language model, which rewrites the query. Where that model is
    not on this machine, they would download more than a gigabyte, so a typed query takes their place.

    Args:
        mode: the mode of the settings.
        text: the query.
        generates: whether the model that rewrites queries, and for `query` the reranker, are on this machine.
        embeds: whether there are vectors.
    """
    if typed := typed_lines(text):
        return Search("typed", "", "fused", typed[0], typed[1])
    plain = clean(text)
    if not re.search(r"\w", plain):
        return None
    if mode == "search":
        return Search("search", plain, "words")
    if generates:
        return Search(mode, plain, "meaning" if mode == "vsearch" else "reranked")
    meaning = _line("vec", plain)
    lines = () if mode == "vsearch" else word_lines(plain)[: MOST_LINES - 1]
    if meaning and (embeds or mode == "vsearch"):
        lines = (*lines, meaning)
    return Search("typed", "", "fused", lines) if lines else None


def any_word_search(text: str) -> Search:
    """Return the search that finds documents with any word of the text; it needs no model."""
    return Search("typed", "", "any_word", word_lines(text))


def arguments_of(search: Search) -> list[str]:
    """Return the arguments of the program for a search.

    Every option is before `--`, because a query that starts with `-` would be read as one. Typed queries need
    `--no-rerank`, if the program knows it, so as to run without a reranker.
    """
    common = ["--json", "-n", str(search.limit)]
    if search.command != "typed":
        collections = [word for name in search.collections for word in ("-c", name)]
        return [search.command, *common, *collections, "--", search.text]
    document = [f"intent: {search.intent}"] if search.intent else []
    document += [f"{line.type}: {line.text}" for line in search.lines]
    return ["query", *common, "--no-rerank", "--", "\n".join(document)]


def request_of(search: Search) -> dict[str, Any]:
    """Return the arguments of the tool `query` of QMD's MCP server for a search."""
    common: dict[str, Any] = {"limit": search.limit}
    if search.intent:
        common["intent"] = search.intent
    if search.command == "query":
        return {**common, "query": search.text}
    line = _line("lex" if search.command == "search" else "vec", search.text)
    lines: Sequence[Line] = search.lines or ((line,) if line else ())
    return {**common, "searches": [{"type": line.type, "query": line.text} for line in lines], "rerank": False}
