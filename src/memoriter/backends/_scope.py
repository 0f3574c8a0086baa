"""The kinds of sources that a search may cover. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.types import Diagnostic
from memoriter.values import dataclass

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
    """The sources that one search covers."""

    filters: Filters
    kinds: tuple[SourceKind, ...]
    """The kinds that share the hits: those that exist, are requested and are allowed."""
    reasons: tuple[Diagnostic, ...] = ()


def scope_of(filters: Filters, allowed: Collection[SourceKind], there: Collection[SourceKind]) -> Scope:
    """Return the sources that a search covers.

    Args:
        filters: the filters of the query.
        allowed: the kinds that the settings allow, whatever the index still holds.
        there: the kinds that the index holds.
    """
    requested = filters.sources if filters.sources is not None else frozenset(allowed)
    kinds = tuple(sorted(requested.intersection(allowed, there)))
    refused = filters.sources is not None and not filters.sources.intersection(allowed)
    reasons = (TRANSCRIPTS_ARE_OFF if "sessions" in requested else NOTES_ARE_OFF,) if refused else ()
    if filters.sources is None and set(there) <= set(allowed):
        return Scope(filters, kinds)
    return Scope(replace(filters, sources=requested.intersection(allowed)), kinds, reasons)
