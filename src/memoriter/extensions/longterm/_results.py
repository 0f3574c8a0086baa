"""What the operations on long-term memories return."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.extensions.longterm._store import EXACT_BELOW
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter.extensions.longterm._records import LongTermMemory
    from memoriter.extensions.longterm._store import StoreState
    from memoriter.types import Diagnostic


@dataclass(frozen=True, slots=True)
class LongTermHit:
    """A memory that a search found."""

    memory: LongTermMemory
    score: float
    """0..1; 0 is unrelated."""
    similarity: float | None
    """The part of the vectors in the score, 0..1; None without vectors."""
    cosine: float = 0.0
    """Cosine of the vectors; 0 without vectors."""


@dataclass(frozen=True, slots=True)
class LongTermAnswer:
    """The result of a search, best first."""

    hits: tuple[LongTermHit, ...] = ()
    nearest: tuple[LongTermHit, ...] = ()
    """If there are no hits: the best memories below the lowest score that was asked for, `NEAREST` at most."""
    reasons: tuple[Diagnostic, ...] = ()
    """Why the search could not compare vectors."""
    replaced: Mapping[str, str] = field(default_factory=dict[str, str])
    """The id of what replaced a superseded memory, by the id of the older one."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The result of storing a memory."""

    memory: LongTermMemory
    """The new memory, or the one that says the same."""
    existing: bool = False
    """True if nothing was stored, because it is there already."""
    similarity: float = 0.0
    """Of the existing memory, 0..1."""
    masked: bool = False
    """Whether a secret in the text was replaced by `***`."""
    reasons: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class LongTermForgotten:
    """The receipt of forgetting, or the memories among which a person has to choose."""

    forgotten: tuple[LongTermMemory, ...] = ()
    candidates: tuple[LongTermHit, ...] = ()
    """Several memories fit, or one that is not certainly meant; nothing was deleted."""
    lines: int = 0
    """Lines that were removed from the note."""
    rows: int = 0
    """Memories that were removed from the database."""
    restored: tuple[LongTermMemory, ...] = ()
    """What a forgotten memory had replaced, and what is current again."""
    left: tuple[Diagnostic, ...] = ()
    """What could not be removed."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a rebuild did to the database."""

    memories: int
    added: int
    changed: int
    removed: int
    numbered: int
    """Items of the note that got an id, because they were written by hand."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What was copied from a table of OpenClaw."""

    added: int
    present: int
    """Memories that were there already."""
    skipped: int
    """Rows without a text."""


@dataclass(frozen=True, slots=True)
class OpenClawState:
    """The table of OpenClaw's plugin, which is only read."""

    folder: str
    memories: int
    """Its rows with a text."""
    missing: int
    """Those of them that were not copied into the note."""


@dataclass(frozen=True, slots=True)
class LongTermStats:
    """The state of the long-term memories."""

    memories: int
    """In the note."""
    by_category: dict[str, int]
    by_origin: dict[str, int]
    superseded: int
    withheld: int
    """Current memories of the note that automatic recall leaves out: those of `withheld_memories`."""
    stored: int | None
    """Memories in the database with vectors of the current model; None: the database could not be read."""
    database: str
    model: str
    state: StoreState | None
    other_models: dict[str, int]
    principal: str
    openclaw: OpenClawState | None = None
    """The table of OpenClaw that the settings name; None: they name none, or it cannot be read."""
    reasons: tuple[Diagnostic, ...] = ()

    @property
    def uses_index(self) -> bool:
        """Whether searches use an index of the vectors, and do not compare all of them."""
        return bool(self.state and self.state.indexed) and (self.stored or 0) >= EXACT_BELOW
