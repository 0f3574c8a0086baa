"""One request with what an operation needs to answer it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from memoriter.errors import MemoriterError

if TYPE_CHECKING:
    from memoriter.access import Caller
    from memoriter.discovery import Scope
    from memoriter.memory import Memory
    from memoriter.web._events import Events

AnyRequest = TypeVar("AnyRequest")


class OutOfScope(MemoriterError):
    """The request needs more than its caller may do."""

    def __init__(self, caller: Caller, needed: Scope) -> None:
        super().__init__(f"The caller {caller.name!r} lacks the scope {needed!r}.")
        self.caller = caller
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
