"""The words of a query in a text: where they stand, in whatever form they are written."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from memoriter.folding import MAY_BE_SPACED, clean, clean_with_places, spaced_words_in
from memoriter.search._forms import query_forms
from memoriter.search._terms import pieces_of, query_terms, spaced_codes_in, tokenize
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.search._terms import Token


@dataclass(frozen=True, slots=True)
class Marker:
    """The words of a query, as notes may contain them."""

    terms: frozenset[str]
    _known: dict[str, list[tuple[int, int, str]]] = field(
        default_factory=dict[str, list[tuple[int, int, str]]], compare=False, repr=False
    )
    """What `_in_token` has found in each word: the words of passages are few, and come again."""

    def parts(self, text: str) -> Iterator[tuple[str, bool]]:
        """Yield the parts of a text in order, each with whether it is a word of the query."""
        position = 0
        for start, end in self.spans(text):
            if start > position:
                yield text[position:start], False
            yield text[start:end], True
            position = end
        if position < len(text):
            yield text[position:], False

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the start and the end of each word of the query in a text, in order and apart from each other."""
        cleaned, places = clean_with_places(text)
        spans = list[tuple[int, int]]()
        for start, end, _ in self._found(cleaned):
            _add(spans, places[start][0], places[end - 1][1])
        return spans

    def words_in(self, text: str) -> frozenset[str]:
        """Return the terms of the different words of the query that a text contains."""
        return frozenset(term for *_, term in self._found(clean(text)))

    def _found(self, cleaned: str) -> list[tuple[int, int, str]]:
        """Return the start and the end of each word of the query in a clean text, and its term, in order."""
        found = list[tuple[int, int, str]]()
        position = 0
        for token in tokenize(cleaned):
            position = cleaned.index(token.text, position)
            known = self._known.get(token.text)
            if known is None:
                known = self._known[token.text] = list(self._in_token(token))
            for start, end, term in known:
                found.append((position + start, position + end, term))
            position += len(token.text)
        if MAY_BE_SPACED.search(cleaned) or not cleaned.isascii():
            spaced = (*spaced_codes_in(cleaned), *spaced_words_in(cleaned))
            found = sorted([*found, *(each for each in spaced if each[2] in self.terms)])
        return found

    def _in_token(self, token: Token) -> Iterator[tuple[int, int, str]]:
        """Yield the start and the end of each word of the query in a token, and its term."""
        for start, end, term in pieces_of(token):
            if term in self.terms:
                yield start, end, term
            elif form := next((form for form in _forms_of(token.text[start:end]) if form in self.terms), None):
                yield start, end, form


@lru_cache(maxsize=8_192)
def _forms_of(word: str) -> tuple[str, ...]:
    """Return the forms of a word; the words of passages are few, and come again."""
    return tuple(form for forms in query_forms(word).values() for form in forms)


def _add(spans: list[tuple[int, int]], start: int, end: int) -> None:
    """Add a span to those before it, which it extends if they touch."""
    if spans and start <= spans[-1][1]:
        spans[-1] = spans[-1][0], max(end, spans[-1][1])
    else:
        spans.append((start, end))


def marker_of(query: str) -> Marker | None:
    """Return what marks the words of a query; None if no word of it has more than one character."""
    terms = {term for term in query_terms(query) if len(term) > 1}
    if not terms:
        return None
    return Marker(frozenset(terms.union(*(forms for term, forms in query_forms(query).items() if term in terms))))
