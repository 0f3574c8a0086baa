"""Runs operations for a caller, whether a program or a page asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from memoriter.web._operations import all_operations
from memoriter.web._requests import checked_request
from memoriter.web._work import Work, require

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.access import Caller, Run
    from memoriter.discovery import Scope
    from memoriter.memory import Memory
    from memoriter.web._events import Events
    from memoriter.web._operation import Operation
    from memoriter.web._requests import Request

_Answer = TypeVar("_Answer")


class OperationRunner:
    """Runs the operations of one server."""

    def __init__(self, run: Run, events: Events) -> None:
        """Run operations with the memory of a server."""
        self._run = run
        self._events = events

    async def run(
        self,
        operation: Operation,
        caller: Caller,
        read: Callable[[], Request],
        answered: Callable[[Any], _Answer],
    ) -> _Answer:
        """Return the answer of an operation.

        Args:
            operation: what to do.
            caller: who asks.
            read: returns the parameters; like all work that depends on their size, it runs in the thread, where a
                caller has a share, and not in the event loop, which answers all callers.
            answered: makes the answer of the JSON values that the operation returns, also in the thread.

        Raises:
            OutOfScope: the caller may not run the operation.
            MemoriterError: as `read`, the operation and `answered`.
        """
        require(caller, operation.scope)

        def act(memory: Memory) -> _Answer:
            return answered(operation.act(Work(memory, read(), caller, self._events)))

        return await self._run(act, caller=caller, quick=operation.quick)

    async def compute(self, caller: Caller, work: Callable[[], _Answer]) -> _Answer:
        """Return the result of work that needs no memory, in a thread of the caller's share."""
        return await self._run(lambda _: work(), caller=caller)

    async def with_memory(
        self, caller: Caller, scope: Scope, work: Callable[[Memory], _Answer], *, quick: bool
    ) -> _Answer:
        """Return the result of work on the memory in a thread, for pages that need more than the API offers.

        Raises:
            OutOfScope: the caller may not do that.
            MemoriterError: as `work`.
        """
        require(caller, scope)
        return await self._run(work, caller=caller, quick=quick)

    async def perform(self, name: str, caller: Caller, **values: Any) -> Any:
        """Return the answer of an operation as JSON values.

        Raises:
            InvalidRequest: the operation does not take these parameters.
            MemoriterError: as the operation.
        """
        operation = all_operations()[name]
        return await self.run(operation, caller, lambda: checked_request(operation.request, values), lambda json: json)
