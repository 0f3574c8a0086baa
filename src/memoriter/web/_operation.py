"""What an operation of the API is, what it needs to answer a request, and the operations that other packages add."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from memoriter.entry_points import load_all
from memoriter.errors import MemoriterError
from memoriter.types import camel_case
from memoriter.web._requests import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memoriter.access import Caller
    from memoriter.answers import Schema
    from memoriter.discovery import Scope
    from memoriter.memory import Memory
    from memoriter.web._events import Events

AnyRequest = TypeVar("AnyRequest")


class OutOfScope(MemoriterError):
    """The request needs more than its caller may do."""

    def __init__(self, caller: Caller, needed: Scope) -> None:
        super().__init__(f"The caller {caller.name!r} lacks the scope {needed!r}.")
        self.needed = needed


def require(caller: Caller, scope: Scope) -> None:
    """Raise OutOfScope unless a caller has a scope."""
    if not caller.allows(scope):
        raise OutOfScope(caller, scope)


@dataclass(frozen=True, slots=True)
class Work(Generic[AnyRequest]):
    """One request with what it needs."""

    memory: Memory
    request: AnyRequest
    caller: Caller
    events: Events

    def require(self, scope: Scope) -> None:
        """Raise OutOfScope unless the caller has a scope."""
        require(self.caller, scope)


OPERATIONS_GROUP = "memoriter.operations"
"""The group of entry points whose objects are an `OperationSet`. Only servers load them."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the API."""

    name: str
    method: Literal["GET", "POST"]
    path: str
    """Below `/api/v1`."""
    scope: Scope
    summary: str
    request: type[Request]
    """In the query of the URL for GET, and as a JSON body for POST."""
    answer: str
    """The name of its schema, or `list of` it; ` or ` is between two."""
    act: Callable[[Work[Any]], Any]
    quick: bool = False
    """Whether it only reads or writes notes, and never waits for a search."""
    problems: tuple[int, ...] = ()
    """Statuses of its own, besides those of every operation."""


def operation(
    method: Literal["GET", "POST"],
    path: str,
    answer: str,
    request: type[Request] = Request,
    *,
    name: str = "",
    scope: Scope = "read",
    quick: bool = False,
    problems: tuple[int, ...] = (),
) -> Callable[[Callable[[Work[Any]], Any]], Operation]:
    """Return a decorator that makes a function an operation; its summary is the first sentence of the docstring."""

    def of(act: Callable[[Work[Any]], Any]) -> Operation:
        summary = re.split(r"(?<=\.)\s", act.__doc__ or "")[0]
        own_name = name or camel_case(act.__name__)
        return Operation(own_name, method, path, scope, summary, request, answer, act, quick, problems)

    return of


@dataclass(frozen=True, slots=True)
class OperationSet:
    """What a package adds to the API."""

    operations: tuple[Operation, ...]
    schemas: Mapping[str, Schema]
    """The schemas of their answers, by their names."""
    of_day: Callable[[Memory, Callable[[float], bool]], Mapping[str, Any]] | None = None
    """Returns members for the answer of `day`; the function tells whether a time, in seconds since 1970, is of it."""
    day_schema: Schema = field(default_factory=lambda: {"properties": {}, "required": []})
    """The schema of these members, as of an object."""


@cache
def operation_sets() -> tuple[OperationSet, ...]:
    """Return what installed packages add to the API. One that cannot be loaded is logged, and left out."""
    return load_all(OPERATIONS_GROUP, OperationSet)
