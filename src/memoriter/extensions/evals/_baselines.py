"""Simple searches to compare with: grep, and BM25 with all or any words of the question."""

from __future__ import annotations

from collections import Counter
from math import log
from typing import TYPE_CHECKING, Literal

from memoriter.extensions.evals._metrics import mean
from memoriter.search import analyse, query_terms
from memoriter.types import Hit
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Baseline = Literal["grep", "BM25 AND", "BM25 OR"]
BASELINES: tuple[Baseline, ...] = ("grep", "BM25 AND", "BM25 OR")

K1 = 1.2
B = 0.75
"""The usual constants of BM25 (Robertson and Zaragoza 2009)."""
GREP_LETTERS = 3
"""Letters that a word of the question must have for grep, unless it has none longer."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a note, and the key under which a ranking returns it."""

    key: str
    path: str
    start_line: int
    text: str

    @property
    def end_line(self) -> int:
        return self.start_line + self.text.count("\n")

    def hit(self, score: float) -> Hit:
        return Hit(self.path, self.start_line, self.end_line, score, self.text[:200], "memory")


@dataclass(slots=True)
class Passages:
    """Passages in memory, with the counts that BM25 needs."""

    passages: Sequence[Passage]
    _counts: list[Counter[str]] = field(default_factory=list[Counter[str]])
    _frequency: Counter[str] = field(default_factory=Counter[str])
    _lowered: list[str] = field(default_factory=list[str])
    _mean_length: float = 0.0

    @classmethod
    def of(cls, passages: Iterable[Passage]) -> Passages:
        """Return the passages with their terms counted, by the analysis of the index."""
        made = cls(tuple(passages))
        for passage in made.passages:
            made._counts.append(Counter(analyse(passage.text)))
            made._frequency.update(made._counts[-1].keys())
            made._lowered.append(passage.text.casefold())
        made._mean_length = mean([counts.total() for counts in made._counts])
        return made

    def rank(self, baseline: Baseline, question: str, limit: int) -> list[tuple[Passage, float]]:
        """Return the best passages with their scores, best first, ties in the order of the notes."""
        match baseline:
            case "grep":
                words = grep_words(question)
                return self._best(lambda at: sum(word in self._lowered[at] for word in words), limit)
            case "BM25 AND":
                terms = query_terms(question)
                return self._best(
                    lambda at: self._bm25(at, terms) if all(map(self._counts[at].get, terms)) else 0, limit
                )
            case "BM25 OR":
                terms = query_terms(question)
                return self._best(lambda at: self._bm25(at, terms), limit)

    def _best(self, score: Callable[[int], float], limit: int) -> list[tuple[Passage, float]]:
        scored = [(passage, float(score(at))) for at, passage in enumerate(self.passages)]
        return sorted((pair for pair in scored if pair[1] > 0), key=lambda pair: -pair[1])[:limit]

    def _bm25(self, at: int, terms: Sequence[str]) -> float:
        counts = self._counts[at]
        total = len(self.passages)
        norm = K1 * (1 - B + B * counts.total() / (self._mean_length or 1.0))
        return sum(
            log(1 + (total - self._frequency[term] + 0.5) / (self._frequency[term] + 0.5))
            * counts[term]
            * (K1 + 1)
            / (counts[term] + norm)
            for term in terms
            if counts[term]
        )


def grep_words(question: str) -> tuple[str, ...]:
    """Return the words of a question that `grep -iF` would be given, each once, without punctuation at their ends."""
    words = dict.fromkeys(
        word.strip(".,;:!?¿¡()[]{}\"'“”‘’。，、？！：；「」『』（）《》") for word in question.casefold().split()
    )
    return tuple(word for word in words if len(word) >= GREP_LETTERS) or tuple(filter(None, words))
