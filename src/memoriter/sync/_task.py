"""The limits, the progress and the totals of an indexing run."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Literal, Protocol

from memoriter.sync._analyze import ChunkingSettings
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from memoriter.embed import Collected
    from memoriter.search import Deadline
    from memoriter.sync._changes import ChangeSet
    from memoriter.types import SyncReport


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run."""

    stage: Literal["read", "embed", "download"]
    """The unit depends on the stage: bytes of a model for `download`, files for `read`, chunks for `embed`."""
    done: int
    total: int


class BatchQueue(Protocol):
    """The batch interface of a service. Texts are identified by the hexadecimal form of their keys."""

    @property
    def under_way(self) -> frozenset[str]: ...
    def run(self, texts: Mapping[str, str], *, wait: bool) -> Iterator[Collected]: ...


@dataclass(frozen=True, slots=True)
class SessionRules:
    """How much must be new before a transcript that is still being written is indexed again; 0 accepts any amount."""

    delta_bytes: int = 100_000
    delta_messages: int = 50


@dataclass(frozen=True, slots=True)
class SyncSettings:
    """The settings of indexing."""

    chunking: ChunkingSettings = field(default_factory=ChunkingSettings)
    max_entries: int = 50_000
    max_bytes: int = 2**31
    sessions: SessionRules = field(default_factory=SessionRules)


@dataclass(frozen=True, slots=True)
class Task:
    """The work of one run. A missing `Deadline` means no limit."""

    force: bool = False
    """Index every file again, and retry chunks that failed. Vectors are kept."""
    vectors: bool = False
    """With `force`, also compute the vectors of the current model again."""
    everything: bool = True
    """Also index transcripts that are still being written and have little new text."""
    changes: ChangeSet | None = None
    """The result of a scan that was just made, so that the files are not scanned twice."""
    read_by: Deadline | None = None
    """The deadline of reading. The newest changes come first, and the report counts the files that are left."""
    embed_by: Deadline | None = None
    first: Callable[[], Collection[int]] | None = None
    """Returns the ids of the chunks whose vectors are computed first; called when the text is indexed."""
    question: str = ""
    """The query of a search that waits for this run; a model in this process computes its vector before any other."""
    wait: float = 0.0
    """How many seconds to wait for another process that is indexing."""


@dataclass(slots=True)
class Tally:
    """The totals of all runs of one `Sync`, including those that raised an error."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    cached: int = 0
    embedded: int = 0
    failed: int = 0

    def take(self, report: SyncReport) -> None:
        """Add the counts of a report."""
        self.added += report.added
        self.changed += report.changed
        self.removed += report.removed
        self.cached += report.cached

    def totals(self, report: SyncReport) -> SyncReport:
        """Return the report of the last run with the counts of all runs."""
        return replace(report, **asdict(self))
