"""The daily budget for paid services, and the record of what was spent."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from memoriter.embed import price_of, price_row
from memoriter.errors import OverBudget
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from memoriter.index import Ledger

_REMEDY = "Words alone are searched until midnight (UTC); or raise memorySearch.remote.budget."


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that may be sent to paid services in a day (UTC), by all agents together; 0 means no limit."""

    tokens: int = 0
    dollars: float = 0.0


@dataclass(slots=True)
class UsageMeter:
    """The usage and the price of one model of one service."""

    ledger: Ledger
    budget: Budget
    provider: str
    model: str
    priced: bool
    """Whether the service is the vendor's own, whose prices are known."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, tokens: int) -> None:
        """Refuse a request that exceeds the day's budget. Raises OverBudget."""
        spent = self.ledger.today()
        if self.budget.tokens and spent.tokens + tokens > self.budget.tokens:
            raise OverBudget(
                f"The day's budget of {self.budget.tokens:,} tokens does not hold {tokens:,} more:"
                f" {spent.tokens:,} are spent.",
                remedy=_REMEDY,
            )
        price = self.price(tokens) or 0.0
        if self.budget.dollars and spent.dollars + price > self.budget.dollars:
            raise OverBudget(
                f"The day's budget of ${self.budget.dollars:.2f} does not hold ${price:.4f} more:"
                f" ${spent.dollars:.4f} are spent.",
                remedy=_REMEDY,
            )

    def add(self, tokens: int, *, batch: bool = False) -> None:
        """Record the tokens of a response or batch job."""
        with self._lock:
            self.ledger.add(self.provider, self.model, tokens, self.price(tokens, batch=batch))

    @property
    def seen(self) -> str:
        """The year and month of the price; empty if the price is unknown."""
        row = price_row(self.provider, self.model) if self.priced else None
        return row.seen if row else ""

    def price(self, tokens: int, *, batch: bool = False) -> float | None:
        """Return the price in US dollars; None if it is unknown."""
        return price_of(self.provider, self.model, tokens, batch=batch) if self.priced else None
