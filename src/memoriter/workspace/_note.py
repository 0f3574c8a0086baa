"""A note as it is indexed: its passages, and what belongs to the whole note: title, other names, tags, day.

Front matter is the YAML between two lines of `---` at the very start of a note. Tags in the text follow Obsidian's
rule: `#` and letters, digits, `_`, `-` or `/`, and not digits alone.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from memoriter.folding import compile_words, fold_name, fold_tag
from memoriter.ids import normalize
from memoriter.values import dataclass
from memoriter.workspace._noise import noisy_lines, split_at_noise, without_noise
from memoriter.workspace.chunking import chunk_markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from memoriter.types import Chunk

LONGEST_FRONT_MATTER = 16_384
"""Most characters of front matter. A longer beginning of a note is text."""
_BLOCK = re.compile(r"---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_DAY = re.compile(r"\W{0,3}(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_EMPTY = frozenset({"", "~", "null", "Null", "NULL"})
_NAMED = ("title", "alias", "aliases", "tag", "tags")
_DAYS = ("date", "created", "updated")
"""The keys of a note's day, the one that counts first."""
_MOST_VALUES = 50
_LONGEST_VALUE = 200
_FIRST_YEAR = 100
_WHOLE = re.compile(r"(?!)")
_COMMAS = re.compile(r",")
_COMMAS_OR_SPACES = re.compile(r"[\s,]+")
_VALUE_SEPARATORS = {"tags": _COMMAS_OR_SPACES, "tag": _COMMAS_OR_SPACES, "aliases": _COMMAS, "alias": _COMMAS}
"""What separates the values of a key that is no list."""
_TAG = r"(?<!\S)#([\w/-]*[^\W\d][\w/-]*)"
_CODE = re.compile(r"(`+)(?!`).{1,1000}?(?<!`)\1(?!`)")
_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
LONGEST_TAG = 200
"""Most characters of a tag."""
MOST_TAGS = 500
"""Most tags of one note."""
_DATED = re.compile(r"\d{4}[-_.]?\d{2}[-_.]?\d{2}(?!\d)[-_. ]*")
"""A day at the beginning of a file name, which is no part of its title."""
_NAMELESS = frozenset({"memory", "readme", "index", "_index", "untitled"})
"""File names that say nothing about their content."""
_FIRST_LEVEL = re.compile(r"#[ \t]|[^\n]*\n {0,3}=+[ \t\r]*(?:\n|\Z)")
_SEPARATORS = re.compile(r"[-_\s]+")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What a note says about itself before its text."""

    lines: int
    """The number of its lines, with both marks."""
    title: str = ""
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    """As written, without `#`."""
    day: date | None = None
    """Of `date`, or else `created`, or else `updated`."""
    properties: tuple[str, ...] = ()
    """The values of all other keys."""


def read_front_matter(text: str) -> FrontMatter | None:
    """Return the front matter of a note, or None if it has none, or if that is no YAML mapping.

    Aliases of YAML (`*name`) are never followed, so that no text becomes longer than it is written.
    """
    if not text.startswith("---"):
        return None
    block = _BLOCK.match(text, 0, LONGEST_FRONT_MATTER)
    values = _properties(block[1]) if block else None
    if block is None or values is None:
        return None
    days = (day for key in _DAYS for value in values.get(key, ()) if (day := _day(value)))
    return FrontMatter(
        lines=block[0].count("\n") + (not block[0].endswith("\n")),
        title=next(iter(values.get("title", ())), ""),
        aliases=tuple(dict.fromkeys((*values.get("aliases", ()), *values.get("alias", ())))),
        tags=tuple(tag.lstrip("#").strip("/") for tag in (*values.get("tags", ()), *values.get("tag", ()))),
        day=next(days, None),
        properties=tuple(
            value for key, some in values.items() if key not in {*_NAMED, *_DAYS} for value in some if not _day(value)
        ),
    )


def _properties(yaml_text: str) -> Mapping[str, list[str]] | None:
    """Return the texts below each key in lower case, or None if the text is no YAML mapping."""
    from yaml import YAMLError

    values: dict[str, list[str]] = {}
    try:
        for key, text, listed in _scalars(yaml_text):
            some = values.setdefault(key.casefold(), [])
            parts = [text] if listed else _VALUE_SEPARATORS.get(key.casefold(), _WHOLE).split(text)
            cleaned = (" ".join(part.split())[:_LONGEST_VALUE] for part in parts)
            some += [part for part in cleaned if part not in _EMPTY][: max(0, _MOST_VALUES - len(some))]
    except (YAMLError, ValueError):
        return None
    return values


def _scalars(yaml_text: str) -> Iterator[tuple[str, str, bool]]:
    """Yield each text in a YAML mapping: the key of the outermost mapping, the text, and whether it is in a list.

    Raises:
        YAMLError: the text is not YAML.
        ValueError: it is no mapping.
    """
    depth = 0
    key = ""
    wants_key = True
    mappings = 0
    for event in _events(yaml_text):
        match type(event).__name__:
            case "MappingStartEvent" | "SequenceStartEvent" as kind:
                mappings += kind == "MappingStartEvent"
                if not mappings:
                    raise ValueError(kind)
                depth += 1
                continue
            case "MappingEndEvent" | "SequenceEndEvent":
                depth -= 1
            case "ScalarEvent" if depth == 1 and wants_key:
                key = event.value
            case "ScalarEvent" if depth:
                yield key, event.value, depth > 1
            case "AliasEvent" | "ScalarEvent":
                pass
            case _:
                continue
        if depth == 1:
            wants_key = not wants_key
    if not mappings and yaml_text.strip():
        raise ValueError(yaml_text)


def _events(yaml_text: str) -> Iterator[Any]:
    """Yield the events of the YAML parser, which builds no object of any kind."""
    import yaml

    parser: Any = yaml
    yield from parser.parse(yaml_text, Loader=getattr(parser, "CSafeLoader", parser.SafeLoader))


def _day(value: str) -> date | None:
    match = _DAY.match(value)
    if match is None or int(match[1]) < _FIRST_YEAR:
        return None
    try:
        return date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return None


def tags_in(lines: Iterable[str]) -> Iterator[str]:
    """Yield the tags in lines of Markdown, without `#`; code has none."""
    fence = ""
    for line in lines:
        match = _FENCE.match(line)
        if fence:
            fence = "" if match and match[1].startswith(fence) and not line.strip().strip(fence[0]) else fence
        elif match:
            fence = match[1]
        elif "#" in line:
            plain = _CODE.sub(" ` ", line) if "`" in line else line
            yield from (
                tag[1].strip("/") for tag in compile_words(_TAG, plain).finditer(plain) if len(tag[1]) <= LONGEST_TAG
            )


def fold_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return tags in the form in which they are compared, each once."""
    folded = map(fold_tag, tags)
    return tuple(dict.fromkeys(tag for tag in folded if tag))[:MOST_TAGS]


@dataclass(frozen=True, slots=True)
class Note:
    """A note that is split into passages."""

    chunks: tuple[Chunk, ...]
    """Without front matter and noise. The title is the outermost heading unless a first-level heading says the same."""
    names: tuple[str, ...] = ()
    """Every name of the note: title, file name, aliases, folders, tags of the front matter."""
    titles: tuple[str, ...] = ()
    """The names by which links lead to the note, as `fold_name` returns them: title, file name, aliases."""
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
    front = read_front_matter(text) or FrontMatter(0)
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
    linked = (title, stem, PurePosixPath(path).stem, *front.aliases)
    return Note(
        chunks=tuple(_titled(chunk, title, folders) for chunk in chunks) if title or folders else chunks,
        titles=tuple(dict.fromkeys(filter(None, map(fold_name, linked)))),
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
