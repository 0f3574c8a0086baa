"""Carry a plan out: read, cut, index, embed. Every finished step survives a kill; nothing is embedded twice."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Literal, Protocol

from memoriter.errors import IndexDamaged, PathRefused, ProviderUnavailable
from memoriter.ids import fingerprint
from memoriter.search import Background, measure
from memoriter.sync._entries import Cutting, entries_of
from memoriter.sync._plan import make_plan
from memoriter.sync._sessions import SessionRules, due, grown_lines, index_transcript
from memoriter.types import Reason, SyncReport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from memoriter.embed import Collected, EmbeddingProvider
    from memoriter.index import Index, IndexedFile
    from memoriter.search import Deadline
    from memoriter.sync._plan import Plan
    from memoriter.types import ModelSpec, Source
    from memoriter.workspace import Workspace

CUTTING = "cutting"
BATCH_TOKENS = 8_000
FETCH = 512
"""Chunks that are taken from the index at a time to be embedded."""
WORTH_A_BATCH = 64
"""Chunks from which a batch interface is used: it is half the price, and may take hours."""
BACKGROUND_SAMPLE = 2_000
"""Chunks that say what unrelated chunks look like."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come."""

    stage: Literal["read", "embed", "download"]
    """`download`: bytes of a model; `read`: files; `embed`: chunks."""
    done: int
    total: int


class Batches(Protocol):
    """A service's batch interface; texts go by the hex of their keys."""

    @property
    def under_way(self) -> frozenset[str]: ...
    def run(self, texts: Mapping[str, str], *, wait: bool) -> Iterator[Collected]: ...


@dataclass(frozen=True, slots=True)
class SyncSettings:
    """How to index."""

    cutting: Cutting = field(default_factory=Cutting)
    max_entries: int = 50_000
    max_bytes: int = 2**31
    sessions: SessionRules = field(default_factory=SessionRules)


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

    def told(self, report: SyncReport) -> SyncReport:
        """The report of the last run, as one of all of them."""
        return replace(report, **asdict(self))


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at the files found."""

    version: int
    """Of the index that they were compared with."""
    needed: bool
    plan: Plan | None = None
    """`None` where something must be done whatever the files say."""


@dataclass(frozen=True, slots=True)
class Sync:
    """Brings one index up to date with one workspace."""

    workspace: Workspace
    index: Index
    settings: SyncSettings
    monotonic: Callable[[], float]
    progress: Callable[[Progress], None] = lambda _: None
    batches: Callable[[EmbeddingProvider], Batches | None] = lambda _: None
    """The batch interface of an opened provider, where it is to be used."""
    tally: Tally = field(default_factory=Tally)
    wall: Callable[[], float] = lambda: inf
    """Seconds since 1970, for how long a transcript was left alone."""

    def run(
        self,
        provider: Callable[[], EmbeddingProvider] | None,
        *,
        force: bool = False,
        deadline: Deadline | None = None,
        look: Look | None = None,
        everything: bool = True,
    ) -> SyncReport:
        """Index what changed, then embed what has no vector, until the deadline.

        Args:
            provider: opens the provider, only when something must be embedded; None: words only.
            force: cut and index every file anew, and try chunks again that failed; vectors are kept.
            deadline: for embedding; the keyword leg is always finished.
            look: what `look` has just seen, so that the files are not looked at twice.
            everything: also transcripts that are being written just now, of which little is new.

        Raises:
            IndexBusy: another process is indexing.
        """
        started = self.monotonic()
        with self.index.lease():
            report = self._read(look, force=force, everything=everything)
            self.tally.take(report)
            if provider is not None:
                report = self._embed(provider, report, deadline)
            self.index.evict(max_entries=self.settings.max_entries, max_bytes=self.settings.max_bytes)
        return replace(self.tally.told(report), seconds=self.monotonic() - started)

    @property
    def outdated(self) -> bool:
        """Whether the index holds text that was cut in another way, so that all of it must be cut anew."""
        known = self.index.get_meta(CUTTING)
        return known != self.settings.cutting.fingerprint and (known is not None or bool(self.index.files()))

    def look(self) -> Look:
        """Whether there is anything to read or to embed: cheap, and without the right to write."""
        version = self.index.version()
        if self.outdated or self.index.pending():
            return Look(version, needed=True)
        plan = make_plan(self.workspace.scan().sources, self.index.files(), self._due)
        return Look(version, needed=not plan.empty, plan=plan)

    def _due(self, source: Source, known: IndexedFile) -> bool:
        """Whether a changed file is to be read before anybody asks for all of them."""
        if source.kind != "sessions":
            return True
        grown, age = source.size - known.size, self.wall() - source.mtime_ns / 1e9
        return due(grown, age, self.settings.sessions, lambda: grown_lines(self.workspace, source, known.size))

    def _read(self, look: Look | None, *, force: bool, everything: bool) -> SyncReport:
        """Bring the keyword leg up to date, in a fresh generation where everything must be cut anew."""
        if not force and not self.outdated:
            if self.index.get_meta(CUTTING) is None:
                self.index.set_meta(CUTTING, self.settings.cutting.fingerprint)
            return self._read_into(self.index, look, everything=everything)
        before = self.index.files().keys()
        with self.index.rebuild() as fresh:
            fresh.set_meta(CUTTING, self.settings.cutting.fingerprint)
            if fresh.spec is not None:
                fresh.clear_failures()
            report = self._read_into(fresh)
            after = fresh.files().keys()
        return replace(report, added=len(after - before), changed=len(after & before), removed=len(before - after))

    def _read_into(self, index: Index, look: Look | None = None, *, everything: bool = True) -> SyncReport:
        known = index.files()
        # What was seen holds only if nobody else has written since.
        seen = look.plan if look is not None and look.version == index.version() else None
        if (plan := seen) is None:
            sources = self.workspace.scan().sources
            plan = make_plan(sources, known) if everything else make_plan(sources, known, self._due)
        waiting = index.pending()
        index.remove_files(plan.removed)
        todo = (*plan.added, *plan.suspect)
        changes: list[_Change] = []
        for done, source in enumerate(todo, start=1):
            changes.append(self._index_file(index, source, known.get(source.path)))
            self.progress(Progress("read", done, len(todo)))
        corpus, pending, taken = index.corpus(), index.pending(), sum(change.chunks for change in changes)
        return SyncReport(
            files=corpus.files,
            added=sum(change.kind == "added" for change in changes),
            changed=sum(change.kind == "changed" for change in changes),
            removed=len(plan.removed),
            chunks=corpus.chunks,
            cached=max(taken - max(pending - waiting, 0), 0) if index.spec else 0,
            pending=pending,
            reasons=tuple(change.reason for change in changes if change.reason),
        )

    def _index_file(self, index: Index, source: Source, known: IndexedFile | None) -> _Change:
        try:
            if source.kind == "sessions":
                return self._index_transcript(index, source, known)
            loaded = self.workspace.load(source)
        except PathRefused as error:
            if known:
                index.remove_files([source.path])
            return _Change("refused", 0, Reason("unreadable", error.message, error.remedy))
        if known and known.hash == loaded.hash:
            index.touch_file(loaded.source)
            return _Change("same", 0)
        entries = entries_of(loaded.source, loaded.text, self.settings.cutting)
        index.put_file(loaded.source, loaded.hash, entries)
        return _Change("changed" if known else "added", len(entries))

    def _index_transcript(self, index: Index, source: Source, known: IndexedFile | None) -> _Change:
        transcripts = self.workspace.transcripts
        if transcripts is None:
            return _Change("same", 0)
        written, trouble = index_transcript(index, transcripts, source, known, self.settings.cutting)
        if written is None:
            return _Change("same", 0, trouble)
        return _Change("changed" if known else "added", written, trouble)

    def _embed(
        self, provider: Callable[[], EmbeddingProvider], report: SyncReport, deadline: Deadline | None
    ) -> SyncReport:
        """Give vectors to the chunks that have none, storing each batch as it comes."""
        before, total = self.tally.embedded, self.index.pending()
        if total:
            opened = provider()
            opened.expect(total)
            spec = opened.spec
            if spec != self.index.spec:
                self.index.use_vectors(spec)
            for vectors, failures in self._vectors(opened, total, deadline):
                self.tally.embedded += vectors
                self.tally.failed += failures
                self.progress(Progress("embed", total - self.index.pending(), total))
                if deadline and deadline.passed:
                    break
            opened.expect(0)
        news = self.tally.embedded > before or report.added or report.changed or report.removed
        if (spec := self.index.spec) and (news or self.index.get_meta(background_key(spec)) is None):
            learn_background(self.index, spec)
        return replace(report, pending=self.index.pending())

    def _vectors(self, provider: EmbeddingProvider, total: int, deadline: Deadline | None) -> Iterator[tuple[int, int]]:
        """Everything that waits; yields how many vectors and how many failures each step brought."""
        batches = self.batches(provider)
        if batches is None:
            while not (deadline and deadline.passed) and (some := self.index.missing(FETCH)):
                yield from self._at_once(provider, some)
            return
        waiting, under_way = self.index.missing(total), batches.under_way
        plain = {key.hex() for key, _ in waiting} - under_way
        batched = under_way if len(plain) < WORTH_A_BATCH else under_way | plain
        texts = {key.hex(): text for key, text in waiting if key.hex() in batched}
        plain -= texts.keys()
        try:
            for done in batches.run(texts, wait=deadline is None):
                if done.keys:
                    self.index.put_vectors([bytes.fromhex(key) for key in done.keys], done.vectors)
                for key, error in done.failures.items():
                    self.index.put_failure(bytes.fromhex(key), error.message)
                plain.update(done.again)
                yield len(done.keys), len(done.failures)
        except ProviderUnavailable:  # no batch interface at this address, or nobody there: the plain way tells which
            plain |= texts.keys() - batches.under_way
        left = [(key, text) for key, text in waiting if key.hex() in plain]
        for start in range(0, len(left), FETCH):
            if deadline and deadline.passed:
                return
            yield from self._at_once(provider, left[start : start + FETCH])

    def _at_once(self, provider: EmbeddingProvider, missing: Sequence[tuple[bytes, str]]) -> Iterator[tuple[int, int]]:
        """Store batch after batch; yields how many vectors and how many failures each brought."""
        from memoriter.embed import embed_in_batches

        keys = [key for key, _ in missing]
        for done in embed_in_batches(provider, [text for _, text in missing], role="document", budget=BATCH_TOKENS):
            if done.positions:
                self.index.put_vectors([keys[position] for position in done.positions], done.vectors)
            for failure in done.failures:
                self.index.put_failure(keys[failure.position], failure.error.message)
            yield len(done.positions), len(done.failures)


def learn_background(index: Index, spec: ModelSpec) -> Background:
    """Measure what unrelated chunks look like and remember it; the same notes give the same figures."""
    texts, vectors = index.sample(BACKGROUND_SAMPLE)
    background = measure(texts, vectors, spec.background)
    index.set_meta(background_key(spec), background.dumps())
    return background


def background_key(spec: ModelSpec) -> str:
    """Where the background of a set of vectors is remembered."""
    return f"background:{fingerprint(spec)}"


def background_of(index: Index, spec: ModelSpec) -> Background:
    """The measured background of the active vectors, or the model's own before there are any. Raises IndexDamaged."""
    stored = index.get_meta(background_key(spec))
    if stored is None:
        return Background.of_model(spec.background)
    try:
        return Background.loads(stored)
    except (ValueError, KeyError, TypeError) as error:
        raise IndexDamaged(
            f"The index {str(index.path)!r} holds a background that cannot be read: {error}",
            remedy="Run: memoriter index --force",
        ) from error


@dataclass(frozen=True, slots=True)
class _Change:
    """What became of one file."""

    kind: Literal["added", "changed", "same", "refused"]
    chunks: int
    reason: Reason | None = None
