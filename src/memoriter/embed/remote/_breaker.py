"""When a service is not asked any more: out of quota or without a right, a call costs money and helps nobody. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from memoriter.errors import EmbeddingError, OutOfQuota, Unauthorised

HOUR = 3600.0
MOST_CALLS = 3
"""That may fail in any hour."""
_PAUSE = HOUR / MOST_CALLS + 1
"""Seconds between two trials, so that three are never spent at once. One more than the third of an hour: an hour may
begin and end with a call."""
_REASONS = {error.code: error for error in (OutOfQuota, Unauthorised)}


@dataclass(frozen=True, slots=True)
class BreakerState:
    """Closed while `reason` is empty. Open, it lets a trial through now and then; a success closes it.

    Times are seconds since 1970, so that they mean the same in the next process.
    """

    owner: str = ""
    """Stands for service and key: with another key everything starts anew."""
    reason: str = ""
    """`out_of_quota` or `unauthorised`."""
    message: str = ""
    remedy: str = ""
    calls: tuple[float, ...] = ()
    """When the calls of the last hour began or failed, ascending."""

    @property
    def is_open(self) -> bool:
        return bool(self.reason)

    def allows(self, now: float) -> bool:
        """Whether a call may be made."""
        return self.opens_in(now) <= 0

    def opens_in(self, now: float) -> float:
        """Seconds until a call may be made, 0 when it may be now."""
        recent = self._recent(now)
        if not self.is_open or not recent:
            return 0.0
        waits = [recent[-1] + _PAUSE - now]
        if len(recent) >= MOST_CALLS:
            waits.append(recent[-MOST_CALLS] + HOUR + 1 - now)
        return max(*waits, 0.0)

    def begun(self, now: float) -> BreakerState:
        """After a trial was let through; to be kept before the call, since a process may end in the middle of it."""
        return replace(self, calls=(*self._recent(now), now)) if self.is_open else self

    def after(self, outcome: EmbeddingError | None, now: float, *, trial: bool = False) -> BreakerState:
        """After a call; `outcome` is None for a success, `trial` says that `begun` has counted it.

        Errors that say nothing about quota and rights change nothing.
        """
        if outcome is None:
            return BreakerState(self.owner)
        if not isinstance(outcome, OutOfQuota | Unauthorised):
            return self
        calls = self._recent(now) if trial else (*self._recent(now), now)
        return BreakerState(self.owner, outcome.code, outcome.message, outcome.remedy, calls)

    def refusal(self, now: float) -> EmbeddingError:
        """The error that stands for a call which was not made."""
        kind = _REASONS.get(self.reason, OutOfQuota)
        minutes = max(1, round(self.opens_in(now) / 60))
        error = kind(f"not asked again for {minutes} min, because {self.message}", remedy=self.remedy)
        error.attempted = False
        return error

    def of(self, owner: str) -> BreakerState:
        """This breaker if it is about the same service and key, otherwise a closed one."""
        return self if self.owner == owner else BreakerState(owner)

    def to_json(self) -> str:
        """For keeping; without anything secret."""
        return json.dumps(
            {
                "owner": self.owner,
                "reason": self.reason,
                "message": self.message,
                "remedy": self.remedy,
                "calls": self.calls,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> BreakerState:
        """What was kept; a closed breaker for anything else."""
        try:
            kept: Any = json.loads(text)
            calls = tuple(sorted(float(call) for call in kept["calls"]))
            reason = kept["reason"] if kept["reason"] in _REASONS else ""
            words = {name: str(kept[name]) for name in ("owner", "message", "remedy")}
        except (ValueError, TypeError, KeyError):
            return cls()
        return cls(reason=reason, calls=calls, **words)

    def _recent(self, now: float) -> tuple[float, ...]:
        """The calls of the hour before, and of the hour ahead if the clock was set back."""
        return tuple(call for call in self.calls if abs(now - call) < HOUR + 1)
