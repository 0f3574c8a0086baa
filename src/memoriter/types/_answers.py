"""What is answered: hits, diagnostics, what is read or written, and why a passage is not among the hits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

from memoriter.errors import system_error_text
from memoriter.values import Record, dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date
    from pathlib import Path

    from memoriter.codes import DiagnosticCode
    from memoriter.errors import MemoriterError
    from memoriter.types._content import Mode, Outcome, SourceKind
    from memoriter.types._requests import LineKind


STAGES = {
    "changes": "look for changes",
    "index": "index",
    "embed": "embed the question",
    "keyword": "find by words",
    "vector": "find by meaning",
    "rank": "rank",
    "rerank": "rerank",
    "verify": "verify",
    "total": "total",
}
"""The stages of a search in words, by their keys in `SearchResult.timings`, in their order."""


@dataclass(frozen=True, slots=True)
class LineScore:
    """What one line of a typed query contributed to a hit."""

    line: int
    """Number of the line among those that are searched, from 1."""
    kind: LineKind
    score: float
    """Score of the passage for this line alone, 0..1, before decay; below .5 for `hyde`."""
    place: int | None
    """Place of the passage in the list of the line, from 1; None if its score is too low for the list."""
    share: float
    """What the place adds to the sum that orders the hits; 0 without a place."""


@dataclass(frozen=True, slots=True)
class Explanation(Record):
    """How a hit came by its score, stage by stage. The part of a retriever that did not find it is `None`."""

    cosine: float | None
    vector: float | None
    """v: the cosine as a share of a perfect match above the background, 0 at the background. For a chunk with items, it
    is mostly that of the best item."""
    keyword: float
    """k, 0..1: coverage, saturation and what the neighbours lend."""
    coverage: float
    saturation: float
    neighbours: float
    terms: tuple[str, ...]
    """The query's terms that the chunk holds."""
    raw: float
    """The weighted sum of both retrievers, before it is mapped to 0..1. It is lower for all chunks if none contains the
    query's words. Where no chunk has items, as with single turns of conversations, it includes a share of the best
    neighbour's."""
    calibrated: float
    """`raw` mapped to 0..1, before decay."""
    decay: float = 1.0
    legs: tuple[str, ...] = ()
    """The retrievers that proposed the chunk: `vector`, `keyword`."""
    rank: int | None = None
    """Place in the engine's own order, from 1; None if no reranker read the chunk."""
    reranked: int | None = None
    """Place in the order of the reranker, from 1."""
    relevance: float | None = None
    """The reranker's score, on a scale of its own."""
    lines: tuple[LineScore, ...] = ()
    """The lines of a typed query with the passage as a candidate. `raw` and `calibrated` are those of the line with
    the best score; the parts of each retriever are those of its best line."""


@dataclass(frozen=True, slots=True)
class Hit(Record):
    """A passage that answers, with its place."""

    path: str
    start_line: int
    end_line: int
    score: float
    """0..1; independent of what else was found."""
    snippet: str
    """The beginning of the passage, at most 700 characters."""
    source: SourceKind
    heading: tuple[str, ...] = ()
    explanation: Explanation | None = None
    date: date | None = None
    """The day of its note: in the front matter, else in the path; None if neither has one."""
    text: str = ""
    """The whole passage."""
    answer_lines: tuple[int, int] | None = None
    """The first and the last line that most likely answer, if the judge has read the passage."""
    changed: date | None = None
    """The day (UTC) of the last change of its file, for a note without a day."""
    outside_time: bool = False
    """Whether the question names a time, and the passage is not of that time."""

    @property
    def citation(self) -> str:
        """`path#L3-L7`, or `path#L3` for a single line."""
        end = "" if self.end_line == self.start_line else f"-L{self.end_line}"
        return f"{self.path}#L{self.start_line}{end}"


@dataclass(frozen=True, slots=True)
class Diagnostic(Record):
    """Something that a person should know, and what to do about it."""

    code: DiagnosticCode
    message: str
    remedy: str = ""

    @classmethod
    def of(cls, error: MemoriterError | OSError) -> Self:
        """Return an error as a diagnostic."""
        if isinstance(error, OSError):
            return cls("system", system_error_text(error), "Check the path, its permissions and the free space.")
        return cls(error.code, error.message, error.remedy)


@dataclass(frozen=True, slots=True)
class Health(Record):
    """Whether the answers are as good as they should be."""

    legs: Mapping[str, bool]
    """`keyword` and `vector`: whether the retriever works."""
    pending: int = 0
    """Chunks that have no vector yet."""
    generation: int = 0
    reasons: tuple[Diagnostic, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.reasons


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to reach the provider of vectors."""

    at: float
    """Seconds since 1970."""
    reason: Diagnostic | None = None
    """Why it failed; None: it succeeded."""

    @property
    def ok(self) -> bool:
        return self.reason is None


@dataclass(frozen=True, slots=True)
class Certainty:
    """How certain it is that the first hit answers."""

    value: float
    """The sum of its score, its nearness in meaning, and what the judge says, if it has read the hit."""
    threshold: float
    """The value that a match exceeds."""


@dataclass(frozen=True, slots=True)
class SearchResult(Record):
    """The answer to a query: the hits, how sure they are, and the state they were found in."""

    hits: tuple[Hit, ...]
    outcome: Outcome
    provider: str
    model: str
    mode: Mode
    health: Health
    fallback: Diagnostic | None = None
    """Why the provider that was to serve did not, for this answer."""
    truncated_by: str | None = None
    fallback_from: str = ""
    """The provider that was to serve, where there is a `fallback`."""
    reasons: tuple[Diagnostic, ...] = ()
    """Why there is no hit although there are chunks; where there are none, `health` says why."""
    timings: Mapping[str, float] | None = field(default=None, compare=False)
    """Milliseconds of each stage, if the query asked to explain."""
    understood: Mapping[str, Any] | None = field(default=None, compare=False)
    """`Query.understood`."""
    certainty: Certainty | None = field(default=None, compare=False)
    """What decided between `match` and `weak`; None if the score of the best hit did."""

    @property
    def results(self) -> tuple[Hit, ...]:
        return self.hits

    @property
    def newest(self) -> bool:
        """Whether the hits are the newest passages, because nothing is asked besides filters."""
        return self.understood is not None and bool(self.understood.get("newest"))


@dataclass(frozen=True, slots=True)
class Excerpt(Record):
    """Lines of one memory file. An empty text: the file is not there yet."""

    path: str
    text: str
    truncated: bool = False
    reason: Diagnostic | None = None
    """Why the text is empty."""
    hash: str | None = field(default=None, compare=False)
    """`ids.bytes_hash` of the whole file that the lines are from; None if it cannot be replaced: it is missing,
    no UTF-8, or a transcript."""


@dataclass(frozen=True, slots=True)
class Remembered(Record):
    """The lines of an entry, 1-based and inclusive, and whether the next search finds them."""

    path: Path
    start_line: int
    end_line: int
    reasons: tuple[Diagnostic, ...] = ()
    """Why the next search may not find them; empty when it does."""
    existing: bool = False
    """True if the entry was already there, in these lines, and nothing was written."""


@dataclass(frozen=True, slots=True)
class Replaced(Record):
    """The text of a note that was replaced, and whether the next search finds it."""

    text: str
    """What was written: the given text, with the marks of its authors if they are not the owner."""
    reasons: tuple[Diagnostic, ...] = ()
    """Why the next search may not find it; empty when it does."""


Stage = Literal[
    "written",
    "scanned",
    "chunked",
    "indexed",
    "embedded",
    "scope",
    "candidates",
    "score",
    "threshold",
    "diversity",
    "budget",
]
"""The stages from a line of a note to a hit, in their order."""

StageStatus = Literal["passed", "lost", "warned", "not_reached"]


@dataclass(frozen=True, slots=True)
class StageReport:
    """What one stage did with the passage."""

    stage: Stage
    status: StageStatus
    """`lost` for the stage that lost it, `not_reached` for the later ones, `warned` if it passed at a disadvantage."""
    message: str


@dataclass(frozen=True, slots=True)
class SettingChange:
    """One setting with another value."""

    key: str
    """As `memoriter config set` takes it: `query.minScore`."""
    now: Any
    """The value in force, as in JSON."""
    value: Any
    """The other value, as in JSON."""
    option: str = ""
    """The option of `memoriter search` that does the same for one search: `--min-score 0.31`; empty if none does."""


@dataclass(frozen=True, slots=True)
class Fix:
    """The smallest change with which the same query finds the passage."""

    changes: tuple[SettingChange, ...]
    leave_out: tuple[str, ...] = ()
    """Options and operators of the query to leave out: `--since`, `-guest`."""
    verified: bool = False
    """True if a search with this change was made and found the passage."""
    place: int | None = None
    """The place, from 1, of the passage among the hits of that search."""


@dataclass(frozen=True, slots=True)
class Candidacy:
    """How near a passage came to being a candidate of each retriever."""

    limit: int
    """Chunks that each retriever may propose."""
    keyword: int | None
    """Place, from 1, in the keyword retriever's order; None if it is not among the first `depth` or has no word.

    Of passages with the same words, only those that the retriever must choose among have an order."""
    vector: int | None
    """Place, from 1, in the vector retriever's order; None if it is not among the first `depth` or has no vector."""
    depth: int
    """Places that were looked at."""
    missing: tuple[str, ...] = ()
    """Words of the query that the passage does not contain; of a word that is not ASCII, terms such as bigrams."""


@dataclass(frozen=True, slots=True)
class WhyNot(Record):
    """Whether a query finds a passage, and if not, which stage of the search lost it."""

    query: str
    citation: str
    """The lines that were asked about: `memory/2026-02-10.md#L3`, or a path for the whole note."""
    passage: str
    """The citation of the passage with these lines that came farthest; empty if no passage has them."""
    place: int | None
    """The place, from 1, of the first hit with these lines; None if there is none."""
    hits: int
    """The number of hits."""
    stage: Stage | None
    """The stage that lost the passage; None if it is found."""
    stages: tuple[StageReport, ...]
    """Every stage, in the order of a search."""
    score: float | None = None
    """The passage's score, also if it is too low; None if the ranking did not score it."""
    last_score: float | None = None
    """The score of the last hit; None without hits."""
    candidacy: Candidacy | None = None
    explanation: Explanation | None = None
    """How the passage came by its score, for `calibrated` scoring."""
    fix: Fix | None = None
    """What would bring the passage back; None if it is found, or if no setting does."""
    remedy: str = ""
    """What helps besides the fix, or if there is none; empty if the passage is found."""
    reasons: tuple[Diagnostic, ...] = ()
    """What was wrong with the memory during the search, such as vectors that are missing."""

    @property
    def found(self) -> bool:
        """Whether a hit has these lines."""
        return self.place is not None
