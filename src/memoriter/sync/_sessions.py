"""Transcripts: when one is read again, and how reading goes on where it ended."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from memoriter.errors import PathRefused
from memoriter.sync._passages import Segment, Spoken, day_at
from memoriter.types import Diagnostic, Skipped, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from memoriter.index import ChunkRecord, Index, IndexedFile
    from memoriter.sync._analyze import ChunkingSettings
    from memoriter.sync._task import SessionRules
    from memoriter.types import Chunk
    from memoriter.workspace import OpenTranscript, Transcripts, Workspace

DEBOUNCE_SECONDS = 5.0
"""How long a transcript that was written to is left alone."""
QUIET_SECONDS = 12 * DEBOUNCE_SECONDS
"""A transcript that nobody wrote to for so long is indexed, however little is new."""
READ_AT_ONCE = 512
"""Chunks after which what was read is stored, so that a long transcript is never held whole."""


def due(grown: int, age: float, rules: SessionRules, lines: Callable[[], int]) -> bool:
    """Whether a transcript that changed is to be read now.

    Whoever keeps asking is told yes at last: when enough is new, or when nobody has written for a minute.

    Args:
        grown: bytes since it was read; negative: it is shorter now.
        age: seconds since its last change; negative where a clock is wrong.
        rules: how much must be new.
        lines: counts the new lines, if the rest does not decide.
    """
    if grown <= 0 or not 0 <= age < QUIET_SECONDS or grown >= rules.delta_bytes or not rules.delta_messages:
        return True
    return lines() >= rules.delta_messages


@dataclass(frozen=True, slots=True)
class Tail:
    """How far a transcript was read, and from where on it is cut again when more was said."""

    read: int = 0
    """Bytes."""
    mark: str = ""
    """By which those bytes are known again."""
    offset: int = 0
    """Bytes before the segment that is not full yet."""
    line: int = 0
    """Lines before it."""
    keep: int = 0
    """Chunks before it."""
    time: float | None = None
    """The last moment that was told before it, in seconds since 1970."""
    said: int = 0
    """Messages that were read."""
    known: bool = False
    """Whether any line was one of a transcript."""
    too_long: tuple[int, ...] = ()
    """Lines that were left out for their length."""

    def dumps(self) -> str:
        return json.dumps({key: value for key, value in asdict(self).items() if value is not None})

    @classmethod
    def loads(cls, text: str) -> Tail | None:
        """None where nothing usable is written."""
        try:
            found: Any = json.loads(text)
            return cls(**found | {"too_long": tuple(found.get("too_long", ()))})
        except (ValueError, TypeError, AttributeError):
            return None


@dataclass(frozen=True, slots=True)
class SessionSlice:
    """Chunks that take the place of all after the first `keep` ones."""

    source: Source
    """With the size and time of the file, once all of it was read; with others before."""
    keep: int
    entries: list[ChunkRecord]
    tail: Tail
    done: bool


@dataclass(slots=True)
class Reading:
    """One pass through a transcript, from its beginning or from where the last one ended."""

    transcript: OpenTranscript
    cutting: ChunkingSettings
    tail: Tail = field(default_factory=Tail)
    _segment: Segment = field(default_factory=Segment)
    _ready: list[ChunkRecord] = field(default_factory=list["ChunkRecord"])
    _stored: int = 0
    news: int = 0
    """Messages that were not there when it was read before."""

    def parts(self) -> Iterator[SessionSlice]:
        """What is to be stored, in order; nothing but a last part without entries where nothing new was said."""
        began, tail = self.tail, self.tail
        time, self._stored = tail.time, tail.keep
        read, line = tail.offset, tail.line
        self.tail = replace(tail, said=0)
        for each in self.transcript.lines(tail.offset, tail.line):
            time = each.said.time if each.said.time is not None else time
            fresh = each.end > began.read
            self._note(each.said.known, each.number if each.too_long and fresh else None)
            if text := each.said.rendered:
                self._segment.add(Spoken(each.number, text, time))
                self.news += fresh
            read, line = each.end, each.number
            if self._segment.full(self.cutting):
                self._close(read, line, time)
                if len(self._ready) >= READ_AT_ONCE:
                    yield self._part(read, began, done=False)
        self._ready += self._segment.entries(self.cutting, self._undated)
        yield self._part(read, began, done=True)

    @property
    def _undated(self) -> int:
        return day_at(self.transcript.source.mtime_ns / 1e9).toordinal()

    def _note(self, known: bool, too_long: int | None) -> None:
        if known and not self.tail.known:
            self.tail = replace(self.tail, known=True)
        if too_long is not None:
            self.tail = replace(self.tail, too_long=(*self.tail.too_long, too_long))

    def _close(self, offset: int, line: int, time: float | None) -> None:
        """End the segment: what comes next is cut apart from it."""
        self._ready += self._segment.entries(self.cutting, self._undated)
        keep = self._stored + len(self._ready)
        self.tail = replace(self.tail, offset=offset, line=line, keep=keep, time=time)
        self._segment = Segment()

    def _part(self, read: int, began: Tail, *, done: bool) -> SessionSlice:
        fresh = self.transcript.source
        read = max(read, began.read)
        self.tail = replace(self.tail, read=read, mark=self.transcript.mark(read), said=began.said + self.news)
        source = fresh if done else Source(fresh.path, fresh.kind, fresh.file, read, 0)
        part = SessionSlice(source, self._stored, self._ready, self.tail, done)
        self._stored, self._ready = self._stored + len(self._ready), []
        return part


def grown_lines(workspace: Workspace, source: Source, read: int) -> int:
    """How many lines of a transcript are new; none where it cannot be read, as will be told when it is."""
    if workspace.transcripts is None:
        return 0
    try:
        with workspace.transcripts.opened(source) as transcript:
            return transcript.newlines(read)
    except PathRefused:
        return 0


def tail_of(transcript: OpenTranscript, known: IndexedFile | None) -> Tail:
    """Where to go on: at the beginning, if the file is not the one that was read, with something added."""
    tail = Tail.loads(known.tail) if known and known.tail else None
    if known is None or tail is None or transcript.source.size <= tail.read:
        return Tail()
    return tail if transcript.mark(tail.read) == tail.mark else Tail()


def new_chunks(
    transcripts: Transcripts, source: Source, known: IndexedFile | None, cutting: ChunkingSettings
) -> list[Chunk] | None:
    """What indexing would cut out of a transcript; None where nothing new was said, or it cannot be read."""
    try:
        with transcripts.opened(source) as transcript:
            reading = Reading(transcript, cutting, began := tail_of(transcript, known))
            found = [entry.chunk for part in reading.parts() for entry in part.entries]
            return found if reading.news or not began.read else None
    except PathRefused:
        return None


def index_transcript(
    index: Index, transcripts: Transcripts, source: Source, known: IndexedFile | None, cutting: ChunkingSettings
) -> tuple[int | None, Diagnostic | None]:
    """Bring the index up to what a transcript says now.

    Returns how many chunks were written (None: nothing new was said), and what is wrong with it.

    Raises:
        PathRefused: it cannot be read.
    """
    with transcripts.opened(source) as transcript:
        began = tail_of(transcript, known)
        reading, written, stored = Reading(transcript, cutting, began), 0, False
        for part in reading.parts():
            tail = part.tail.dumps()
            if began.read and not reading.news and not stored:
                index.touch_file(part.source, tail=tail)
                return None, _trouble(source.path, part.tail, began)
            index.put_file(part.source, part.tail.mark, part.entries, keep=part.keep, tail=tail)
            written, stored = written + len(part.entries), True
        return written, _trouble(source.path, reading.tail, began)


def _trouble(path: str, tail: Tail, began: Tail) -> Diagnostic | None:
    left_out = _left_out(path, tail) if tail != began else None
    if left_out is None:
        return None
    remedy = "Name it in no memorySearch.sessionPaths, or leave it: memoriter status -v lists what is left out."
    return Diagnostic("transcript_left_out", f"{path!r}: {left_out.message}.", remedy)


def _left_out(path: str, tail: Tail) -> Skipped | None:
    if tail.read and not tail.known:
        return Skipped(path, "not_transcript", "it is no transcript of OpenClaw, Claude Code or Codex")
    if tail.too_long:
        lines = ", ".join(map(str, tail.too_long[:5])) + (", …" if len(tail.too_long) > 5 else "")
        return Skipped(path, "too_large", f"what is over 16 MiB in a single line was left out: line {lines}")
    return None


def skipped_in(files: Mapping[str, IndexedFile]) -> tuple[Skipped, ...]:
    """The transcripts that were read in vain, and those with lines that were not read."""
    tails = ((path, Tail.loads(file.tail)) for path, file in files.items() if file.tail)
    found = (_left_out(path, tail) for path, tail in tails if tail)
    return tuple(skipped for skipped in found if skipped)
