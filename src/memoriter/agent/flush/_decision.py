"""Decide when to ask an agent to write down lasting facts, and in which words.

The decision is a state machine: one flush for each session and compaction, and another one whenever the conversation
has doubled since.

    (none) ──request──► requested ──settle──► written            today's log has a new entry, whoever wrote it
                         │     ▲              nothing_to_store   the log has no new entry, and the model replied so or
                         │     │                                 was asked after the compaction
                         └─────┘ repeat       failed             neither, or the model did not answer two requests
                     (after a crash)

Everything here is pure; `_flush.py` acts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeGuard, cast

from memoriter.errors import UsageError
from memoriter.values import dataclass

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

Step = Literal["requested", "written", "nothing_to_store", "failed"]
STEPS = frozenset({"requested", "written", "nothing_to_store", "failed"})
MAX_ATTEMPTS = 2
CONCURRENT_SECONDS = 5.0
"""A younger request belongs to another process that runs at the same time; it is not a lost one."""
NO_REPLY = "NO_REPLY"
_SNAPSHOT_NAME = re.compile(r"[\w-]{1,100}\.md")


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Limits that decide when a conversation is due for a flush, in tokens."""

    window: float
    """Tokens that the model can hold."""
    reserve: float
    """Tokens that the host keeps free; it compacts before using them."""
    soft: float
    """Distance from the compaction at which the flush starts."""

    @property
    def tokens(self) -> int:
        """Smallest context usage that triggers a flush; 0: never, because the window is too small."""
        window = max(1, _whole(self.window))
        reserve = max(0, _whole(self.reserve))
        soft = max(0, _whole(self.soft))
        return max(0, window - reserve - soft)


@dataclass(frozen=True, slots=True)
class Flush:
    """State of a session's last flush."""

    cycle: int
    """Number of compactions when the flush was requested; it precedes the next one."""
    step: Step
    path: str
    """The log that the flush should append to, as cited."""
    at: float
    """Time of the last step, in seconds since 1970."""
    attempts: int = 1
    before: str = ""
    """File name of the snapshot of the log at the request; empty: no snapshot."""
    tokens: int = 0
    """Context usage at the request; 0: unknown."""
    late: bool = False
    """True if a compaction came first; the model then answers the user, and not the request."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Result of a flush request."""

    grew: bool
    """True if the log has an entry that it did not have at the request, whoever wrote it."""
    reply: str | None = None
    """The model's answer; None: unknown."""


def flush_due(entry: Mapping[str, Any], thresholds: Thresholds) -> bool:
    """Return whether a session's stored entry reaches the threshold and has no flush since its last compaction."""
    tokens = _current_tokens(entry)
    limit = thresholds.tokens
    return bool(tokens and limit and tokens >= limit) and not was_flushed(entry)


def was_flushed(entry: Mapping[str, Any]) -> bool:
    """Return whether memoriter or OpenClaw has completed the flush of this cycle."""
    flushed = entry.get("memoryFlushCompactionCount")
    return _is_number(flushed) and flushed == compaction_count(entry)


def compaction_count(entry: Mapping[str, Any]) -> int:
    """Return the number of compactions."""
    count = entry.get("compactionCount")
    return int(count) if _is_number(count) and math.isfinite(count) else 0


def has_doubled(last: Flush | None, cycle: int, tokens: float | None) -> bool:
    """Return whether a conversation is twice as long as at the flush of this cycle, which then was early for it."""
    return last is not None and last.cycle == cycle and tokens is not None and 0 < 2 * last.tokens <= tokens


def next_request(
    last: Flush | None, cycle: int, path: str, now: float, *, before: str = "", tokens: int = 0, late: bool = False
) -> Flush | None:
    """Return the flush to request now, or None if one was requested a moment ago or is settled.

    `path` is today's log, and `before` the file name of its snapshot; 0 tokens are unknown. The request is `late` if a
    compaction came first.
    """
    if last is None or last.cycle != cycle or (last.step != "requested" and has_doubled(last, cycle, tokens)):
        return Flush(cycle, "requested", path, now, before=before, tokens=tokens, late=late)
    if last.step != "requested" or last.attempts >= MAX_ATTEMPTS or 0 <= now - last.at < CONCURRENT_SECONDS:
        return None
    return replace(last, path=path, at=now, attempts=last.attempts + 1, before=before)


def settle(last: Flush, evidence: Evidence, now: float) -> Flush:
    """Return the outcome of a requested flush. The log on disk decides, not the model's reply.

    Raises:
        UsageError: the flush was not requested.
    """
    if last.step != "requested":
        raise UsageError(f"The flush is {last.step}, not requested.", remedy="Ask for one first.")
    if evidence.grew:
        step: Step = "written"
    elif last.late or (evidence.reply is not None and is_no_reply(evidence.reply)):
        step = "nothing_to_store"
    else:
        step = "failed"
    return replace(last, step=step, at=now)


def is_no_reply(text: str) -> bool:
    """Return whether the model replied only that there is nothing to store."""
    return text.strip().strip("`*_.\"' ").upper().replace("NO REPLY", NO_REPLY) in {NO_REPLY, "NO_REPLY", "NOREPLY"}


def flush_json(flush: Flush) -> dict[str, Any]:
    """Return the flush in the form of the session's entry; the time is in milliseconds, as in OpenClaw."""
    return {
        "cycle": flush.cycle,
        "step": flush.step,
        "path": flush.path,
        "at": round(flush.at * 1000),
        "attempts": flush.attempts,
        "before": flush.before,
        "tokens": flush.tokens,
        "late": flush.late,
    }


def parse_flush(value: object) -> Flush | None:
    """Return the stored flush, or None if it has the wrong shape."""
    if not isinstance(value, Mapping):
        return None
    fields = cast("Mapping[str, Any]", value)
    cycle, step, path, at = (fields.get(name) for name in ("cycle", "step", "path", "at"))
    attempts = fields.get("attempts", 1)
    before = fields.get("before")
    if not (isinstance(cycle, int) and isinstance(path, str) and isinstance(attempts, int) and _is_number(at)):
        return None
    if not isinstance(step, str) or step not in STEPS:
        return None
    tokens = fields.get("tokens", 0)
    snapshot = before if isinstance(before, str) and _SNAPSHOT_NAME.fullmatch(before) else ""  # stays in the folder
    return Flush(
        cycle,
        cast("Step", step),
        path,
        at / 1000,
        attempts,
        snapshot,
        tokens if isinstance(tokens, int) else 0,
        fields.get("late") is True,
    )


def _current_tokens(entry: Mapping[str, Any]) -> float | None:
    """Return the context usage of a session, or None if it is unknown or older than the last compaction."""
    tokens = entry.get("totalTokens")
    fresh = entry.get("totalTokensFresh") is not False
    return tokens if fresh and _is_number(tokens) and math.isfinite(tokens) and tokens > 0 else None


def _is_number(value: object) -> TypeGuard[int | float]:
    """Return whether a stored value is a number that can be a count or a time; NaN and infinity cannot."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -1e18 < value < 1e18


def _whole(value: float) -> int:
    return math.floor(value) if math.isfinite(value) else 0


LOG = "memory/YYYY-MM-DD.md"
"""Placeholder for today's log. The agent may work in another folder, so it gets the absolute path."""
DAY = "YYYY-MM-DD"
"""Placeholder for today's date in a user's own prompt."""
CLOCK = "Current time:"

FLUSH = f"""\
Append to {LOG}, with memory_append if you have it, what must outlast this conversation and is not there \
yet: decisions with reasons, preferences, facts, open tasks; whole sentences, no passwords or keys, no other change.
When you are done, or if nothing has to be kept, answer with exactly {NO_REPLY}."""
FLUSH_SYSTEM = (
    "This turn serves only to save memories before the conversation is compacted. The user does not see it. "
    f"Write what must last, then answer {NO_REPLY}."
)
HINT = f"If there is nothing to store, answer with exactly {NO_REPLY}."
LATE = "This conversation was just replaced by a summary, and nothing was written down before."
ANSWER = "Then answer the user."


def flush_prompt(own: str | None, now: datetime, log: Path) -> str:
    """Return the flush request, with the date; with the user's own prompt also the time.

    `own` is a prompt from the user's settings that replaces the default. The path of the log is absolute.
    """
    return _add_places(_add_time(_add_hint(own), now) if own else FLUSH, now, log)


def flush_system_prompt(own: str | None, now: datetime) -> str:
    """Return the system prompt of the flush turn."""
    return _add_hint(own or FLUSH_SYSTEM).replace(DAY, now.date().isoformat())


def late_prompt(own: str | None, now: datetime, log: Path) -> str:
    """Return the request for a conversation that was compacted before its flush. The user waits for an answer after it.

    `own` is a prompt from the user's settings; it counts unless it asks for `NO_REPLY`, which would be the answer.
    """
    request = FLUSH.partition("\n")[0] if own is None or NO_REPLY in own else own
    return f"{LATE} {_add_places(request, now, log)}\n{ANSWER}"


def _add_places(text: str, now: datetime, log: Path) -> str:
    return text.replace(LOG, str(log)).replace(DAY, now.date().isoformat())


def _add_hint(text: str) -> str:
    return text if NO_REPLY in text else f"{text.rstrip()}\n\n{HINT}"


def _add_time(text: str, now: datetime) -> str:
    if CLOCK in text:
        return text
    offset = f"{now:%z}"
    return f"{text.rstrip()}\n\n{CLOCK} {now:%Y-%m-%d %H:%M} (UTC{offset[:3]}:{offset[3:5]})"
