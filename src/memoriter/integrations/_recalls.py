"""What a recall before a turn has found, for programs and for models that get nothing else about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.api_json import reason_json

if TYPE_CHECKING:
    from memoriter.agent import HookResult
    from memoriter.types import Diagnostic

UNAVAILABLE = "[memory] The memory was not searched completely. Say that, and do not say that nothing is known."


def recall_json(recalled: HookResult) -> dict[str, Any]:
    """Return `outcome`, `citations` of the passages that were inserted, and `health` with all that was wrong."""
    reasons = problems(recalled)
    health = {"ok": not reasons, "reasons": [reason_json(reason) for reason in reasons]}
    return {"outcome": recalled.outcome, "citations": list(recalled.citations), "health": health}


def problems(recalled: HookResult) -> tuple[Diagnostic, ...]:
    """Return what failed at a recall, and what is wrong with the memory that was searched; each once."""
    health = recalled.health.reasons if recalled.health is not None else ()
    return tuple(dict.fromkeys((*recalled.reasons, *health)))


def text_with_notices(recalled: HookResult) -> str:
    """Return the recalled text for a model, followed by what was wrong."""
    warning = [UNAVAILABLE] if recalled.outcome == "unavailable" else []
    notices = [f"The memory may be incomplete: {reason.message}" for reason in problems(recalled)]
    return "\n\n".join(part for part in (recalled.prepend_context, *warning, *notices) if part)
