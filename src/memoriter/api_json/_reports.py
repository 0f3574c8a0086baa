"""JSON form of reports: what indexing, watching, compacting and forgetting did, or would do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from memoriter.api_json._form import Field, apply_form, iso_time, list_of, object_of, plain
from memoriter.api_json._state import HEALTH, REASON, REASONS, SKIPPED

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from memoriter.backends import ForgetPlan, Forgotten
    from memoriter.types import CompactReport, Diagnostic, Estimate, SyncReport


def _paths(files: Iterable[Path]) -> list[str]:
    return [str(file) for file in files]


SYNC = {
    **plain("files", "added", "changed", "removed", "chunks", "embedded", "cached", "failed", "seconds", "pending"),
    "unread": Field(),
    "reasons": REASONS,
    "health": Field(object_of(HEALTH), omit="none"),
}
WATCH = {
    "kind": Field(),
    "at": Field(iso_time, key="time"),
    "folders": Field(omit="empty"),
    "report": Field(object_of(SYNC), omit="none"),
    "reason": Field(object_of(REASON), omit="none"),
}
ESTIMATE = {
    **plain("files", "added", "changed", "removed", "chunks", "tokens", "price", "price_seen"),
    "skipped": SKIPPED,
}
COMPACT = {
    **plain("bytes_before", "bytes_after", "vectors", "unused"),
    "damaged": Field(list),
    **plain("damaged_bytes", "damaged_removed", "seconds"),
}
REMOVAL = {**plain("path", "whole"), "passages": Field(list_of(plain("start_line", "end_line", "text")))}
FORGET_PLAN = {
    "notes": Field(list_of(REMOVAL)),
    "transcripts": Field(_paths),
    "indexed": Field(list),
    "kept": Field(_paths),
    "unfinished": Field(),
    "unreached": REASONS,
}


class WatchEventLike(Protocol):
    """An event of a watcher."""

    @property
    def kind(self) -> str: ...
    @property
    def at(self) -> float: ...
    @property
    def report(self) -> SyncReport | None: ...
    @property
    def reason(self) -> Diagnostic | None: ...
    @property
    def folders(self) -> int: ...


def sync_json(report: SyncReport) -> dict[str, Any]:
    """Return the report of an indexing run; times in seconds."""
    return apply_form(report, SYNC)


def watch_json(event: WatchEventLike) -> dict[str, Any]:
    """Return an event of a watcher; the time is ISO 8601 in UTC, `report` and `reason` are optional."""
    return apply_form(event, WATCH)


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """Return an estimate of an indexing run; `dryRun` distinguishes it from a report."""
    return {"dryRun": True, **apply_form(estimate, ESTIMATE)}


def compact_json(report: CompactReport) -> dict[str, Any]:
    """Return the report of a compaction of the index; `vectors` were removed, `unused` ones stayed."""
    return apply_form(report, COMPACT)


def forget_plan_json(plan: ForgetPlan) -> dict[str, Any]:
    """Return a plan of what to forget; `dryRun` distinguishes it from a receipt."""
    return {"dryRun": True, **apply_form(plan, FORGET_PLAN)}


def forgotten_json(receipt: Forgotten) -> dict[str, Any]:
    """Return a receipt of what was forgotten.

    `whole` is true if the file of a note itself was removed. `index` is null if the index was not reached; `left` has
    the steps that remain.
    """
    plan = apply_form(receipt.plan, FORGET_PLAN)
    return {
        **apply_form(receipt, {"notes": Field(list_of(REMOVAL)), "transcripts": Field(_paths)}),
        "kept": plan["kept"],
        "index": compact_json(receipt.index) if receipt.index else None,
        "left": REASONS.convert(receipt.left),
        "unreached": plan["unreached"],
    }
