"""From messages to index entries. Pure. A conversation is split into segments, so that reading can resume."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memoriter.sync._analyze import chunks_of, entry_of
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from memoriter.index import ChunkRecord
    from memoriter.sync._analyze import ChunkingSettings
    from memoriter.types import Chunk

SEGMENT = {"analysed": 8_192, "classic": 262_144}
"""Characters after which a segment ends, by `ChunkingSettings.words`. "classic" imitates OpenClaw, which has none."""


@dataclass(frozen=True, slots=True)
class Spoken:
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

    messages: list[Spoken] = field(default_factory=list[Spoken])
    size: int = 0

    def add(self, message: Spoken) -> None:
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

    Args:
        chunk: the chunk.
        lines: the line in the file of each line of the text. A line beyond them keeps its number.
    """

    def line(number: int) -> int:
        return lines[number - 1] if 0 < number <= len(lines) else number

    return replace(chunk, start_line=line(chunk.start_line), end_line=line(chunk.end_line))


def day_at(time: float) -> date:
    """Return the day (UTC) of a time in seconds since 1970."""
    return datetime.fromtimestamp(time, tz=UTC).date()
