"""Transcripts: when one is indexed again, how reading resumes, and its index entries.

A conversation is split into segments, which are chunked separately, so that reading can resume at the last one.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from memoriter.errors import PathRefused, sentence
from memoriter.sync._analyze import chunks_of, entry_of
from memoriter.types import Diagnostic, Skipped, Source
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import date

    from memoriter.records import ChunkRecord, IndexedFile
    from memoriter.store import Store
    from memoriter.sync._analyze import ChunkingSettings
    from memoriter.sync._changes import SessionRules
    from memoriter.types import Chunk
    from memoriter.workspace import OpenTranscript, Transcripts, Workspace

SEGMENT = {"analysed": 8_192, "classic": 262_144}
"""Characters after which a segment ends, by `ChunkingSettings.words`. "classic" imitates OpenClaw, which has none."""


@dataclass(frozen=True, slots=True)
class SpokenMessage:
    """A message in the form that is indexed."""

    line: int
    """The line in the transcript, from 1."""
    text: str
    """The text, without line breaks."""
    time: float | None
    """Seconds since 1970; None if unknown."""


@dataclass(slots=True)
class Segment:
    """Consecutive messages that are chunked together, and separately from all others."""

    messages: list[SpokenMessage] = field(default_factory=list[SpokenMessage])
    size: int = 0

    def add(self, message: SpokenMessage) -> None:
        self.messages.append(message)
        self.size += len(message.text) + 1

    def full(self, cutting: ChunkingSettings) -> bool:
        return self.size >= SEGMENT[cutting.words]

    def entries(self, cutting: ChunkingSettings, undated: int) -> list[ChunkRecord]:
        """Return the index entries. `undated` is the day of messages without a time, as `date.toordinal()`."""
        if not self.messages:
            return []
        chunks = chunks_of("\n".join(message.text for message in self.messages), cutting)
        return [self._entry(chunk, cutting, undated) for chunk in chunks]

    def _entry(self, chunk: Chunk, cutting: ChunkingSettings, undated: int) -> ChunkRecord:
        messages = self.messages[chunk.start_line - 1 : chunk.end_line]
        day = next((day_at(message.time) for message in reversed(messages) if message.time is not None), None)
        placed = at_lines(chunk, [message.line for message in self.messages])
        return entry_of(placed, day.toordinal() if day else undated, cutting, named=day)


def at_lines(chunk: Chunk, lines: Sequence[int]) -> Chunk:
    """Return the chunk with the line numbers of the file that its lines come from.

    `lines` has the line in the file of each line of the text. A line beyond them keeps its number.
    """

    def line(number: int) -> int:
        return lines[number - 1] if 0 < number <= len(lines) else number

    return replace(chunk, start_line=line(chunk.start_line), end_line=line(chunk.end_line))


def day_at(time: float) -> date:
    """Return the day (UTC) of a time in seconds since 1970."""
    return datetime.fromtimestamp(time, tz=UTC).date()


DEBOUNCE_SECONDS = 5.0
"""The debounce interval of a transcript."""
QUIET_SECONDS = 12 * DEBOUNCE_SECONDS
"""A transcript that was unchanged for this time is indexed, however little is new."""
READ_AT_ONCE = 512
"""The number of chunks after which a part is stored, so that a long transcript is never all in memory."""


def due(grown: int, age: float, rules: SessionRules, lines: Callable[[], int]) -> bool:
    """Return whether a changed transcript is to be indexed now.

    Every change is indexed eventually: when enough is new, or after a minute without a write.

    Args:
        grown: bytes since it was read; negative if it is shorter now.
        age: seconds since its last change; negative if a clock is wrong.
        rules: how much must be new.
        lines: counts the new lines; called only if the other values do not decide.
    """
    if grown <= 0 or not 0 <= age < QUIET_SECONDS or grown >= rules.delta_bytes or not rules.delta_messages:
        return True
    return lines() >= rules.delta_messages


@dataclass(frozen=True, slots=True)
class Tail:
    """How far a transcript was read, and where chunking resumes when it has grown."""

    read: int = 0
    """Bytes."""
    mark: str = ""
    """A checksum of their beginning and end, which identifies them."""
    offset: int = 0
    """Bytes before the segment that is not full yet."""
    line: int = 0
    """Lines before that segment."""
    keep: int = 0
    """Chunks before that segment."""
    time: float | None = None
    """The last time stamp before that segment, in seconds since 1970."""
    messages: int = 0
    """The number of messages that were read."""
    known: bool = False
    """Whether any line was a line of a transcript."""
    too_long: tuple[int, ...] = ()
    """Lines that were skipped because of their length."""

    def dumps(self) -> str:
        return json.dumps({key: value for key, value in asdict(self).items() if value is not None})

    @classmethod
    def loads(cls, text: str) -> Tail | None:
        """Return the stored tail; None if the text is not one."""
        try:
            fields: Any = json.loads(text)
            return cls(**fields | {"too_long": tuple(fields.get("too_long", ()))})
        except (ValueError, TypeError, AttributeError):
            return None


@dataclass(frozen=True, slots=True)
class SessionSlice:
    """Chunks that replace all chunks after the first `keep`."""

    source: Source
    """With the size and time of the file once all of it was read; before that with other values."""
    keep: int
    entries: list[ChunkRecord]
    tail: Tail


@dataclass(slots=True)
class Reading:
    """One pass through a transcript, from its beginning or from the end of the last pass."""

    transcript: OpenTranscript
    cutting: ChunkingSettings
    tail: Tail = field(default_factory=Tail)
    _segment: Segment = field(default_factory=Segment)
    _ready: list[ChunkRecord] = field(default_factory=list["ChunkRecord"])
    _stored: int = 0
    news: int = 0
    """The number of messages that were not there in the last pass."""

    def parts(self) -> Iterator[SessionSlice]:
        """Yield the parts to store, in order.

        If there is no new message, yield nothing but a last part without entries.
        """
        start = self.tail
        tail = self.tail
        time = tail.time
        self._stored = tail.keep
        read = tail.offset
        line = tail.line
        self.tail = replace(tail, messages=0)
        for row in self.transcript.lines(tail.offset, tail.line):
            time = row.parsed.time if row.parsed.time is not None else time
            is_new = row.end > start.read
            self._note(row.parsed.known, row.number if row.too_long and is_new else None)
            if text := row.parsed.rendered:
                self._segment.add(SpokenMessage(row.number, text, time))
                self.news += is_new
            read = row.end
            line = row.number
            if self._segment.full(self.cutting):
                self._close_segment(read, line, time)
                if len(self._ready) >= READ_AT_ONCE:
                    yield self._part(read, start, done=False)
        self._ready += self._segment.entries(self.cutting, self._undated)
        yield self._part(read, start, done=True)

    @property
    def _undated(self) -> int:
        return day_at(self.transcript.source.mtime_ns / 1e9).toordinal()

    def _note(self, known: bool, too_long: int | None) -> None:
        if known and not self.tail.known:
            self.tail = replace(self.tail, known=True)
        if too_long is not None:
            self.tail = replace(self.tail, too_long=(*self.tail.too_long, too_long))

    def _close_segment(self, offset: int, line: int, time: float | None) -> None:
        """End the segment. Later messages are chunked separately."""
        self._ready += self._segment.entries(self.cutting, self._undated)
        keep = self._stored + len(self._ready)
        self.tail = replace(self.tail, offset=offset, line=line, keep=keep, time=time)
        self._segment = Segment()

    def _part(self, read: int, start: Tail, *, done: bool) -> SessionSlice:
        source_now = self.transcript.source
        read = max(read, start.read)
        self.tail = replace(self.tail, read=read, mark=self.transcript.mark(read), messages=start.messages + self.news)
        source = source_now if done else Source(source_now.path, source_now.kind, source_now.file, read, 0)
        part = SessionSlice(source, self._stored, self._ready, self.tail)
        self._stored += len(self._ready)
        self._ready = []
        return part


def grown_lines(workspace: Workspace, source: Source, read: int) -> int:
    """Return the number of new lines of a transcript; 0 if it cannot be read, which is reported when it is read."""
    if workspace.transcripts is None:
        return 0
    try:
        with workspace.transcripts.opened(source) as transcript:
            return transcript.newlines(read)
    except PathRefused:
        return 0


def tail_of(transcript: OpenTranscript, indexed: IndexedFile | None) -> Tail:
    """Return where to resume; the beginning, unless the file is the one that was read with text appended."""
    tail = Tail.loads(indexed.tail) if indexed and indexed.tail else None
    if indexed is None or tail is None or transcript.source.size <= tail.read:
        return Tail()
    return tail if transcript.mark(tail.read) == tail.mark else Tail()


def new_chunks(
    transcripts: Transcripts, source: Source, indexed: IndexedFile | None, cutting: ChunkingSettings
) -> list[Chunk] | None:
    """Return the chunks that indexing would create; None if there is no new message or it cannot be read."""
    try:
        with transcripts.opened(source) as transcript:
            start = tail_of(transcript, indexed)
            reading = Reading(transcript, cutting, start)
            chunks = [entry.chunk for part in reading.parts() for entry in part.entries]
            return chunks if reading.news or not start.read else None
    except PathRefused:
        return None


def index_transcript(
    index: Store,
    transcripts: Transcripts,
    source: Source,
    indexed: IndexedFile | None,
    cutting: ChunkingSettings,
) -> tuple[int | None, Diagnostic | None]:
    """Index the new messages of a transcript.

    Returns:
        The number of chunks written (None if there is no new message), and a diagnostic if lines were skipped.

    Raises:
        PathRefused: it cannot be read.
    """
    with transcripts.opened(source) as transcript:
        start = tail_of(transcript, indexed)
        reading = Reading(transcript, cutting, start)
        written = 0
        stored = False
        for part in reading.parts():
            tail = part.tail.dumps()
            if start.read and not reading.news and not stored:
                index.touch_file(part.source, tail=tail)
                return None, _diagnostic(source.path, part.tail, start)
            index.put_file(part.source, part.tail.mark, part.entries, keep=part.keep, tail=tail)
            written += len(part.entries)
            stored = True
        return written, _diagnostic(source.path, reading.tail, start)


def _diagnostic(path: str, tail: Tail, start: Tail) -> Diagnostic | None:
    skipped = _skip(path, tail) if tail != start else None
    if skipped is None:
        return None
    remedy = "Remove it from memorySearch.sessionPaths, or ignore this; `memoriter status -v` lists what is left out."
    return Diagnostic(
        "transcript_left_out", f"The transcript {path!r} is left out: {sentence(skipped.message)}", remedy
    )


def _skip(path: str, tail: Tail) -> Skipped | None:
    if tail.read and not tail.known:
        return Skipped(path, "not_transcript", "it is no transcript of OpenClaw, Claude Code or Codex")
    if tail.too_long:
        lines = ", ".join(map(str, tail.too_long[:5])) + (", …" if len(tail.too_long) > 5 else "")
        return Skipped(path, "too_large", f"what is over 16 MiB in a single line was left out: line {lines}")
    return None


def skipped_in(files: Mapping[str, IndexedFile]) -> tuple[Skipped, ...]:
    """Return the transcripts in which nothing was readable, and those with skipped lines."""
    tails = ((path, Tail.loads(file.tail)) for path, file in files.items() if file.tail)
    skips = (_skip(path, tail) for path, tail in tails if tail)
    return tuple(skipped for skipped in skips if skipped)
