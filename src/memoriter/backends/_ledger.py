"""The Protocol of what must outlive every store. `memoriter.index.Ledger` implements it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from memoriter.types import Spent


class Ledger(Protocol):
    """What must outlive every store: spending at providers, and what is known about them."""

    def add(self, provider: str, model: str, tokens: int, dollars: float | None) -> None:
        """Record one response of a provider; `dollars` is None if the price is unknown."""
        ...

    def today(self) -> Spent:
        """Return what was spent since midnight (UTC), at all providers."""
        ...

    def get(self, name: str) -> str | None:
        """Return a stored value, or None."""
        ...

    def set(self, name: str, value: str) -> None:
        """Store a value. Raises ProviderUnavailable if it cannot be written."""
        ...

    def swap(self, name: str, old: str, new: str) -> bool:
        """Replace a stored value if it still is `old`; return whether it was."""
        ...

    def close(self) -> None:
        """Close the ledger; it is reopened when needed."""
        ...
