"""What a recall source is: something that finds passages for a message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Passage:
    """Something remembered that may bear on a message."""

    text: str
    """As it was written down; it is escaped and cut where it is put before a turn."""
    citation: str
    """Where it stands, such as `MEMORY.md#L3-L5`."""
    score: float = 1.0
    """0..1; the highest comes first."""
    trusted: bool = False
    """Was it written by the owner? What was captured from conversations is looked at more strictly."""


class RecallSource(Protocol):
    """Finds what may bear on a message, or nothing."""

    @property
    def name(self) -> str:
        """For people."""
        ...

    def recall(self, prompt: str, *, deadline_ms: int) -> Sequence[Passage]:
        """The passages that are sure to bear on the message; none is a good answer.

        Args:
            prompt: the user's message, without what was put before it.
            deadline_ms: answer by then; who is late is not waited for.

        Raises:
            MemoriterError: nothing could be looked up; the turn goes on and the words are shown as a reason.
        """
        ...
