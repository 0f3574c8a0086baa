"""A transcript that is open: what was said in its lines, from any place on."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoriter.workspace._confined import refused
from memoriter.workspace._jsonl import lines_from, mark_of, newlines_between
from memoriter.workspace._messages import NOT_A_TRANSCRIPT_LINE, ParsedLine, parse_line, parse_object

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import BinaryIO

    from memoriter.types import Source


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    """One line of the file."""

    number: int
    """From 1."""
    end: int
    """Bytes from the beginning of the file to the end of the line."""
    said: ParsedLine
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

        Raises:
            PathRefused: the disk does not give the rest of the file.
        """
        lines = lines_from(self.file, offset, before, self.source.size)
        while True:
            with self._reading():
                line = next(lines, None)
            if line is None:
                return
            if line.number < first:
                continue
            fields = parse_object(line.content) if line.content is not None else None
            if fields is None and not line.ended:
                return
            parsed = NOT_A_TRANSCRIPT_LINE if fields is None else parse_line(fields)
            yield TranscriptLine(line.number, line.end, parsed, too_long=line.content is None)

    def newlines(self, start: int) -> int:
        """How many lines end after a place. Raises PathRefused."""
        with self._reading():
            return newlines_between(self.file, start, self.source.size)

    def mark(self, read: int) -> str:
        """Knows the first `read` bytes again: a hash of their beginning and of their end. Raises PathRefused."""
        with self._reading():
            return mark_of(self.file, read)

    @contextmanager
    def _reading(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise refused(self.source.path, error.strerror or str(error)) from error
