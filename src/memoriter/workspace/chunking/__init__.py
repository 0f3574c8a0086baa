"""Split Markdown into blocks, and cut it into chunks."""

from memoriter.workspace.chunking._blocks import (
    Block,
    closing_line,
    entry_spans,
    plain_title,
    scan_blocks,
    scan_closed_blocks,
    subtree_ends,
)
from memoriter.workspace.chunking._chunk import MERGE_TOKENS, NOTE_LINK, chunk_lines, chunk_markdown, items_of

__all__ = [
    "MERGE_TOKENS",
    "NOTE_LINK",
    "Block",
    "chunk_lines",
    "chunk_markdown",
    "closing_line",
    "entry_spans",
    "items_of",
    "plain_title",
    "scan_blocks",
    "scan_closed_blocks",
    "subtree_ends",
]
