"""When the files must be looked at again before a search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Rules(Protocol):
    """The settings that decide it."""

    @property
    def on_search(self) -> bool: ...
    @property
    def debounce_ms(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Freshness:
    """The last look at the files, in monotonic seconds."""

    looked_at: float | None = None
    wanted: bool = False
    """Whether a note was written that the next search must know."""

    def due(self, now: float, rules: Rules) -> bool:
        """Whether a search should look first: at most once within the debounce time."""
        if not rules.on_search:
            return self.wanted
        return self.looked_at is None or (now - self.looked_at) * 1000 >= rules.debounce_ms
