"""Read a growing file line by line, without reading ahead and without keeping lines that are too long."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

LONGEST_LINE = 16 * 1024 * 1024
"""Limit of a line in bytes; no message is longer."""
_BLOCK = 1 << 20
_HEAD, _TAIL = 1_024, 4_096


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
        number, offset = number + 1, offset + len(content)
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
