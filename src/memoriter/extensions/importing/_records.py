"""What a format reads from an export: pages, which become notes, and entries, which are gathered in notes of a day."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memoriter.ids import content_hash
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.extensions.importing._files import Files

_MILLISECONDS = 100_000_000_000
"""Numbers from here on are milliseconds since 1970 and not seconds: as seconds, they would be in the year 5138."""


@dataclass(frozen=True, slots=True)
class Page:
    """A text that becomes a note of its own, such as a conversation."""

    id: str
    """What names it in the program it comes from."""
    title: str
    text: str
    """Markdown."""
    at: datetime | None = None
    """When it was written, with a time zone."""
    path: str = ""
    """Where it belongs: a path with `/`, without a suffix. Empty: in the folder of its month."""
    front: str = ""
    """The lines of its own front matter, without the marks around them."""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """A short text, such as one statement; the entries of a day become one note."""

    id: str
    text: str
    at: datetime | None = None
    group: str = ""
    """A folder for entries that belong together, such as a project."""


@dataclass(frozen=True, slots=True)
class Original:
    """A note of memoriter with all of its bytes."""

    path: str
    """Below the folder of notes, with `/`."""
    content: bytes
    changed_ns: int
    """Time of its last change, in nanoseconds since 1970."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is not imported."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class NotesLayout:
    """All Markdown files of the folder that was exported are memory."""


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """A `.memoryignore` of the folder that was exported."""

    path: str
    """Below the folder of notes, with `/`."""
    content: bytes


Record = Page | Entry | Original | LeftOut | NotesLayout | IgnoreFile


class Format(ABC):
    """The export of one program."""

    name: str
    """As on the command line."""
    read_as: str
    """The version or the date of the form that it reads."""
    owned = False
    """Whether the export can be the owner's own text, so that `own` is allowed."""
    in_place = False
    """Whether an export is a folder that stays where it is, so that a folder elsewhere is another one."""
    local_ids = False
    """Whether ids are only unique within one file or folder, such as numbers and paths."""
    inner = ""
    """A regular expression for the archives inside an export whose files belong to it; others are files like any."""

    @abstractmethod
    def read(self, files: Files) -> Iterator[Record]:
        """Yield the records of an export, one at a time. Raises UsageError: it is not such an export, or broken."""

    def read_own(self, files: Files) -> Iterator[Record]:
        """Yield the records of an export that the owner wrote. Raises UsageError."""
        return self.read(files)


def moment(value: object) -> datetime | None:
    """Return a time of an export, or None if the value is no time after 1970.

    Args:
        value: seconds or milliseconds since 1970, or ISO 8601 text; without a time zone, it is UTC.

    >>> moment(1_735_689_600), moment("2025-01-01T00:00:00Z") == moment(1_735_689_600_000.0), moment("soon")
    (datetime.datetime(2025, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), True, None)
    """
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value.strip())
            found = found if found.tzinfo else found.replace(tzinfo=UTC)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found = datetime.fromtimestamp(value / 1000 if value >= _MILLISECONDS else value, UTC)
        else:
            return None
        return found if found.astimezone(UTC).year >= 1970 else None
    except (ValueError, OverflowError, OSError):
        return None


def text_of(value: object) -> str:
    """Return a value of an export if it is text, and an empty text otherwise."""
    return value if isinstance(value, str) else ""


def id_of(value: object, *parts: object) -> str:
    """Return the id that an export gives, or one that is made of other values of the record."""
    if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
        return str(value).strip()[:200]
    return content_hash("\n".join(map(str, parts)))[:32]
