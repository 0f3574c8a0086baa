"""Which kinds of sources a search may look at: pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Collection

    from memoriter.types import Filters, SourceKind

TRANSCRIPTS_ARE_OFF = Diagnostic(
    "sessions_off",
    "Transcripts are not searched: `sessions` is not in memorySearch.sources, or experimental.sessionMemory is off.",
    'Set memorySearch.experimental.sessionMemory to true and memorySearch.sources to ["memory", "sessions"].',
)
NOTES_ARE_OFF = Diagnostic(
    "memory_off",
    "Notes are not searched: memorySearch.sources does not hold `memory`.",
    "Add `memory` to memorySearch.sources.",
)


@dataclass(frozen=True, slots=True)
class Scope:
    """What one search looks at."""

    filters: Filters
    kinds: tuple[SourceKind, ...]
    """The kinds that share the hits: those that are there, wanted and allowed."""
    reasons: tuple[Diagnostic, ...] = ()


def scope_of(filters: Filters, allowed: Collection[SourceKind], there: Collection[SourceKind]) -> Scope:
    """What a search looks at.

    Args:
        filters: as asked.
        allowed: the kinds that the settings let it look at, whatever the index still holds.
        there: the kinds that the index holds.
    """
    wanted = filters.sources if filters.sources is not None else frozenset(allowed)
    kinds = tuple(sorted(wanted.intersection(allowed, there)))
    refused = filters.sources is not None and not filters.sources.intersection(allowed)
    reasons = (TRANSCRIPTS_ARE_OFF if "sessions" in wanted else NOTES_ARE_OFF,) if refused else ()
    if filters.sources is None and set(there) <= set(allowed):
        return Scope(filters, kinds)
    return Scope(replace(filters, sources=wanted.intersection(allowed)), kinds, reasons)
