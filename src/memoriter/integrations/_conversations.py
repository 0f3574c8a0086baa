"""Conversations as Markdown notes: a heading for each message, and below it the fields of its JSON value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memoriter.errors import UsageError
from memoriter.integrations._notes import Note, change, fields_text, file_name, json_value, read_fields, remove, stored
from memoriter.values import dataclass

if TYPE_CHECKING:
    from memoriter.memory import Memory

_HEADING = "## "


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
