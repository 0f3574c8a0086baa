"""What is known of other programs that were asked the same questions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.memory import Memory
    from memoriter.types import Hit


@dataclass(frozen=True, slots=True)
class ProgramFigures:
    """What a program costs on the notes of one workspace; None where it was not measured."""

    name: str
    vectors: str = ""
    """Where its vectors are from."""
    index_seconds: float | None = None
    index_peak_mb: float | None = None
    search_peak_mb: float | None = None
    disk_mb: float | None = None
    """What it stores about the notes, without models."""
    cold_seconds: float | None = None
    """Median time of a search as a new process."""
    warm_seconds: float | None = None
    """Median time of a search in a running process."""
    fault: str = ""
    """Why it was not measured, or not to the end."""


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """The figures of a program, and its hits for each question; no hits at all if it failed."""

    figures: ProgramFigures
    hits: tuple[tuple[Hit, ...], ...] = ()


class OtherPrograms(Protocol):
    """Measures other programs on the notes of a workspace."""

    def measure(self, memory: Memory, questions: Sequence[str], limit: int) -> Sequence[ProgramResult]:
        """Return the result of each program, with at most `limit` hits for each question."""
        ...


ProgramsOf = Callable[[Path, Path | None, str], OtherPrograms]
"""Returns the programs for an empty folder, in which they store everything, for the configuration file of memoriter as
a program (None: its defaults), and for the provider of the vectors, also for programs that take an endpoint."""
