"""Runs operations for a caller, whether a program or a page asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from memoriter.web._operations import OPERATIONS
from memoriter.web._requests import checked_request
from memoriter.web._work import Work, require

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.access import Caller
    from memoriter.memory import Memory
    from memoriter.web._events import Events
    from memoriter.web._operations import Operation
    from memoriter.web._requests import Request


class Run(Protocol):
    """Runs a function with the memory in a worker thread."""

    async def __call__(self, act: Callable[[Memory], Any], *, quick: bool = False) -> Any:
        """Return the result of `act`. Raises anyio.ClosedResourceError if the memory is being closed."""
        ...


class OperationRunner:
    """Runs the operations of one server."""

    def __init__(self, run: Run, events: Events) -> None:
        """Run operations with the memory of a server.

        Args:
            run: runs a function with the memory in a worker thread.
            events: the events of the server.
        """
        self._run, self._events = run, events
        self._by_name = {operation.name: operation for operation in OPERATIONS}

    async def run(self, operation: Operation, caller: Caller, given: Request) -> Any:
        """Return the answer of an operation as JSON values. Raises OutOfScope and what the operation raises."""
        require(caller, operation.scope)
        events = self._events
        return await self._run(lambda memory: operation.act(Work(memory, given, caller, events)), quick=operation.quick)

    async def perform(self, name: str, caller: Caller, **values: Any) -> Any:
        """Return the answer of an operation as JSON values.

        Args:
            name: the name of the operation in the table.
            caller: who asks.
            values: the parameters by their names in Python; sequences are tuples.

        Raises:
            InvalidRequest: the operation does not take these parameters.
            MemoriterError: as the operation.
        """
        operation = self._by_name[name]
        require(caller, operation.scope)
        return await self.run(operation, caller, checked_request(operation.request, values))
