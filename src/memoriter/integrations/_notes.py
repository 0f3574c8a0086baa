"""Notes of adapters, which people read and edit, too: JSON values as Markdown, and whole conversations.

A note has values of its own, and a list of fields:

    ---
    key: "ab12"
    ---

    <!-- from: agent (LangGraph), 2026-02-10 -->

    - text: The user prefers tea.
    - tags: ["drinks","habits"]
    - reason: |
      Coffee keeps them awake.

      They said so twice.

A field is text as it stands, a text of several lines after `|`, or JSON where the text would not come back the same.
The line `from` names the author, so that nothing below it is taken for the words of the owner. A conversation has a
heading for each message, and below it the fields of its JSON value.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast
from unicodedata import normalize
from urllib.parse import quote

from memoriter.errors import PathRefused, UsageError, WriteConflict
from memoriter.ids import bytes_hash
from memoriter.values import dataclass, field
from memoriter.workspace import marked

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

    from memoriter.memory import Memory
    from memoriter.types import Diagnostic, Source

T = TypeVar("T")
log = logging.getLogger(__name__)
ATTEMPTS = 8
"""How often a note is edited again after somebody else has changed it meanwhile."""
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
SETTLED_SECONDS = 2.5
"""A file that was changed less long ago is always read again. File systems store times in steps, of two seconds on FAT,
and a second change within one step leaves size, times and inode as they are."""
_NAME_BYTES = 80
_FIELD = re.compile(r'- (?P<name>"(?:[^"\\]|\\.)*"|[\w][\w -]*): (?P<value>.*)', re.DOTALL)
_PLAIN_NAME = re.compile(r"\w(?:[\w -]*\w)?", re.ASCII)
_MARK = re.compile(r"\A<!-- from: [^\n]* -->\n")
_PROPERTY = re.compile(r"(?P<name>[a-z_]+): (?P<value>.*)")
_HEADING = "## "
"""The beginning of a message in a conversation."""


@dataclass(frozen=True, slots=True)
class Note:
    """What an adapter stores in one file."""

    properties: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The front matter; JSON values."""
    body: str = ""


def json_value(value: object, where: str = "value") -> Any:
    """Return a value as JSON would give it back; tuples become lists. Raises UsageError if anything would be lost."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [json_value(each, f"{where}[{n}]") for n, each in enumerate(cast("Sequence[object]", value))]
    if isinstance(value, dict):
        given = cast("dict[object, object]", value)
        if wrong := [key for key in given if not isinstance(key, str)]:
            raise UsageError(f"{where} has the key {wrong[0]!r}, which is no text.", remedy="Use text as keys.")
        return {str(key): json_value(each, f"{where}.{key}") for key, each in given.items()}
    message = f"{where} is of the type {type(value).__name__}, which JSON does not have."
    raise UsageError(message, remedy="Give text, numbers, true, false, None, lists, or dicts of them.")


def fields_text(values: Mapping[str, Any]) -> str:
    """Return JSON values as a Markdown list, one field each; `read_fields` returns the same values."""
    return "".join(f"- {_name(name)}: {_text(value)}\n" for name, value in values.items())


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else _json(name)


def _json(value: Any) -> str:
    """Return JSON on one line, with every character that is no ordinary one escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if text.isprintable() else json.dumps(value, separators=(",", ":"))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        return _json(value)
    lines = value.split("\n")
    if len(lines) == 1:
        return value if _stays(value) else _json(value)
    readable = all(line.isprintable() and (not line or not line.isspace()) for line in lines)
    readable = readable and "<!--" not in value  # a line could end the mark of the author
    if readable and lines[0] and lines[-1]:
        return "|\n" + "\n".join(f"  {line}" if line else "" for line in lines)
    return _json(value)


def _stays(line: str) -> bool:
    """Return whether a text of one line comes back the same without quotes."""
    if not line or line != line.strip() or not line.isprintable() or line == "|":
        return False
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return True
    return False


def read_fields(text: str) -> tuple[dict[str, Any], str]:
    """Return the fields of a text, and the other lines, which their owner has added."""
    values = dict[str, Any]()
    rest = list[str]()
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        line = lines[number].removesuffix("\r")
        number += 1
        match = _FIELD.fullmatch(line)
        if match is None:
            rest.append(line)
            continue
        name = json.loads(match["name"]) if match["name"].startswith('"') else match["name"]
        if match["value"] != "|":
            values[name] = _value(match["value"])
            continue
        block = list[str]()
        while number < len(lines) and (not lines[number].strip() or lines[number].startswith("  ")):
            block.append(lines[number].removesuffix("\r")[2:])
            number += 1
        while block and not block[-1]:
            block.pop()
        values[name] = "\n".join(block)
    return values, "\n".join(rest).strip("\n")


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def note_text(note: Note, author: str, day: str) -> str:
    """Return a note as the text of a file, with a mark of its author and the day, `YYYY-MM-DD`, of the change."""
    head = "".join(f"{name}: {_json(value)}\n" for name, value in note.properties.items())
    mark = marked("\n", author, day).partition("\n")[0]
    return f"---\n{head}---\n\n{mark}\n\n{note.body}"


def read_note(text: str) -> Note:
    """Return the note of a file's text; a note without front matter has no properties."""
    head, found, body = text.replace("\r\n", "\n").removeprefix("---\n").partition("\n---\n")
    if not text.startswith("---") or not found:
        return Note({}, text)
    properties = {
        match["name"]: _value(match["value"]) for match in map(_PROPERTY.fullmatch, head.split("\n")) if match
    }
    body = _MARK.sub("", body.lstrip("\n"), count=1).strip("\n")
    return Note(properties, f"{body}\n" if body else "")


def with_metadata(text: str, metadata: Mapping[str, object]) -> str:
    """Return a text with its metadata after it, in parentheses."""
    pairs = [f"{name}: {each if isinstance(each, str) else json.dumps(each)}" for name, each in metadata.items()]
    return f"{text} ({'; '.join(pairs)})" if pairs else text


def file_name(name: str) -> str:
    """Return the name of a file or folder for any text; different texts have different names on every file system."""
    safe = quote(name, safe="").replace("%20", " ") if name.isascii() else _readable(name)
    safe = safe.replace(".", "%2E").replace("~", "%7E")
    same = safe == name and safe == safe.casefold() == normalize("NFC", safe) and safe == safe.strip()
    if same and safe and len(safe.encode()) <= _NAME_BYTES:
        return safe
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{safe.encode()[:_NAME_BYTES].decode('utf-8', 'ignore').strip()}~{digest}"


def _readable(name: str) -> str:
    """Return a text with everything escaped but letters and digits of any language."""
    kept = "".join(each if each.isalnum() or each in "-_ " else quote(each, safe="", errors="ignore") for each in name)
    return kept.encode("utf-8", "ignore").decode()


def edit_note(
    memory: Memory, path: str, edit: Callable[[bytes | None], str | None], *, attempts: int = ATTEMPTS
) -> tuple[Diagnostic, ...]:
    """Replace a note by an edited version, unless somebody else has changed it since it was read.

    Args:
        memory: the memory of the note.
        path: the path of the note, as in citations.
        edit: called with the content of the note, None if it does not exist; it returns the new text, None to change
            nothing. It is called again with the new content if somebody else has changed the note meanwhile.
        attempts: how often it is called at most.

    Returns why the next search may not find the note; this is also logged.

    Raises PathRefused, WriteConflict if others keep changing the note, and WriteError.
    """
    for attempt in range(1, attempts + 1):
        before = content_of(memory, path)
        after = edit(before)
        if after is None:
            return ()
        try:
            reasons = memory.replace(path, after, expected=None if before is None else bytes_hash(before)).reasons
        except WriteConflict:
            if attempt == attempts:
                raise
            continue
        for reason in reasons:
            log.warning("%s %s", reason.message, reason.remedy)
        return reasons
    raise AssertionError("the last attempt returns or raises")


def content_of(memory: Memory, path: str) -> bytes | None:
    """Return the content of a note; None if it does not exist. Raises PathRefused if it cannot be read."""
    file = memory.file_of(path)
    if file is None:
        return None
    opened = open_note(path, file)
    if opened is None:
        return None
    with opened:
        return opened.read()


def open_note(path: str, file: Path) -> BinaryIO | None:
    """Open the file of a note, which may not be a link; None if it is gone. Raises PathRefused if that fails."""
    try:
        return os.fdopen(os.open(file, _FLAGS), "rb")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PathRefused(f"The note {path!r} cannot be read: {error.strerror}.") from error


def text_of(path: str, content: bytes) -> str:
    """Return the text of a note that is to be changed. Raises PathRefused if it is not UTF-8: bytes would be lost."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        message = f"The note {path!r} is not changed, because it is not UTF-8 from byte {error.start} on."
        raise PathRefused(message, remedy="Save it as UTF-8.") from error


def change(memory: Memory, path: str, edit: Callable[[Note | None], Note | None], *, author: str) -> Note | None:
    """Write a note as `edit` returns it, whoever else writes at the same time.

    Args:
        memory: the memory of the note.
        path: the path of the note, as in citations.
        edit: called with the note as it is, None if it does not exist; it returns the new one, None to change nothing.
        author: the author of all that is below the mark, such as `agent (LangGraph)`.

    Raises PathRefused, WriteConflict if others keep changing the note, and WriteError.
    """
    result: list[Note | None] = []

    def edit_text(content: bytes | None) -> str | None:
        before = None if content is None else read_note(text_of(path, content))
        after = edit(before)
        unchanged = after is None or after == before
        result[:] = [before if unchanged else after]
        return None if after is None or unchanged else note_text(after, author, memory.now().date().isoformat())

    edit_note(memory, path, edit_text)
    return result[0]


def stored(memory: Memory, path: str) -> Note | None:
    """Return a note; None if it does not exist."""
    content = content_of(memory, path)
    return None if content is None else read_note(content.decode("utf-8", "replace"))


def remove(memory: Memory, path: str) -> None:
    """Delete a note from the folder and from the index; nothing happens if it does not exist."""
    file = memory.file_of(path)
    if file is not None and file.exists():
        memory.forget(memory.plan_forget(path))


class ParsedNotes(Generic[T]):
    """Returns what the notes below a folder hold. Threads may share it."""

    def __init__(self, memory: Memory, parse: Callable[[str, Note, float], T]) -> None:
        """Begin without any note.

        Args:
            memory: the memory of the notes.
            parse: called with the path, the note, and when its file was changed, in seconds since 1970. Callers must
                not modify what it returns, because the next call returns the same.
        """
        self._memory = memory
        self._parse = parse
        self._known: dict[str, tuple[Source, T]] = {}
        self._lock = Lock()

    def below(self, folder: str) -> dict[str, T]:
        """Return what each note below a folder holds, by path. Raises PathRefused if one cannot be read."""
        inside = f"{folder}/"
        sources = [source for source in self._memory.sources() if source.path.startswith(inside)]
        found = dict[str, T]()
        with self._lock:
            known = {path: each for path, each in self._known.items() if path.startswith(inside)}
            for path in known.keys() - {source.path for source in sources}:
                del self._known[path]
            for source in sources:
                before, parsed = known.get(source.path, (None, None))
                if parsed is None or before != source:
                    parsed = self._read(source)
                if parsed is not None:
                    found[source.path] = parsed
        return found

    def _read(self, source: Source) -> T | None:
        """Read a note, and keep it if a later change of its file is certain to be seen; None: it is gone."""
        self._known.pop(source.path, None)
        now = self._memory.now().timestamp()
        opened = open_note(source.path, source.file)
        if opened is None:
            return None
        with opened:
            status = os.fstat(opened.fileno())
            content = opened.read()
        parsed = self._parse(source.path, read_note(content.decode("utf-8", "replace")), status.st_mtime)
        if abs(now - status.st_ctime) > SETTLED_SECONDS:
            self._known[source.path] = (source, parsed)
        return parsed


@dataclass(frozen=True, slots=True)
class _Section:
    """A message as it is noted."""

    heading: str
    value: Mapping[str, Any]
    own: str
    """Lines that the owner has added."""

    @property
    def text(self) -> str:
        return f"{_HEADING}{self.heading}\n\n{fields_text(self.value)}" + (f"\n{self.own}\n" if self.own else "")


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages of one conversation, in one note. Several programs may add to it at the same time."""

    memory: Memory
    folder: str
    key: str
    """The framework's id of the conversation."""
    author: str
    """Who wrote the note, such as `agent (LangChain)`: it has the words of models and tools, too."""

    @property
    def path(self) -> str:
        """The path of the note, as in citations."""
        return f"{self.folder.strip('/')}/{file_name(self.key)}.md"

    def items(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the messages in order; with a limit, the last ones."""
        found = [dict(section.value) for section in self._sections(stored(self.memory, self.path))]
        if limit is None:
            return found
        return found[-limit:] if limit > 0 else []

    def add(self, items: Sequence[tuple[str, object]]) -> None:
        """Add messages, all or none. Raises UsageError if one of them is not JSON."""
        new = [_Section(" ".join(heading.split()), json_value(value, "item"), "") for heading, value in items]
        if wrong := [section.value for section in new if not isinstance(section.value, dict)]:
            raise UsageError(f"The item {wrong[0]!r} is no JSON object.", remedy="Give a dict.")
        if new:
            change(
                self.memory, self.path, lambda note: self._note(note, [*self._sections(note), *new]), author=self.author
            )

    def pop(self) -> dict[str, Any] | None:
        """Remove the last message and return it; None if there is none."""
        last: list[_Section] = []

        def edit(note: Note | None) -> Note | None:
            sections = self._sections(note)
            last[:] = sections[-1:]
            return self._note(note, sections[:-1]) if sections else None

        change(self.memory, self.path, edit, author=self.author)
        return dict(last[0].value) if last else None

    def clear(self) -> None:
        """Delete the note."""
        remove(self.memory, self.path)

    def _note(self, before: Note | None, sections: Sequence[_Section]) -> Note:
        properties = before.properties if before else {"conversation": self.key}
        begin = before.body.partition(_HEADING)[0].strip("\n") if before else ""
        opening = [f"{begin}\n"] if begin else []
        return Note(properties, "\n".join([*opening, *(section.text for section in sections)]))

    def _sections(self, note: Note | None) -> list[_Section]:
        parts = f"\n{note.body}".split(f"\n{_HEADING}")[1:] if note else []
        found = list[_Section]()
        for part in parts:
            heading, _, text = part.partition("\n")
            value, own = read_fields(text)
            found.append(_Section(heading.strip(), value, own))
        return found
