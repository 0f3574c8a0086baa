"""JSON form of the memory's state: health, status and spending."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any, Protocol

from memoriter.api_json._form import Field, apply_form, iso_time, list_of, object_of, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.types import Diagnostic, Health, Spending, Spent, Status


def _background(background: tuple[float, float] | None) -> dict[str, float] | None:
    """Return the mean and the deviation of the cosine of unrelated passages."""
    return None if background is None else {"mean": background[0], "deviation": background[1]}


REASON = plain("code", "message", "remedy")
REASONS = Field(list_of(REASON))
HEALTH = {"ok": Field(), "legs": Field(dict), **plain("pending", "generation"), "reasons": REASONS}
SKIPPED = Field(list_of(plain("path", "reason", "message")))
ATTEMPT = {"at": Field(iso_time, key="time"), "ok": Field(), "reason": Field(object_of(REASON), omit="none")}
CANARY = {**plain("citation", "query", "found"), "lost": Field(list)}
STATUS = {
    **plain("agent", "workspace", "workspace_reason", "layout", "index", "index_bytes", "files", "chunks"),
    "sources": Field(list_of(plain("kind", "files", "chunks"))),
    **plain("vectors", "pending", "failed", "stale", "provider", "model", "dimensions", "vector_engine", "scoring"),
    **plain("backend", "leaves_machine", "endpoint", "key_source"),
    "background": Field(_background),
    "health": Field(object_of(HEALTH)),
    "skipped": SKIPPED,
    "notices": Field(list_of(REASON), omit="empty"),
    "last_attempt": Field(object_of(ATTEMPT), omit="none"),
    "index_reason": Field(omit="empty"),
    "oversampling": Field(omit="none"),
    "canaries": Field(list_of(CANARY), omit="empty"),
}
SPENDING = {"day": Field(date.isoformat), **plain("provider", "model", "calls", "tokens", "unpriced", "dollars")}


class DayLimits(Protocol):
    """The daily spending limits; 0 is no limit."""

    @property
    def tokens_per_day(self) -> int: ...
    @property
    def dollars_per_day(self) -> float: ...


def reason_json(reason: Diagnostic) -> dict[str, str]:
    """Return a diagnostic."""
    return apply_form(reason, REASON)


def health_json(health: Health) -> dict[str, Any]:
    """Return the state of the memory: whether it works, the state of each retriever, and the diagnostics."""
    return apply_form(health, HEALTH)


def status_json(status: Status) -> dict[str, Any]:
    """Return the state of one agent's memory; `canaries` is present only after a deep check."""
    return apply_form(status, STATUS)


def cost_json(rows: Sequence[Spending], today: Spent, budget: DayLimits) -> dict[str, Any]:
    """Return the spending at services, the newest day first; `unpriced` counts tokens with an unknown price."""
    return {
        "days": [apply_form(row, SPENDING) for row in rows],
        "today": apply_form(today, plain("tokens", "dollars")),
        "budget": apply_form(budget, plain("tokens_per_day", "dollars_per_day")),
    }
