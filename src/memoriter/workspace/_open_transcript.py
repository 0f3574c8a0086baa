"""A transcript that is open: what was said in its lines, from any place on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoriter.workspace._jsonl import lines_from, mark_of, newlines_between
from memoriter.workspace._messages import NOTHING, Said, fields_of, said_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from memoriter.types import Source


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    """One line of the file."""

    number: int
    """From 1."""
    end: int
    """Bytes from the beginning of the file to the end of the line."""
    said: Said
    too_long: bool = False
    """Whether it was left out for its length."""


@dataclass(frozen=True, slots=True)
class OpenTranscript:
    """A transcript as it was when it was opened; what is written later is not seen."""

    file: BinaryIO
    source: Source
    """With the size and time that the open file has."""

    def lines(self, offset: int = 0, before: int = 0, *, first: int = 1) -> Iterator[TranscriptLine]:
        """Each whole line; of a last line that is still being written, nothing.

        Args:
            offset: where a line begins, in bytes.
            before: how many lines are before it.
            first: lines with a smaller number are passed over.
        """
        for line in lines_from(self.file, offset, before, self.source.size):
            if line.number < first:
                continue
            fields = fields_of(line.content) if line.content is not None else None
            if fields is None and not line.ended:
                return
            said = NOTHING if fields is None else said_in(fields)
            yield TranscriptLine(line.number, line.end, said, too_long=line.content is None)

    def newlines(self, start: int) -> int:
        """How many lines end after a place."""
        return newlines_between(self.file, start, self.source.size)

    def mark(self, read: int) -> str:
        """By which the first `read` bytes are known again: a hash of their beginning and of their end."""
        return mark_of(self.file, read)
