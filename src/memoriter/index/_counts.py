"""Counts over the whole index, remembered while it stays the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from memoriter.index import _files, _keywords

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoriter.index._database import Database
    from memoriter.index._values import Corpus, KindCount
    from memoriter.types import SourceKind

COMMON = 512
"""Chunks from which a term's count is remembered: few terms are in so many, and they are in many questions."""
MOST_REMEMBERED = 16_384


class Counts:
    """`version` is that of the index."""

    def __init__(self) -> None:
        self._version = -1
        self._corpus: Corpus | None = None
        self._kinds: dict[SourceKind, KindCount] | None = None
        self._common: dict[str, int] = {}

    def corpus(self, connection: Database, version: int) -> Corpus:
        """Totals."""
        self._follow(version)
        if self._corpus is None:
            self._corpus = _files.corpus(connection)
        return self._corpus

    def kinds(self, connection: Database, version: int) -> dict[SourceKind, KindCount]:
        """Totals of each kind."""
        self._follow(version)
        if self._kinds is None:
            self._kinds = _files.kinds(connection)
        return self._kinds

    def of_terms(self, connection: Database, terms: Iterable[str], version: int) -> dict[str, int]:
        """In how many chunks each term is. The time grows with the counts of those that are not remembered."""
        self._follow(version)
        wanted = dict.fromkeys(terms)
        unknown = [term for term in wanted if term not in self._common]
        counted = dict(zip(unknown, _counted(connection, unknown), strict=True))
        known = counted | self._common
        if len(self._common) < MOST_REMEMBERED:
            self._common |= {term: count for term, count in counted.items() if count >= COMMON}
        return {term: known[term] for term in wanted}

    def _follow(self, version: int) -> None:
        if version != self._version:
            self._version, self._corpus, self._kinds, self._common = version, None, None, {}


def _counted(connection: Database, terms: list[str]) -> list[int]:
    statement = (
        "SELECT wanted.key, doc FROM json_each(?) AS wanted CROSS JOIN chunks_terms ON chunks_terms.term = wanted.value"
    )
    folded = json.dumps([_keywords.folded(term) for term in terms])
    found = dict(cast("Iterable[tuple[int, int]]", connection.execute(statement, (folded,)))) if terms else {}
    return [found.get(place, 0) for place in range(len(terms))]
