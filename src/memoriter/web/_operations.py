"""All operations. Routes and the OpenAPI document follow them."""

from __future__ import annotations

from functools import cache

from memoriter.web import _acts as acts
from memoriter.web import _days as days
from memoriter.web import _state as state
from memoriter.web._operation import Operation, operation_sets

OPERATIONS: tuple[Operation, ...] = (
    acts.search,
    acts.explain,
    acts.why_not,
    acts.files,
    acts.get,
    acts.append,
    acts.replace,
    acts.status,
    state.parts,
    state.cost,
    state.draw_map,
    acts.index,
    days.days,
    days.day,
    acts.captures,
    acts.undo_capture,
)
"""The operations of memoriter itself, except `events`, which is a stream."""


@cache
def all_operations() -> dict[str, Operation]:
    """Return all operations by their names, except `events`; a package cannot take the name of another operation."""
    found = {operation.name: operation for operation in OPERATIONS}
    for operation in (operation for added in operation_sets() for operation in added.operations):
        found.setdefault(operation.name, operation)
    return found
