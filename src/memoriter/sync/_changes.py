"""The changes that bring the index up to date with the files: a pure plan, the scan for a watcher, and a run's limits.

The scan confirms a deletion or a half-written file by a second scan.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Literal, Protocol

from memoriter.errors import WorkspaceNotFound
from memoriter.sync._analyze import ChunkingSettings
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from memoriter.embed import Collected
    from memoriter.environment import Deadline
    from memoriter.records import IndexedFile
    from memoriter.store import Store
    from memoriter.types import Diagnostic, Skipped, Source, SyncReport
    from memoriter.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Plan:
    """The files to index or remove; each tuple in the order of the paths."""

    added: tuple[Source, ...] = ()
    suspect: tuple[Source, ...] = ()
    """Files whose size, time or inode differs. Their content decides whether they changed."""
    removed: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        return not (self.added or self.suspect or self.removed)

    @property
    def size(self) -> int:
        """The number of files in the plan."""
        return len(self.added) + len(self.suspect) + len(self.removed)

    @property
    def sources(self) -> tuple[Source, ...]:
        """All files to read."""
        return (*self.added, *self.suspect)


STEP_SECONDS = 0.1
"""The longest time step of a file system that stores fractions of a millisecond: a kernel tick, with a margin."""
COARSE_SECONDS = 2.5
"""The longest time step of other file systems. FAT has two seconds."""
UNSURE = -1
"""The stamp of a file that may change without a change of its stat. The next scan reads it again."""


def may_change_unseen(inode_changed_ns: int, now: float) -> bool:
    """Return whether another write could leave the size, times and inode of a file unchanged.

    File systems store times in steps: two writes within one step have the same time. If the step of the last write may
    not be over, the file cannot be told from a later version of the same size.

    Args:
        inode_changed_ns: when the inode changed, in nanoseconds since 1970.
        now: a time before the file was read, in seconds since 1970.
    """
    step = COARSE_SECONDS if inode_changed_ns % 1_000_000 == 0 else STEP_SECONDS
    return abs(now - inode_changed_ns / 1e9) < step


def make_plan(
    sources: Iterable[Source],
    known: Mapping[str, IndexedFile],
    due: Callable[[Source, IndexedFile], bool] = lambda _source, _indexed: True,
) -> Plan:
    """Compare a scan with the files in the index. A cheap stat finds candidates, and the checksum decides later.

    A changed file that is not `due` now is left to a later scan.
    """
    sources_by_path = {source.path: source for source in sources}
    added = [source for path, source in sources_by_path.items() if path not in known]
    changed = [
        source for path, source in sources_by_path.items() if path in known and not same_stat(source, known[path])
    ]
    suspect = [source for source in changed if due(source, known[source.path])]
    return Plan(tuple(added), tuple(suspect), tuple(sorted(known.keys() - sources_by_path.keys())))


def same_stat(source: Source, indexed: IndexedFile) -> bool:
    """Return whether the file has the size, the times and the inode that the index stores."""
    return (source.size, source.mtime_ns, source.stamp) == (indexed.size, indexed.mtime_ns, indexed.stamp)


@dataclass(frozen=True, slots=True)
class IndexJob:
    """The files that one run covers."""

    paths: frozenset[str] = frozenset()
    """Files that may have changed. If there are none and `whole` is false, the run only retries missing vectors."""
    settled: frozenset[str] = frozenset()
    """Those of `paths` that were quiet for the debounce interval. If such a file is missing, it was deleted."""
    whole: bool = False
    """Whether the run covers all files."""


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """The result of a scan."""

    version: int
    """The version of the index that the files were compared with."""
    needed: bool
    plan: Plan | None = None
    """None if there is work to do whatever the files contain."""
    indexed: Mapping[str, IndexedFile] | None = None
    """What the index holds of the files in the plan; None if it was not read yet."""
    held: bool = False
    """Whether the plan stays valid if the index changes, because its creator holds the lease.

    In that case a file that is missing when it is read stays in the index; the next scan confirms the deletion.
    """
    first: frozenset[str] = frozenset()
    """Cited paths that are read before all others, even after the deadline."""
    skipped: tuple[Diagnostic, ...] = ()
    """Diagnostics for files that cannot be read."""
    recheck: frozenset[str] = frozenset()
    """Cited paths to check again before their change is accepted: missing, or changed a moment ago."""
    folders: Mapping[str, int] | None = None
    """The folders to watch for events; None if not all files were scanned."""
    left_out: tuple[Skipped, ...] = ()
    """The files that a scan of all of them left out."""


def changes_for(
    job: IndexJob,
    workspace: Workspace,
    index: Store,
    *,
    young: tuple[float, float],
    due: Callable[[Source, IndexedFile], bool],
) -> ChangeSet:
    """Compare the files of a job with the index.

    A note of unknown history that was changed between the times `young`, in seconds since 1970, is left for later.
    Raises WorkspaceNotFound if the workspace does not exist at the moment.
    """
    version = index.version()
    sources_by_path = dict(filter(None, map(workspace.find, job.paths)))
    settled = {path for path, _ in filter(None, map(workspace.find, job.settled))}
    recheck: set[str] = set()
    folders = None
    left_out: tuple[Skipped, ...] = ()
    if job.whole:
        scan = workspace.scan()
        left_out = scan.skipped
        indexed = index.files()
        folders = scan.folders
        sources: list[Source] = []
        for source in scan.sources:
            recent = source.kind == "memory" and young[0] < source.mtime_ns / 1e9 <= young[1]
            known = indexed.get(source.path)
            if recent and source.path not in sources_by_path and not (known and same_stat(source, known)):
                recheck.add(source.path)
            else:
                sources.append(source)
        plan = make_plan(sources, {path: file for path, file in indexed.items() if path not in recheck}, due)
    else:
        indexed = index.files_at(sources_by_path)
        plan = make_plan([source for source in sources_by_path.values() if source is not None], indexed, due)
    if not workspace.root.is_dir():
        raise WorkspaceNotFound(f"{str(workspace.root)!r} is not there now.", remedy="Bring it back; the index waits.")
    recheck.update(path for path in plan.removed if path not in settled)
    plan = replace(plan, removed=tuple(path for path in plan.removed if path in settled))
    return ChangeSet(
        version,
        needed=not plan.empty,
        plan=plan,
        indexed=indexed,
        held=True,
        recheck=frozenset(recheck),
        folders=folders,
        left_out=left_out,
    )


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run."""

    stage: Literal["read", "embed", "download", "import", "export", "copy"]
    """The unit depends on the stage: bytes of a model for `download`, files for `read`, vectors for `embed`, `copy`."""
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
    turns: Callable[[], None] | None = None
    """Called between short turns of computing vectors, in which other processes may do so; None: there is one turn."""


@dataclass(slots=True)
class Tally:
    """The totals of all runs of one `Sync`, including those that raised an error."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    cached: int = 0
    embedded: int = 0
    failed: int = 0

    @property
    def stored(self) -> int:
        """Vectors that became known."""
        return self.embedded + self.cached

    def add(self, report: SyncReport) -> None:
        """Add the counts of a report."""
        self.added += report.added
        self.changed += report.changed
        self.removed += report.removed
        self.cached += report.cached

    def totals(self, report: SyncReport) -> SyncReport:
        """Return the report of the last run with the counts of all runs."""
        return replace(report, **asdict(self))
