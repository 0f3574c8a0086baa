"""Declaration of settings: each is a field of a frozen dataclass, annotated with a description and a range.

The annotations are evaluated only if a file is read or settings are shown, because a search needs the values alone.

Extensions declare sections by entry points of the group `memoriter.settings`, whose name is the dotted key of the
section, such as `memory.qmd`. An extension is imported only if a file has its key, or if all settings are listed.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, fields
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast, get_args, get_origin, get_type_hints

from memoriter.entry_points import SETTINGS, entry_points
from memoriter.values import dataclass

if TYPE_CHECKING:
    from memoriter.entry_points import EntryPoint


Key = tuple[str | int, ...]
"""The path of a value in a file: names as written there, and positions in lists."""
SEARCH = ("agents", "defaults", "memorySearch")
"""The key of the search settings of all agents."""

OTHER_NAMES = {"lambda_": "lambda"}


def file_name(name: str) -> str:
    """Return the camelCase key in a file for a field."""
    head, *rest = name.split("_")
    return OTHER_NAMES.get(name) or head + "".join(part.capitalize() for part in rest)


def dotted(key: Key) -> str:
    return ".".join(str(part) for part in key)


class Section:
    """A group of settings.

    `ignored_keys` names keys of OpenClaw that have no effect on memoriter; `*` stands for any key.
    """

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, Any]] = {
        "extra": "forbid",
        "strict": True,
        "allow_inf_nan": False,
        "alias_generator": file_name,
    }
    ignored_keys: ClassVar[frozenset[str]] = frozenset()


class ExtensionSection(Section):
    """The settings of an extension, which an entry point of the group `memoriter.settings` names by their key.

    The properties are what they mean for memoriter itself.
    """

    __slots__ = ()
    without_effect: ClassVar[dict[str, str]] = {}
    """Settings or sections below this one that have no effect, by dotted key, each with the reason."""

    @property
    def character_limit(self) -> float | None:
        """The most characters of all passages that an agent gets at once; None: memoriter's own limit."""
        return None

    @property
    def principal(self) -> str:
        """Whose memories these are, where several machines share them; empty: those of the folder alone."""
        return ""

    @property
    def instructions(self) -> str:
        """What an agent is told about the tools of the extension, while `plugins.slots.memory` names it."""
        return ""


ANY = frozenset({"*"})


@dataclass(frozen=True, slots=True)
class TruncatedInt:
    """A marker for a whole number that may be written with a fraction; the value is rounded down."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(round_down, handler(source))


Whole = Annotated[int, TruncatedInt()]


def round_down(value: object) -> object:
    return math.floor(value) if isinstance(value, float) and math.isfinite(value) else value


@dataclass(frozen=True, slots=True)
class Doc:
    """The documentation, range and display of a setting."""

    text: str
    low: float | None = None
    high: float | None = None
    limits: str = ""
    """Text about how a value out of range is corrected, if it is."""
    secret: bool = False
    """Whether the value is never shown."""
    address: bool = False
    """Whether the value is a URL, shown without user, password, query and fragment."""
    entry_points: str = ""
    """The group of entry points whose names are allowed, besides the default."""


def doc_of(item: Field[Any]) -> Doc:
    notes = cast("tuple[object, ...]", cast("Any", item.type).__metadata__)
    return next(note for note in notes if isinstance(note, Doc))


def bare_type(annotation: Any) -> Any:
    """Return a type without its annotations."""
    return annotation.__origin__ if hasattr(annotation, "__metadata__") else annotation


@cache
def fields_by_key(section: type[Section]) -> dict[str, Field[Any]]:
    """Return the fields of a section by their keys in a file, with their types evaluated."""
    types = get_type_hints(section, include_extras=True)
    declared = {file_name(item.name): item for item in fields(cast("Any", section))}
    for item in declared.values():
        item.type = types[item.name]
    return declared


def inner_section(annotation: Any) -> type[Section] | None:
    """Return the section in a type (alone, optional, in a list or in a table), or None if there is none."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    sections = map(inner_section, get_args(annotation))
    return next((section for section in sections if section is not None), None)


def is_list(annotation: Any) -> bool:
    return get_origin(bare_type(annotation)) is tuple


def is_table(annotation: Any) -> bool:
    return get_origin(bare_type(annotation)) is Mapping


@cache
def _fields_to_descend(section: type[Section]) -> tuple[tuple[str, Field[Any], bool], ...]:
    """Return the fields of a section with their keys, and whether sections are in their lists or tables."""
    return tuple((name, item, inner_section(item.type) is not None) for name, item in fields_by_key(section).items())


def leaves(
    section: Section, at: Key = (), *, extensions: Mapping[Key, Section] | None = None
) -> Iterator[tuple[Key, Field[Any], Any]]:
    """Yield the key, the declaration and the value of every single setting below a section."""
    for name, item, has_sections in _fields_to_descend(type(section)):
        value: Any = getattr(section, item.name)
        key = (*at, name)
        if isinstance(value, Section):
            yield from leaves(value, key, extensions=extensions)
        elif has_sections and isinstance(value, Mapping):
            for entry, below in cast("Mapping[str, Section]", value).items():
                yield from leaves(below, (*key, entry), extensions=extensions)
        elif has_sections and isinstance(value, tuple) and value:
            for index, below in enumerate(cast("tuple[Section, ...]", value)):
                yield from leaves(below, (*key, index), extensions=extensions)
        else:
            yield key, item, value
    for key, below in (extensions or {}).items():
        if key[:-1] == at:
            yield from leaves(below, key)


def positive_or_default(value: float | None, default: int) -> int:
    """Return the value rounded down; an unset value, zero or less means the default."""
    return math.floor(value) if value is not None and value > 0 else default


log = logging.getLogger(__name__)


def declared_key(key: Key) -> Key:
    """Return the key under which a setting is declared: search settings of one agent are those of all agents."""
    is_of_agent = key[:2] == ("agents", "list") and key[3:4] == ("memorySearch",)
    return ("agents", "defaults", *key[3:]) if is_of_agent else key


@cache
def _points() -> dict[Key, EntryPoint]:
    return {tuple(point.name.split(".")): point for point in entry_points(SETTINGS)}


def names_below(at: Key) -> list[str]:
    """Return the names of the sections of extensions directly below a key."""
    return [str(key[-1]) for key in _points() if key[:-1] == declared_key(at)]


@cache
def section_of_extension(key: Key) -> type[ExtensionSection] | None:
    """Return the section of an extension at a key, or None if there is none or it cannot be loaded."""
    point = _points().get(declared_key(key))
    if point is None:
        return None
    try:
        section = point.load()
        if isinstance(section, type) and issubclass(section, ExtensionSection):
            return section
        raise TypeError(f"{point.place} is not an ExtensionSection")  # noqa: TRY301
    except Exception as error:  # noqa: BLE001 - third-party code
        log.warning("The settings %s of an extension are left out: %r", point.name, error)
        return None


def all_sections() -> dict[Key, ExtensionSection]:
    """Return the sections of all extensions with their defaults, by key."""
    sections = {key: section_of_extension(key) for key in _points()}
    return {key: section() for key, section in sections.items() if section is not None}
