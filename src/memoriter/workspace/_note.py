"""A note as it is indexed: its passages, and what belongs to the whole note: title, other names, tags, day."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from memoriter.ids import normalize
from memoriter.values import dataclass
from memoriter.workspace._front_matter import FrontMatter, read_front_matter
from memoriter.workspace._hashtags import fold_tags, tags_in
from memoriter.workspace._noise import noisy_lines, split_at_noise, without_noise
from memoriter.workspace.chunking import chunk_markdown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from memoriter.types import Chunk

_DATED = re.compile(r"\d{4}[-_.]?\d{2}[-_.]?\d{2}(?!\d)[-_. ]*")
"""A day at the beginning of a file name, which is no part of its title."""
_NAMELESS = frozenset({"memory", "readme", "index", "_index", "untitled"})
"""File names that say nothing about their content."""
_FIRST_LEVEL = re.compile(r"#[ \t]|[^\n]*\n {0,3}=+[ \t\r]*(?:\n|\Z)")
_SEPARATORS = re.compile(r"[-_\s]+")
_NO_FRONT_MATTER = FrontMatter(0)


@dataclass(frozen=True, slots=True)
class Note:
    """A note that is split into passages."""

    chunks: tuple[Chunk, ...]
    """Without front matter and noise. The title is the outermost heading unless a first-level heading says the same."""
    names: tuple[str, ...] = ()
    """Every name of the note: title, file name, aliases, folders, tags of the front matter."""
    properties: tuple[str, ...] = ()
    """The other values of its front matter."""
    tags: tuple[str, ...] = ()
    """Of front matter and text, as `fold_tags` returns them."""
    day: date | None = None
    """The day in the front matter."""


def read_note(path: str, text: str, *, tokens: int = 400, overlap: int = 80) -> Note:
    """Split a note.

    Args:
        path: its path as cited. The file name is the title if neither front matter nor a heading has one.
        text: the note.
        tokens: limit of a chunk, as in `chunk_markdown`.
        overlap: tokens that pieces of a cut block share.
    """
    front = read_front_matter(text) or _NO_FRONT_MATTER
    lines = text.split("\n")
    body = [""] * front.lines + lines[front.lines :]
    noise = noisy_lines(body)
    whole = chunk_markdown("\n".join(without_noise(body, noise)), tokens=tokens, overlap=overlap)
    chunks = tuple(part for chunk in whole for part in split_at_noise(chunk, noise)) if noise else whole
    if front.lines and not chunks:
        # A note that has nothing else is found by its front matter.
        chunks = chunk_markdown(text, tokens=tokens, overlap=overlap)
    stem, folders = _names_in(path)
    title = front.title or (_first_heading(chunks) or stem if stem or folders else "")
    return Note(
        chunks=tuple(_titled(chunk, title, folders) for chunk in chunks) if title or folders else chunks,
        names=tuple(dict.fromkeys(name for name in (title, stem, *front.aliases, *folders, *front.tags) if name)),
        properties=front.properties,
        tags=fold_tags([*front.tags, *tags_in(body)]),
        day=front.day,
    )


def _names_in(path: str) -> tuple[str, tuple[str, ...]]:
    """Return the title that a path has, without a day, and its folders; of a daily log and of MEMORY.md, nothing.

    >>> _names_in("memory/work/2026-02-10-router.md"), _names_in("memory/work/2026-02-10.md"), _names_in("a/README.md")
    (('router', ('work',)), ('', ()), ('', ('a',)))
    """
    name = PurePosixPath(normalize("NFC", path))
    dated = _DATED.match(name.stem)
    stem = name.stem[dated.end() :] if dated else name.stem
    parents = [part for part in name.parent.parts if part not in {"", ".", "..", "/"}]
    folders = tuple(parents[1:] if parents and parents[0] == "memory" else parents)
    if not stem:
        return "", ()
    return ("" if stem.casefold() in _NAMELESS else stem), folders


def _first_heading(chunks: Sequence[Chunk]) -> str:
    """Return the first heading of a note if it is one of the first level."""
    first = next((chunk for chunk in chunks if chunk.heading), None)
    return first.heading[0] if first and _FIRST_LEVEL.match(first.text.lstrip()) else ""


def _titled(chunk: Chunk, title: str, folders: tuple[str, ...]) -> Chunk:
    """Return the chunk below the title of its note, unless its outermost heading says the same."""
    if chunk.heading and _folded(chunk.heading[0]) == _folded(title):
        return chunk
    return replace(chunk, heading=tuple(name for name in (*folders, title, *chunk.heading) if name))


def _folded(title: str) -> str:
    return _SEPARATORS.sub(" ", normalize("NFKC", title).casefold()).strip()
