"""Read the messages of an open transcript, from any line on."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from memoriter.values import dataclass
from memoriter.workspace._confined import path_refused
from memoriter.workspace._jsonl import lines_from, mark_of, newlines_between
from memoriter.workspace._messages import NOT_A_TRANSCRIPT_LINE, ParsedLine, parse_line, parse_object

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import BinaryIO

    from memoriter.types import Source


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    """A parsed line of the file."""

    number: int
    """Line number, 1-based."""
    end: int
    """Bytes from the beginning of the file to the end of the line."""
    said: ParsedLine
    too_long: bool = False
    """True if the line was skipped because of its length."""


@dataclass(frozen=True, slots=True)
class OpenTranscript:
    """A transcript as it was when it was opened, without lines that are written later."""

    file: BinaryIO
    source: Source
    """The source, with the size and time of the open file."""

    def lines(self, offset: int = 0, before: int = 0, *, first: int = 1) -> Iterator[TranscriptLine]:
        """Yield each complete line, but not a last line that is still being written.

        Args:
            offset: start of a line, in bytes.
            before: number of lines before the offset.
            first: number of the first line to yield.

        Raises:
            PathRefused: the rest of the file cannot be read.
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
        """Count the lines that end after an offset; raise PathRefused if the file cannot be read."""
        with self._reading():
            return newlines_between(self.file, start, self.source.size)

    def mark(self, read: int) -> str:
        """Return a hash of the beginning and end of the first `read` bytes that identifies them.

        Raises:
            PathRefused: the file cannot be read.
        """
        with self._reading():
            return mark_of(self.file, read)

    @contextmanager
    def _reading(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise path_refused(self.source.path, error.strerror or str(error)) from error
