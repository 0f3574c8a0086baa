"""What was read from a memory file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.values import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.types import Source


@dataclass(frozen=True, slots=True)
class Loaded:
    """A source with its content."""

    source: Source
    """The file's path, size and times when the content was read."""
    hash: str
    """`ids.bytes_hash` of the file's bytes."""
    text: str
    """Content decoded as UTF-8 (invalid bytes as U+FFFD), without a byte order mark, with newlines unchanged."""
    decoded: bool = True
    """True if all bytes were valid UTF-8."""
    inode_changed_ns: int = 0
    """Time of the inode's last change, in nanoseconds since 1970."""


@dataclass(frozen=True, slots=True)
class Raw:
    """The bytes of a memory file."""

    path: str
    """Path by which the file is cited."""
    file: Path
    content: bytes
