"""The chunker of `scoring: "classic"`: pack lines up to a limit, repeat whole lines, and ignore Markdown structure."""

from __future__ import annotations

from itertools import pairwise

from memoriter.types import Chunk

_SMALLEST = 32
_PER_TOKEN = 4


def chunk_lines(text: str, *, tokens: float = 400, overlap: float = 80) -> tuple[Chunk, ...]:
    """Cut a text into chunks exactly as OpenClaw 2026.2.26 does.

    A line above the limit is cut at the limit, even inside a surrogate pair. Repeated lines can double a chunk's
    length. The result includes blank chunks, as in OpenClaw; the caller skips them.

    Args:
        text: the note.
        tokens: limit of a chunk, counted as four UTF-16 units per token; at least 32 units.
        overlap: tokens of whole lines that a chunk repeats from the one before.
    """
    limit = max(_SMALLEST, tokens * _PER_TOKEN)
    carry = max(0, overlap * _PER_TOKEN)
    chunks: list[Chunk] = []
    pending: list[_Piece] = []
    pending_size = 0
    for number, line in enumerate(text.split("\n"), 1):
        for piece, size in _cut_line(line, limit):
            if pending and pending_size + size > limit:
                chunks.append(_make_chunk(pending))
                pending = _overlap_tail(pending, carry)
                pending_size = sum(size for _, _, size in pending)
            pending.append((number, piece, size))
            pending_size += size
    chunks.append(_make_chunk(pending))
    return tuple(chunks)


_Piece = tuple[int, str, int]
"""Line number, text, and length in UTF-16 units plus one for the newline."""


def _make_chunk(pieces: list[_Piece]) -> Chunk:
    return Chunk(pieces[0][0], pieces[-1][0], "\n".join(text for _, text, _ in pieces))


def _overlap_tail(pieces: list[_Piece], size: float) -> list[_Piece]:
    """Return the shortest run of last pieces whose length is at least `size`."""
    if size <= 0:
        return []
    total, first = 0, len(pieces)
    while first and total < size:
        first -= 1
        total += pieces[first][2]
    return pieces[first:]


def _cut_line(line: str, limit: float) -> list[tuple[str, int]]:
    """Cut the line at the limit, and return each piece with its length plus one."""
    if len(line) * 2 <= limit or (len(line) <= limit and (line.isascii() or max(line) <= "\uffff")):
        return [(line, _length(line) + 1)]
    units = line.encode("utf-16-le", "surrogatepass")
    length = len(units) // 2
    starts = [0.0]
    while starts[-1] + limit < length:
        starts.append(starts[-1] + limit)
    cuts = [*(int(start) for start in starts), length]
    return [
        (units[first * 2 : last * 2].decode("utf-16-le", "surrogatepass"), last - first + 1)
        for first, last in pairwise(cuts)
    ]


def _length(line: str) -> int:
    return len(line) if line.isascii() else len(line.encode("utf-16-le", "surrogatepass")) // 2
