"""What is reported: of indexing, of its cost, of the state of a memory, and where its passages lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memoriter.values import Record, dataclass

if TYPE_CHECKING:
    from datetime import date

    from memoriter.types._answers import (
        Attempt,
        Diagnostic,
        Health,
    )
    from memoriter.types._content import (
        Leg,
        Skipped,
        SourceKind,
    )


@dataclass(frozen=True, slots=True)
class SyncReport(Record):
    """What one run of indexing did."""

    files: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    chunks: int = 0
    embedded: int = 0
    """Vectors that were computed, of chunks and of their items."""
    cached: int = 0
    """Chunks of this run whose vectors were already known, and vectors that were copied from other memories."""
    failed: int = 0
    """Chunks that could not be embedded; keyword search finds them."""
    pending: int = 0
    """Chunks still waiting for a vector, theirs or an item's."""
    unread: int = 0
    """Changed files that there was no time to read."""
    seconds: float = 0.0
    reasons: tuple[Diagnostic, ...] = ()
    health: Health | None = None
    """Of the index as it is now, with all reasons."""


@dataclass(frozen=True, slots=True)
class CompactReport(Record):
    """What making the index smaller did; sizes are of the index with its log."""

    bytes_before: int
    bytes_after: int
    vectors: int
    """Vectors that went: no passage refers to them."""
    unused: int
    """Vectors that no passage refers to and that are kept, in case their text comes back."""
    damaged: tuple[str, ...]
    """Names of damaged indexes that were set aside, with their logs."""
    damaged_bytes: int
    damaged_removed: bool
    """Whether they went, too."""
    seconds: float = 0.0
    reasons: tuple[Diagnostic, ...] = ()
    """What was finished, or could not be finished, of what killed processes left next to notes."""


@dataclass(frozen=True, slots=True)
class Estimate(Record):
    """What a run of indexing would do, without doing it."""

    files: int
    added: int
    changed: int
    removed: int
    chunks: int
    """Chunks of the added and changed files."""
    tokens: int
    """Tokens that would be embedded, about."""
    price: float | None
    """US dollars; 0 for a model that runs here, None where the price is not known."""
    price_seen: str = ""
    """Year and month of the price."""
    seconds: float | None = None
    """The time that the vectors will take, from a measurement; None: it was not measured."""
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class Canary(Record):
    """A known passage that was searched for by its rarest words, through the real search path."""

    citation: str
    query: str
    found: bool
    lost: tuple[Leg, ...] = ()
    """The legs that did not find it."""


class SourceCount(NamedTuple):
    """How much of one kind of source is indexed."""

    kind: SourceKind
    files: int
    chunks: int


@dataclass(frozen=True, slots=True)
class BackgroundRun:
    """A process that indexes in the background, and how far it is."""

    pid: int
    since: float
    """Seconds since 1970."""
    stage: str = ""
    """`read` for notes, `embed` for chunks, `download` for the bytes of a model; empty: it has just begun."""
    done: int = 0
    total: int = 0
    ended: float | None = None
    """Seconds since 1970; None: it is at work."""


@dataclass(frozen=True, slots=True)
class RerankerState:
    """The reranker that the settings name."""

    provider: str
    model: str = ""
    endpoint: str = ""
    """Where passages are sent; empty where they stay in this process."""
    key_source: str = ""
    """Where the key of the service is from; never the key."""
    leaves_machine: bool = False


@dataclass(frozen=True, slots=True)
class SidecarCollection:
    """A folder that a program beside memoriter searches."""

    name: str
    path: str
    pattern: str
    files: int | None
    """At its last update; None: there was none."""
    missing: bool
    """Whether the folder does not exist."""


@dataclass(frozen=True, slots=True)
class SidecarStatus:
    """The program that `memory.backend` names, and which engine answers."""

    name: str
    answering: str
    """`builtin` while the program fails."""
    reason: Diagnostic | None = None
    """Why the builtin engine answers."""
    seconds_left: float = 0.0
    """Seconds until the program is asked again."""
    binary: str = ""
    """Its absolute path; empty if there is no such program."""
    version: str = ""
    """Empty if it is not known."""
    transport: str = ""
    mode: str = ""
    home: str = ""
    """The folder of its index."""
    collections: tuple[SidecarCollection, ...] = ()
    documents: int | None = None
    vectors: int | None = None
    pending: int | None = None
    """Documents without vectors. These three numbers are those of the last update; None: there was none."""
    last_update: float | None = None
    """Seconds since 1970, as `last_embed` and `last_error_at`."""
    last_embed: float | None = None
    last_error: Diagnostic | None = None
    """Why its last run failed; None if it succeeded."""
    last_error_at: float | None = None


@dataclass(frozen=True, slots=True)
class Status(Record):
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
    recall: float | None = None
    """The share of the nearest vectors that such a search found, as measured, 0 to 1; `None`: all are compared."""
    sources: tuple[SourceCount, ...] = ()
    """What is indexed of each kind that is searched."""
    index_reason: str = ""
    """Why the index is where it is, if it is not simply in the home."""
    notices: tuple[Diagnostic, ...] = ()
    """Untrusted files, files that other users could read, and settings without effect."""
    layout: str = ""
    """Which Markdown files of the folder are memory: `notes` (all) or `openclaw` (`MEMORY.md` and `memory/`)."""
    trust: str = ""
    """Whose folder it is: `owner`, or a project's, which is `trusted` or `untrusted`."""
    last_attempt: Attempt | None = None
    """The last attempt of any process to reach the provider; None if unknown, or if it is part of this program."""
    indexing: BackgroundRun | None = None
    """The process that is indexing in the background now."""
    reranker: RerankerState | None = None
    """None if searches use no reranker."""
    long_term_memories: int | None = None
    """Number of long-term memories; None if their plugin is not active."""
    sidecar: SidecarStatus | None = None
    """The program that answers searches; None if the builtin engine does by itself."""


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


@dataclass(frozen=True, slots=True)
class MapPoint:
    """A passage with its place in the picture."""

    citation: str
    path: str
    start_line: int
    """1-based."""
    heading: tuple[str, ...]
    text: str
    """The beginning of the passage, in one line."""
    x: float
    """-1..1, as `y`; both axes have the same scale."""
    y: float
    group: int
    """The position in `PassageMap.groups`."""


@dataclass(frozen=True, slots=True)
class MapGroup:
    """Passages whose vectors are near to one centre, in all dimensions and not only in the two that are shown."""

    size: int
    centre: int
    """The position in `PassageMap.points` of the passage that is nearest to the centre."""
    files: tuple[tuple[str, int], ...]
    """The files with most passages of the group, with the number of these."""


@dataclass(frozen=True, slots=True)
class NearDuplicates:
    """Passages that are connected by pairs of nearly equal vectors."""

    points: tuple[int, ...]
    """Positions in `PassageMap.points`."""
    similarity: float
    """The lowest cosine of the pairs that connect them."""


@dataclass(frozen=True, slots=True)
class PassageMap:
    """The passages of an index in two dimensions."""

    points: tuple[MapPoint, ...]
    groups: tuple[MapGroup, ...]
    """The largest first."""
    duplicates: tuple[NearDuplicates, ...]
    """The largest first."""
    chunks: int
    """Passages of the index."""
    vectors: int
    """Passages of them that have a vector."""
    variance: tuple[float, float] = (0.0, 0.0)
    """The share of the variance of the vectors that each axis shows, 0..1."""
    similarity: float = 0.0
    """The cosine from which two passages count as nearly the same."""
    reasons: tuple[Diagnostic, ...] = ()
    """Why there is nothing to show."""
