"""Why a passage is not among the hits of a query: the stages it went through, and what would bring it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from memoriter.values import Record, dataclass

if TYPE_CHECKING:
    from memoriter.types._answers import Diagnostic, Explanation

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
