"""When an agent is told to write down what must last, as a state machine: one flush for each session and compaction.

    (none) ──ask──► requested ──settle──► written            today's log has a new entry, whoever wrote it
                       │  ▲                nothing_to_store   the model said so, and the log has no new entry
                       └──┘ ask again      failed             neither; or it never answered, twice
                     (after a crash)

Everything here is pure; `_flushing.py` acts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeGuard, cast

from memoriter.errors import UsageError

Step = Literal["requested", "written", "nothing_to_store", "failed"]
STEPS = frozenset({"requested", "written", "nothing_to_store", "failed"})
MOST_ATTEMPTS = 2
JUST_NOW_SECONDS = 5.0
"""A request of so long ago is another process' of this very moment, not one that was lost."""
NO_REPLY = "NO_REPLY"
_COPY = re.compile(r"[\w-]{1,100}\.md")


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When a conversation is full enough, in tokens."""

    window: float
    """What the model can hold."""
    reserve: float
    """What the host keeps free: it compacts before that."""
    soft: float
    """How long before the compaction the flush comes."""

    @property
    def tokens(self) -> int:
        """From so many tokens on; 0: never, since the window is too small."""
        window, reserve, soft = max(1, _whole(self.window)), max(0, _whole(self.reserve)), max(0, _whole(self.soft))
        return max(0, window - reserve - soft)


@dataclass(frozen=True, slots=True)
class Flush:
    """What is known of the last flush of a session."""

    cycle: int
    """The compaction that it was to come before: how many there had been."""
    step: Step
    path: str
    """The log that was to grow, as cited."""
    at: float
    """Seconds since 1970, of the last step."""
    attempts: int = 1
    before: str = ""
    """The name of the file that has the log as it was at the request; empty: there is none."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a flush left behind."""

    grew: bool
    """Whether the log has an entry that it did not have at the request, whoever wrote it."""
    reply: str | None = None
    """What the model answered; None: it is not known."""


def flush_due(entry: Mapping[str, Any], thresholds: Thresholds) -> bool:
    """Whether a session, as its store has it, is full enough and was not flushed since its last compaction."""
    tokens, limit = _fresh_tokens(entry), thresholds.tokens
    return bool(tokens and limit and tokens >= limit) and not was_flushed(entry)


def was_flushed(entry: Mapping[str, Any]) -> bool:
    """Whether this cycle's flush is done, be it by memoriter or by OpenClaw."""
    flushed = entry.get("memoryFlushCompactionCount")
    return _is_number(flushed) and flushed == compactions(entry)


def compactions(entry: Mapping[str, Any]) -> int:
    """How many compactions there were."""
    count = entry.get("compactionCount")
    return int(count) if _is_number(count) and math.isfinite(count) else 0


def asked(last: Flush | None, cycle: int, path: str, now: float, before: str = "") -> Flush | None:
    """The flush to ask for now; None: it was asked for this very moment, or is settled already.

    Args:
        last: what is known.
        cycle: how many compactions there were.
        path: the log of today.
        now: seconds since 1970.
        before: the name of the file that has the log as it is now.
    """
    if last is None or last.cycle != cycle:
        return Flush(cycle, "requested", path, now, before=before)
    if last.step != "requested" or last.attempts >= MOST_ATTEMPTS or 0 <= now - last.at < JUST_NOW_SECONDS:
        return None
    return replace(last, path=path, at=now, attempts=last.attempts + 1, before=before)


def settled(last: Flush, evidence: Evidence, now: float) -> Flush:
    """What became of a flush that was asked for. The disk decides, not what the model says.

    Raises:
        UsageError: it was not asked for.
    """
    if last.step != "requested":
        raise UsageError(f"The flush is {last.step}, not requested.", remedy="Ask for one first.")
    if evidence.grew:
        step: Step = "written"
    elif evidence.reply is not None and is_no_reply(evidence.reply):
        step = "nothing_to_store"
    else:
        step = "failed"
    return replace(last, step=step, at=now)


def is_no_reply(text: str) -> bool:
    """Whether the model said that there is nothing to keep, and nothing else."""
    return text.strip().strip("`*_.\"' ").upper().replace("NO REPLY", NO_REPLY) in {NO_REPLY, "NO_REPLY", "NOREPLY"}


def flush_json(flush: Flush) -> dict[str, Any]:
    """As it is kept in the session's entry; the time in milliseconds, as OpenClaw has them."""
    return {
        "cycle": flush.cycle,
        "step": flush.step,
        "path": flush.path,
        "at": round(flush.at * 1000),
        "attempts": flush.attempts,
        "before": flush.before,
    }


def flush_of(found: object) -> Flush | None:
    """The flush that was kept, if it is of the right shape."""
    if not isinstance(found, Mapping):
        return None
    known = cast("Mapping[str, Any]", found)
    cycle, step, path, at = (known.get(name) for name in ("cycle", "step", "path", "at"))
    attempts, before = known.get("attempts", 1), known.get("before")
    if not (isinstance(cycle, int) and isinstance(path, str) and isinstance(attempts, int) and _is_number(at)):
        return None
    if not isinstance(step, str) or step not in STEPS:
        return None
    named = before if isinstance(before, str) and _COPY.fullmatch(before) else ""  # never a path to elsewhere
    return Flush(cycle, cast("Step", step), path, at / 1000, attempts, named)


def _fresh_tokens(entry: Mapping[str, Any]) -> float | None:
    """How full the session is, if that is known and not of before a compaction."""
    tokens = entry.get("totalTokens")
    fresh = entry.get("totalTokensFresh") is not False
    return tokens if fresh and _is_number(tokens) and math.isfinite(tokens) and tokens > 0 else None


def _is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value that was read is a number that can be a count or a time; NaN and infinity cannot."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -1e18 < value < 1e18


def _whole(value: float) -> int:
    return math.floor(value) if math.isfinite(value) else 0
