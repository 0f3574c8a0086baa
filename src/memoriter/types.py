"""The values that travel between rooms. All are frozen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    from memoriter.codes import DiagnosticCode, SkipReason

_LEADING_HEADINGS = re.compile(r"\A(?:[ \t]*(?:#{1,6}[ \t][^\n]*)?(?:\n|\Z))+")
ORIGIN = re.compile(r"[ \t]?<!-- (?:from|end): [^<>\n]{1,200}? -->(?=[ \t\r]*(?:\n|\Z))")
"""A mark of who wrote an entry, as `workspace` puts it at the end of a line."""

Role = Literal["query", "document"]
SourceKind = Literal["memory", "sessions"]
Mode = Literal["hybrid", "keyword", "vector"]
Outcome = Literal["match", "weak", "none"]
Leg = Literal["keyword", "vector"]


@dataclass(frozen=True, slots=True)
class Source:
    """A file that is memory, with its size in bytes, as the last look at the disk saw it."""

    path: str
    """As cited: POSIX separators, relative to the workspace (an extra path outside it starts with `../`)."""
    kind: SourceKind
    file: Path
    """Where the bytes are: absolute."""
    size: int
    mtime_ns: int
    stamp: int = 0
    """Differs whenever the inode or its time of change (`st_ctime_ns`) does; see `workspace.stamp_of`. 0: not known."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A path that looked like memory and is left out, with the reason."""

    path: str
    reason: SkipReason
    """A stable word; docs/health.md says what to do. `outside` occurs only for a path that was requested."""
    message: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of one source: the unit that is embedded, indexed and cited."""

    start_line: int
    """1-based, inclusive."""
    end_line: int
    """1-based, inclusive."""
    text: str
    """The lines, verbatim."""
    heading: tuple[str, ...] = ()
    """Titles of the sections around the passage, outermost first; never part of `text`."""

    @property
    def contextual(self) -> str:
        """The text that is embedded: the heading path, then the chunk without its first headings and origin marks."""
        text = ORIGIN.sub("", self.text) if "<!-- " in self.text else self.text
        return f"{' > '.join(self.heading)}\n{_LEADING_HEADINGS.sub('', text)}" if self.heading else text


@dataclass(frozen=True, slots=True)
class Filters:
    """The chunks that a search may return; applied before ranking in both retrievers."""

    sources: frozenset[SourceKind] | None = None
    since: date | None = None
    until: date | None = None
    """Both days are included."""
    path: str | None = None
    """A cited path, a folder, or a glob (`memory/work/*`)."""
    tags: frozenset[str] | None = None
    """Tags that a note must have, all of them; `a` includes `a/b`."""
    phrases: tuple[str, ...] = ()
    """Texts that a chunk or its headings must contain."""
    without: tuple[str, ...] = ()
    """Texts that neither a chunk nor its headings may contain."""

    @property
    def empty(self) -> bool:
        return self == Filters()


ScriptBaselines = Mapping[str, tuple[float, float]]
"""The mean cosine of unrelated chunks in each script, and its standard deviation (above 0); "" stands for the others.
Models put texts of one script close together, so only (cosine - mean) / deviation can be compared across scripts.
"""


@dataclass(frozen=True, slots=True)
class Query:
    """One question; None means as configured."""

    text: str
    max_results: int | None = None
    min_score: float | None = None
    filters: Filters = field(default_factory=Filters)
    explain: bool = False
    deadline_ms: int | None = None
    understood: Mapping[str, Any] | None = field(default=None, compare=False)
    """The operators that were read from the text, in the form of JSON."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a hit came by its score, stage by stage. A missing leg is `None`."""

    cosine: float | None
    vector: float | None
    """v: the cosine as a share of a perfect match above the background, 0 at the background."""
    keyword: float
    """k, 0..1: coverage, saturation and what the neighbours lend."""
    coverage: float
    saturation: float
    neighbours: float
    terms: tuple[str, ...]
    raw: float
    calibrated: float
    decay: float = 1.0
    legs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that answers, with its place."""

    path: str
    start_line: int
    end_line: int
    score: float
    """0..1; independent of what else was found."""
    snippet: str
    """At most 700 characters of the chunk."""
    source: SourceKind
    heading: tuple[str, ...] = ()
    explanation: Explanation | None = None
    date: date | None = None
    """The day of its note: in the front matter, else in the path, else of the last change (UTC)."""

    @property
    def citation(self) -> str:
        """`path#L3-L7`, or `path#L3` for a single line."""
        end = "" if self.end_line == self.start_line else f"-L{self.end_line}"
        return f"{self.path}#L{self.start_line}{end}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something that a person should know, and what to do about it."""

    code: DiagnosticCode
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the answers are as good as they should be."""

    legs: Mapping[str, bool]
    """`keyword` and `vector`: does the leg serve?"""
    pending: int = 0
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
class SearchResult:
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

    @property
    def results(self) -> tuple[Hit, ...]:
        return self.hits


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of one memory file. An empty text: the file is not there yet."""

    path: str
    text: str
    truncated: bool = False
    reason: Diagnostic | None = None
    """Why the text is empty."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """The lines that were written, 1-based and inclusive, and whether the next search finds them."""

    path: Path
    start_line: int
    end_line: int
    reasons: tuple[Diagnostic, ...] = ()
    """Why the next search may not find them; empty when it does."""


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What one run of indexing did."""

    files: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    chunks: int = 0
    embedded: int = 0
    cached: int = 0
    """Chunks of this run whose vector was already known."""
    failed: int = 0
    """Chunks that could not be embedded; the keyword leg finds them."""
    pending: int = 0
    unread: int = 0
    seconds: float = 0.0
    reasons: tuple[Diagnostic, ...] = ()
    health: Health | None = None
    """Of the index as it is now, with all reasons."""


@dataclass(frozen=True, slots=True)
class CompactReport:
    """What making the index smaller did; sizes are of the index with its log."""

    bytes_before: int
    bytes_after: int
    vectors: int
    unused: int
    """Vectors that no passage refers to and that are kept, in case their text comes back."""
    damaged: tuple[str, ...]
    """Names of damaged indexes that were set aside, with their logs."""
    damaged_bytes: int
    damaged_removed: bool
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """An embedding model as it is used: two equal specs give comparable vectors."""

    provider: str
    model: str
    dimensions: int
    revision: str = ""
    endpoint: str = ""
    query_template: str = "{text}"
    document_template: str = "{text}"
    pooling: str = "mean"
    normaliser: str = ""
    max_tokens: int = 512
    """Longest input the model reads; not part of the identity."""
    background: tuple[float, float] = (0.0, 0.1)
    """Mean and deviation of the cosine of unrelated texts, for small corpora; not part of the identity."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run of indexing would do, without doing it."""

    files: int
    added: int
    changed: int
    removed: int
    chunks: int
    """Chunks of the added and changed files."""
    tokens: int
    price: float | None
    """US dollars; 0 for a model that runs here, None where the price is not known."""
    price_seen: str = ""
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class Canary:
    """A known passage that was searched for by its rarest words, through the real search path."""

    citation: str
    query: str
    found: bool
    lost: tuple[Leg, ...] = ()


class SourceCount(NamedTuple):
    """How much of one kind of source is indexed."""

    kind: SourceKind
    files: int
    chunks: int


@dataclass(frozen=True, slots=True)
class Status:
    """What there is and whether it works."""

    agent: str
    workspace: str
    workspace_reason: str
    index: str
    index_bytes: int
    files: int
    chunks: int
    vectors: int
    pending: int
    failed: int
    provider: str
    model: str
    dimensions: int
    vector_engine: str
    scoring: str
    backend: str
    leaves_machine: bool
    """Whether text is sent over the network to be embedded."""
    background: tuple[float, float] | None
    health: Health
    skipped: tuple[Skipped, ...] = ()
    canaries: tuple[Canary, ...] = ()
    endpoint: str = ""
    """Where text is sent to be embedded; empty where it stays in this process."""
    key_source: str = ""
    """Where the key of the service is from; never the key."""
    stale: int = 0
    """Notes that changed, came or went since they were indexed."""
    oversampling: int | None = None
    """Vectors that are compared exactly for each that is wanted, where codes choose them; `None`: all are compared."""
    sources: tuple[SourceCount, ...] = ()
    index_reason: str = ""
    """Why the index is where it is, if it is not simply in the home."""
    notices: tuple[Diagnostic, ...] = ()
    """Untrusted files, files that other users could read, and settings without effect."""
    layout: str = ""
    """Which Markdown files of the folder are memory: `notes` (all) or `openclaw` (`MEMORY.md` and `memory/`)."""
    last_attempt: Attempt | None = None
    """The last attempt of any process to reach the provider; None if unknown, or if it is part of this program."""


@dataclass(frozen=True, slots=True)
class Spending:
    """What one model took on one day (UTC)."""

    day: date
    provider: str
    model: str
    calls: int
    tokens: int
    unpriced: int
    """Tokens of them whose price is not known."""
    dollars: float


class Spent(NamedTuple):
    """Totals of today (UTC) over all paid services."""

    tokens: int
    dollars: float
