"""Lines of a note that mean nothing to a search: encoded data and navigation. They stay in the note."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from memoriter.workspace.chunking import NOTE_LINK, scan_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from memoriter.types import Chunk
    from memoriter.workspace.chunking import Block

LONGEST_WORD = 1_000
"""Most characters without a space, in ASCII. More of them are data; other scripts are written without spaces."""
_DATA = re.compile(
    r"(?:!?\[[^\[\]]{0,400}\]\()?data:[\w.+-]{1,40}/[\w.+-]{1,80}[^\s,]{0,80},[^\s)\"'>]{40,}\)?"
    rf"|[!-~]{{{LONGEST_WORD + 1},}}"
)
"""A `data:` URI with its link, or a run without spaces that is too long for words."""
_LABEL = re.compile(r"(?![^:=]*\bdata:)[^:：=\"'{}<>()\[\]]{0,80}\w\w[^:：=\"'{}<>()\[\]\w]{0,9}[:：=](?!//)")
"""What a line with data says that the data are: `Public key: MIIB…`."""
_FEWEST_LETTERS = 12
_LETTER = re.compile(r"\w")
_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})[ \t]*([\w+.-]*)")
_ENCODED = frozenset({"compressed-json", "base64"})
"""The names of fences whose content is encoded."""
_BASE64 = re.compile(r"(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])(?=\D*\d)[A-Za-z0-9+/_-]{60,}={0,2}")
_BASE64_LINES = 3
"""Least number of lines of base64 that make a fence one of encoded content."""
_LONGEST_NAVIGATION = 4_000
_BETWEEN_LINKS = re.compile(
    r"(?:[\s|/\\>·•,:;»«‹›→←↑↓⬅➡-]|\b(?:up|home|top|back|next|prev|previous|parent)\b)*", re.IGNORECASE
)
_NO_NAVIGATION = re.compile(r"[ \t]*(?:\||(?:[-*+•]|\d{1,9}[.)])[ \t])")
"""A row of a table, or a list item: what such a line links may be its whole content."""
_ANCHOR = re.compile(r"[ \t]*(?:[-*+•]|\d{1,9}[.)])[ \t]+\[[^\[\]]{0,400}\]\(#[^()\s]{0,400}\)[ \t\r]*")
"""A list item that links into the same note, as in a table of contents."""


def noisy_lines(lines: Sequence[str]) -> dict[int, tuple[str, ...]]:
    """Return the lines with noise, by their number from 0: for each its label and its parts that are text.

    Noise is a fence with encoded content, a `data:` URI, a run of over 1,000 ASCII characters without a space, a line
    of nothing but links to other notes, and a list item that links into the same note.
    """
    noise: dict[int, tuple[str, ...]] = {}
    fenced = set[int]()
    for block in _fences(lines):
        match = _FENCE.match(lines[block.start])
        if match is None:  # raw HTML
            continue
        closed = not lines[block.end - 1].strip().strip(match[1][0])
        inside = range(block.start + 1, block.end - 1 if closed else block.end)
        fenced.update(inside)
        if match[2].casefold() in _ENCODED or _is_base64([lines[at] for at in inside]):
            noise |= dict.fromkeys(range(block.start, block.end), ())
    for at, line in enumerate(lines):
        parts = None if at in noise else _text_parts(line, fenced=at in fenced)
        if parts is not None:
            noise[at] = parts
    return noise


def _fences(lines: Sequence[str]) -> Iterator[Block]:
    if any("```" in line or "~~~" in line for line in lines):
        yield from (block for block in scan_blocks(lines) if block.kind == "fence")


def _text_parts(line: str, *, fenced: bool) -> tuple[str, ...] | None:
    """Return the text of a line with noise in it; None if the line has no noise."""
    if (len(line) > LONGEST_WORD or "data:" in line) and _DATA.search(line):
        parts = (part.strip() for part in _DATA.split(line))
        kept = tuple(part for part in parts if len(_LETTER.findall(part)) >= _FEWEST_LETTERS)
        label = _LABEL.match(line)
        return kept if label is None or (kept and kept[0].startswith(label[0].strip())) else (label[0].strip(), *kept)
    linked = not fenced and ("]]" in line or "](" in line)
    return () if linked and _is_navigation(line) else None


def _is_navigation(line: str) -> bool:
    if len(line) > _LONGEST_NAVIGATION:
        return False
    if _NO_NAVIGATION.match(line):
        return _ANCHOR.fullmatch(line) is not None
    rest, links = NOTE_LINK.subn(" ", line)
    return links > 0 and _BETWEEN_LINKS.fullmatch(rest) is not None


def _is_base64(lines: Sequence[str]) -> bool:
    full = [line.strip() for line in lines if line.strip()][:-1]
    return len(full) >= _BASE64_LINES - 1 and all(_BASE64.fullmatch(line) for line in full)


def without_noise(lines: Sequence[str], noise: Mapping[int, Sequence[str]]) -> list[str]:
    """Return as many lines, in which the longest part that is text stands for a line with noise."""
    return [max(noise[at], key=len, default="") if at in noise else line for at, line in enumerate(lines)]


def split_at_noise(chunk: Chunk, noise: Mapping[int, Sequence[str]]) -> Iterator[Chunk]:
    """Yield the parts of a chunk of `without_noise` that are lines of the note, or a part of one line."""
    numbers = range(chunk.start_line - 1, chunk.end_line)
    if not any(at in noise for at in numbers):
        yield chunk
        return
    if len(numbers) == 1 and chunk.text not in noise[numbers[0]]:
        yield chunk  # a slice of a long part
        return
    rows = list(zip(numbers, chunk.text.split("\n"), strict=False))
    for is_noise, group in groupby(rows, key=lambda row: row[0] in noise):
        part = list(group)
        if is_noise:
            for at, _ in part:
                yield from (replace(chunk, start_line=at + 1, end_line=at + 1, text=text) for text in noise[at])
            continue
        filled = [at for at, (_, row) in enumerate(part) if row.strip()]
        if filled:
            kept = part[filled[0] : filled[-1] + 1]
            text = "\n".join(row for _, row in kept)
            yield replace(chunk, start_line=kept[0][0] + 1, end_line=kept[-1][0] + 1, text=text)
