"""JSON form of all results, shared by the command line, MCP, HTTP and the tools; keys are camelCase."""

from memoriter.api_json._reports import (
    compact_json,
    estimate_json,
    forget_plan_json,
    forgotten_json,
    sync_json,
    watch_json,
)
from memoriter.api_json._results import (
    appended_json,
    error_json,
    excerpt_json,
    hit_json,
    refusal_json,
    result_json,
    unavailable_json,
    with_footer,
)
from memoriter.api_json._state import cost_json, health_json, reason_json, status_json

__all__ = [
    "appended_json",
    "compact_json",
    "cost_json",
    "error_json",
    "estimate_json",
    "excerpt_json",
    "forget_plan_json",
    "forgotten_json",
    "health_json",
    "hit_json",
    "reason_json",
    "refusal_json",
    "result_json",
    "status_json",
    "sync_json",
    "unavailable_json",
    "watch_json",
    "with_footer",
]
