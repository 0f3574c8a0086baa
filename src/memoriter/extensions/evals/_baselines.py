"""What is compared: simple searches (grep, and BM25 with all or any words of the question), and other programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from memoriter.extensions.evals._metrics import mean
from memoriter.search import analyse, query_terms
from memoriter.types import Hit
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memoriter.memory import Memory

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


class Passages:
    """Passages in memory, with the counts that BM25 needs."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        """Count the terms of passages, by the analysis of the index."""
        self._passages = tuple(passages)
        self._counts = [Counter(analyse(passage.text)) for passage in self._passages]
        self._frequency = Counter(term for counts in self._counts for term in counts)
        self._lowered = [passage.text.casefold() for passage in self._passages]
        self._mean_length = mean([counts.total() for counts in self._counts])

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
        scored = [(passage, float(score(at))) for at, passage in enumerate(self._passages)]
        return sorted((pair for pair in scored if pair[1] > 0), key=lambda pair: -pair[1])[:limit]

    def _bm25(self, at: int, terms: Sequence[str]) -> float:
        counts = self._counts[at]
        total = len(self._passages)
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


@dataclass(frozen=True, slots=True)
class ProgramFigures:
    """What a program costs on the notes of one workspace; None where it was not measured."""

    name: str
    vectors: str = ""
    """Where its vectors are from."""
    index_seconds: float | None = None
    index_peak_mb: float | None = None
    search_peak_mb: float | None = None
    disk_mb: float | None = None
    """What it stores about the notes, without models."""
    cold_seconds: float | None = None
    """Median time of a search as a new process."""
    warm_seconds: float | None = None
    """Median time of a search in a running process."""
    fault: str = ""
    """Why it was not measured, or not to the end."""


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """The figures of a program, and its hits for each question; no hits at all if it failed."""

    figures: ProgramFigures
    hits: tuple[tuple[Hit, ...], ...] = ()


class OtherPrograms(Protocol):
    """Measures other programs on the notes of a workspace."""

    def measure(self, memory: Memory, questions: Sequence[str], limit: int) -> Sequence[ProgramResult]:
        """Return the result of each program, with at most `limit` hits for each question."""
        ...


ProgramsOf = Callable[[Path, Path | None, str], OtherPrograms]


"""Returns the programs for an empty folder, in which they store everything, for the configuration file of memoriter as
a program (None: its defaults), and for the provider of the vectors, also for programs that take an endpoint."""
