"""Read the messages of a transcript that grows, from any line on, without keeping lines that are too long."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memoriter.values import dataclass
from memoriter.workspace._confined import path_refused
from memoriter.workspace.transcripts._messages import NOT_A_TRANSCRIPT_LINE, ParsedLine, parse_line, parse_object

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import BinaryIO

    from memoriter.types import Source

LONGEST_LINE = 16 * 1024 * 1024
"""Limit of a line in bytes; no message is longer."""
_BLOCK = 1 << 20
_HEAD = 1_024
_TAIL = 4_096


@dataclass(frozen=True, slots=True)
class RawLine:
    """A line of the file, unparsed."""

    number: int
    """Line number, 1-based."""
    end: int
    """Bytes from the beginning of the file to the end of the line, including its newline."""
    content: bytes | None
    """Bytes of the line, or None if it is longer than `LONGEST_LINE`."""
    ended: bool = True
    """True if a newline ends the line; the last line may still be growing."""


def lines_from(file: BinaryIO, offset: int, lines_before: int, size: int) -> Iterator[RawLine]:
    """Yield the lines of a file from an offset on.

    Args:
        file: a file that is open for reading.
        offset: start of a line, in bytes.
        lines_before: number of lines before the offset.
        size: number of bytes of the file to read; bytes that are written later are ignored.
    """
    file.seek(offset)
    number = lines_before
    while offset < size:
        content = file.readline(min(LONGEST_LINE + 1, size - offset))
        if not content:
            return
        number += 1
        offset += len(content)
        if content.endswith(b"\n"):
            yield RawLine(number, offset, content)
        elif offset >= size:
            yield RawLine(number, offset, content if len(content) <= LONGEST_LINE else None, ended=False)
        else:
            offset, ended = _line_end(file, offset, size)
            yield RawLine(number, offset, None, ended=ended)


def _line_end(file: BinaryIO, offset: int, size: int) -> tuple[int, bool]:
    while offset < size and (block := file.readline(min(_BLOCK, size - offset))):
        offset += len(block)
        if block.endswith(b"\n"):
            return offset, True
    return offset, False


def newlines_between(file: BinaryIO, start: int, end: int) -> int:
    """Count the lines that end between two offsets."""
    file.seek(start)
    count = 0
    while start < end and (block := file.read(min(_BLOCK, end - start))):
        count += block.count(b"\n")
        start += len(block)
    return count


def mark_of(file: BinaryIO, read: int) -> str:
    """Return a hash that identifies the first `read` bytes, from their first 1,024 and last 4,096 bytes."""
    file.seek(0)
    digest = hashlib.sha256(file.read(min(_HEAD, read)))
    file.seek(max(0, read - _TAIL))
    digest.update(file.read(min(_TAIL, read)))
    return digest.hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    """A parsed line of the file."""

    number: int
    """Line number, 1-based."""
    end: int
    """Bytes from the beginning of the file to the end of the line."""
    parsed: ParsedLine
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
