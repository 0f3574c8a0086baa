"""Lines of a growing file, one at a time: none is read that is not wanted, none is held that is too long."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes; nobody said so much at once."""
_BLOCK = 1 << 20
_HEAD, _TAIL = 1_024, 4_096


@dataclass(frozen=True, slots=True)
class RawLine:
    """A line as it stands in the file."""

    number: int
    """From 1."""
    end: int
    """Bytes from the beginning of the file to the end of the line, with its newline."""
    content: bytes | None
    """None: longer than `LONGEST_LINE`."""
    ended: bool = True
    """Whether a newline ends it; the last line may still be growing."""


def lines_from(file: BinaryIO, offset: int, lines_before: int, size: int) -> Iterator[RawLine]:
    """The lines from a place in the file on.

    Args:
        file: opened for reading.
        offset: where a line begins, in bytes.
        lines_before: how many lines are before it.
        size: bytes of the file that count; what is written later is left for later.
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
    """How many lines end between two places."""
    file.seek(start)
    count = 0
    while start < end and (block := file.read(min(_BLOCK, end - start))):
        count += block.count(b"\n")
        start += len(block)
    return count


def mark_of(file: BinaryIO, read: int) -> str:
    """By which the first `read` bytes are known again: a hash of their beginning and of their end."""
    file.seek(0)
    digest = hashlib.sha256(file.read(min(_HEAD, read)))
    file.seek(max(0, read - _TAIL))
    digest.update(file.read(min(_TAIL, read)))
    return digest.hexdigest()[:32]
