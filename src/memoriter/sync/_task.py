"""What a run of indexing is told, and what it tells."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Protocol

from memoriter.sync._analyze import ChunkingSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memoriter.embed import Collected
    from memoriter.index import IndexedFile
    from memoriter.search import Deadline
    from memoriter.sync._plan import Plan
    from memoriter.types import Diagnostic, SyncReport


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come."""

    stage: Literal["read", "embed", "download"]
    """`download`: bytes of a model; `read`: files; `embed`: chunks."""
    done: int
    total: int


class BatchQueue(Protocol):
    """A service's batch interface; texts go by the hex of their keys."""

    @property
    def under_way(self) -> frozenset[str]: ...
    def run(self, texts: Mapping[str, str], *, wait: bool) -> Iterator[Collected]: ...


@dataclass(frozen=True, slots=True)
class SessionRules:
    """How much must be new before a transcript that is still being written is read again; 0: anything."""

    delta_bytes: int = 100_000
    delta_messages: int = 50


@dataclass(frozen=True, slots=True)
class SyncSettings:
    """How to index."""

    chunking: ChunkingSettings = field(default_factory=ChunkingSettings)
    max_entries: int = 50_000
    max_bytes: int = 2**31
    sessions: SessionRules = field(default_factory=SessionRules)


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """What a look at the files found."""

    version: int
    """Of the index that they were compared with."""
    needed: bool
    plan: Plan | None = None
    """`None` where something must be done whatever the files say."""
    known: Mapping[str, IndexedFile] | None = None
    """What the index holds of the files of the plan; None: not asked yet."""
    held: bool = False
    """Whether the plan holds although the index has changed, since whoever made it has the lease. Then a file that is
    not there when it is read stays in the index: the next look tells whether it is gone."""
    first: frozenset[str] = frozenset()
    """Cited paths that are read before all others, and whatever the time."""
    left_out: tuple[Diagnostic, ...] = ()
    """What cannot be read."""


@dataclass(frozen=True, slots=True)
class Task:
    """What one run is to do. A `Deadline` that is missing is none."""

    force: bool = False
    """Cut and index every file anew, and try chunks again that failed; vectors are kept."""
    vectors: bool = False
    """With `force`, do not keep those of the model in use either."""
    everything: bool = True
    """Also transcripts that are being written just now, of which little is new."""
    look: ChangeSet | None = None
    """What was just seen, so that the files are not looked at twice."""
    read_by: Deadline | None = None
    """For reading: the files that changed last come first, and the report tells how many are left."""
    embed_by: Deadline | None = None
    wait: float = 0.0
    """How many seconds for another process that is indexing."""


@dataclass(slots=True)
class Tally:
    """What the runs of one `Sync` have done so far, those that ended with an error too."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    cached: int = 0
    embedded: int = 0
    failed: int = 0

    def take(self, report: SyncReport) -> None:
        """Count what was read."""
        self.added += report.added
        self.changed += report.changed
        self.removed += report.removed
        self.cached += report.cached

    def totals(self, report: SyncReport) -> SyncReport:
        """The report of the last run, as one of all of them."""
        return replace(report, **asdict(self))
