"""Front matter: the YAML between two lines of `---` at the very start of a note, and what it says about the note."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Any

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LONGEST = 16_384
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
_SEPARATORS = {"tags": _COMMAS_OR_SPACES, "tag": _COMMAS_OR_SPACES, "aliases": _COMMAS, "alias": _COMMAS}
"""What separates the values of a key that is no list."""


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
    block = _BLOCK.match(text, 0, LONGEST)
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
            parts = [text] if listed else _SEPARATORS.get(key.casefold(), _WHOLE).split(text)
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
    depth, key, wants_key, mappings = 0, "", True, 0
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
