"""JSON values as Markdown that people read and edit: a note has values of its own, and a list of fields.

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
The line `from` names the author, so that nothing below it is taken for the words of the owner.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast
from unicodedata import normalize
from urllib.parse import quote

from memoriter.errors import UsageError
from memoriter.integrations._edits import content_of, edit_note, text_of
from memoriter.values import dataclass, field
from memoriter.workspace import marked

if TYPE_CHECKING:
    from memoriter.memory import Memory

_NAME_BYTES = 80
_FIELD = re.compile(r'- (?P<name>"(?:[^"\\]|\\.)*"|[\w][\w -]*): (?P<value>.*)', re.DOTALL)
_PLAIN_NAME = re.compile(r"\w(?:[\w -]*\w)?", re.ASCII)
_MARK = re.compile(r"\A<!-- from: [^\n]* -->\n")
_PROPERTY = re.compile(r"(?P<name>[a-z_]+): (?P<value>.*)")


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
