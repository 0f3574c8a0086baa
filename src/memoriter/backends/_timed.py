"""An index whose retrievers are timed, for the stages of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from memoriter.values import dataclass

if TYPE_CHECKING:
    from memoriter.search import Reader, Stopwatch

_STAGES = {
    "document_frequency": "keyword",
    "keyword_search": "keyword",
    "keyword_search_all": "keyword",
    "cosines": "vector",
    "vector_search": "vector",
    "vectors_at": "vector",
    "rows": "verify",
}
"""The stage of each method of a reader; the others count for the ranking."""


@dataclass(slots=True)
class Timed:
    """A reader whose methods are counted for their stages."""

    reader: Reader
    watch: Stopwatch

    def __getattr__(self, name: str) -> Any:
        """Return the reader's attribute; a method of a stage is timed."""
        method = getattr(self.reader, name)
        stage = _STAGES.get(name)
        if stage is None:
            return method

        def timed(*arguments: Any, **settings: Any) -> Any:
            with self.watch.stage(stage):
                return method(*arguments, **settings)

        return timed

    @property
    def as_reader(self) -> Reader:
        """The same object, typed as the reader of a ranking."""
        return cast("Reader", self)
