"""What a server gives to its interfaces, to run work with its memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.access._caller import Caller
    from memoriter.memory import Memory


class Run(Protocol):
    """Runs a function with the memory in a worker thread."""

    async def __call__(self, act: Callable[[Memory], Any], *, caller: Caller | None = None, quick: bool = False) -> Any:
        """Return the result of `act`.

        Args:
            act: the function to run.
            caller: who asks; None: the server itself.
            quick: whether it only reads or writes notes; it then never waits for a search.

        Raises:
            anyio.ClosedResourceError: the memory is being closed.
        """
        ...
