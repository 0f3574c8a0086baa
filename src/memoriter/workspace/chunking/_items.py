"""Find the items of a chunk: the list items, paragraphs, table rows and quoted lines that get vectors of their own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoriter.types import ORIGIN, Item
from memoriter.workspace.chunking._blocks import scan_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoriter.types import Chunk
    from memoriter.workspace.chunking._blocks import Block

LEAST_BYTES = 12
"""Shortest text of an item in UTF-8, without its marker: a shorter one means little on its own."""
NOTE_LINK = re.compile(
    r"!?\[\[[^\[\]]{1,400}\]\]"
    r"|!\[[^\s\[\]]{0,400}\]\([^()\s]{0,1000}\)"
    r"|(?<!!)\[[^\[\]]{0,400}\]\((?![a-zA-Z][\w+.-]*:)[^()\s]{0,1000}\)"
)
"""A link to another note, an embedded file, or an image. Of images, only those without a description count."""
_CONTINUATIONS = frozenset({"text", "fence"})


def items_of(chunk: Chunk) -> tuple[Item, ...]:
    """Return the items of a chunk in order; none if it has only one, because the chunk's own vector stands for it.

    An item is a list item with its paragraphs and fences but without its inner items, a paragraph, a fence, a row of a
    table, or a line of a quotation.
    """
    blocks = scan_blocks(chunk.text.split("\n"))
    lines = (ORIGIN.sub("", chunk.text) if "<!-- " in chunk.text else chunk.text).split("\n")
    items = [item for item in _find_items(lines, blocks) if _is_worth_a_vector(item.text(lines))]
    return tuple(items) if len(items) > 1 else ()


def _is_worth_a_vector(text: str) -> bool:
    """Return whether an item says something: an entry of a list of links only names the note that does."""
    return len(text.encode("utf-8", "replace")) >= LEAST_BYTES and any(map(str.isalnum, NOTE_LINK.sub("", text)))


def _find_items(lines: Sequence[str], blocks: Sequence[Block]) -> Iterator[Item]:
    at = 0
    while at < len(blocks):
        block = blocks[at]
        at += 1
        end = block.end
        if block.kind == "quote" or (block.kind == "text" and lines[block.start].lstrip().startswith("|")):
            yield from (Item(line, line) for line in range(block.start, end))
        elif block.kind in {"item", "text", "fence"}:
            while block.kind == "item" and at < len(blocks) and _continues(blocks[at], block):
                end = blocks[at].end
                at += 1
            yield Item(block.start, end - 1)


def _continues(block: Block, item: Block) -> bool:
    """Return whether a block is part of the list item before it."""
    return block.kind in _CONTINUATIONS and block.depth > item.depth
