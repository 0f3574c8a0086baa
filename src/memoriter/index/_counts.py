"""Counts over the whole index, cached until it changes."""

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
"""Terms in at least this many chunks are cached: few terms are that common, and many queries contain them."""
MAX_CACHED_TERMS = 16_384


class Counts:
    """A cache of counts; `version` is that of the index."""

    def __init__(self) -> None:
        self._version = -1
        self._corpus: Corpus | None = None
        self._kinds: dict[SourceKind, KindCount] | None = None
        self._common: dict[str, int] = {}

    def corpus(self, connection: Database, version: int) -> Corpus:
        """Return totals."""
        self._reset_if_changed(version)
        if self._corpus is None:
            self._corpus = _files.corpus(connection)
        return self._corpus

    def kinds(self, connection: Database, version: int) -> dict[SourceKind, KindCount]:
        """Return totals for each kind of source."""
        self._reset_if_changed(version)
        if self._kinds is None:
            self._kinds = _files.kinds(connection)
        return self._kinds

    def document_frequency(self, connection: Database, terms: Iterable[str], version: int) -> dict[str, int]:
        """Return the number of chunks that contain each term. The time grows with the counts of uncached terms."""
        self._reset_if_changed(version)
        wanted = dict.fromkeys(terms)
        unknown = [term for term in wanted if term not in self._common]
        new_counts = dict(zip(unknown, _count_terms(connection, unknown), strict=True))
        counts = new_counts | self._common
        if len(self._common) < MAX_CACHED_TERMS:
            self._common |= {term: count for term, count in new_counts.items() if count >= COMMON}
        return {term: counts[term] for term in wanted}

    def _reset_if_changed(self, version: int) -> None:
        if version != self._version:
            self._version, self._corpus, self._kinds, self._common = version, None, None, {}


def _count_terms(connection: Database, terms: list[str]) -> list[int]:
    statement = (
        "SELECT wanted.key, doc FROM json_each(?) AS wanted CROSS JOIN chunks_terms ON chunks_terms.term = wanted.value"
    )
    folded = json.dumps([_keywords.fold(term) for term in terms])
    counts = dict(cast("Iterable[tuple[int, int]]", connection.execute(statement, (folded,)))) if terms else {}
    return [counts.get(place, 0) for place in range(len(terms))]
