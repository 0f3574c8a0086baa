"""The JSON form of results: complete, in camelCase, and without the fields that have nothing to say."""

from __future__ import annotations

from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.api_json import (
    compact_json,
    estimate_json,
    forget_plan_json,
    health_json,
    hit_json,
    status_json,
    sync_json,
    watch_json,
)
from memoriter.backends import ForgetPlan, ForgetRequest
from memoriter.types import (
    Attempt,
    BackgroundRun,
    Canary,
    CompactReport,
    Diagnostic,
    Estimate,
    Explanation,
    Health,
    Hit,
    LineScore,
    RerankerState,
    SidecarCollection,
    SidecarStatus,
    Skipped,
    SourceCount,
    Status,
    SyncReport,
)
from memoriter.watch import WatchEvent
from memoriter.workspace import Removal, RemovedPassage

if TYPE_CHECKING:
    from collections.abc import Callable

REASON = Diagnostic("no_notes", "The workspace has no notes.", "Write one.")
HEALTH = Health({"keyword": True, "vector": False}, 2, 3, (REASON,))
PLACE = {"agent": "main", "workspace": "/notes", "workspace_reason": "asked for", "index": "/home/main.sqlite"}
COUNTS = {"index_bytes": 1, "files": 2, "chunks": 3, "vectors": 4, "pending": 5, "failed": 6, "dimensions": 7}
MODEL = {"provider": "bundled", "model": "e5", "vector_engine": "exact", "scoring": "calibrated", "backend": "builtin"}
BARE: dict[str, Any] = {**PLACE, **COUNTS, **MODEL, "leaves_machine": False, "background": None, "health": HEALTH}
FULL: dict[str, Any] = {
    **BARE,
    "background": (0.7, 0.1),
    "skipped": (Skipped("memory/a.md", "symlink", "symbolic links are not followed"),),
    "canaries": (Canary("MEMORY.md#L1", "tea", found=False, lost=("vector",)),),
    "endpoint": "https://example.com",
    "key_source": "environment",
    "oversampling": 4,
    "recall": 0.995,
    "sources": (SourceCount("memory", 2, 3),),
    "index_reason": "on a network",
    "notices": (REASON,),
    "last_attempt": Attempt(1_500_000_000.25, REASON),
    "indexing": BackgroundRun(1, 1_500_000_000.25),
    "reranker": RerankerState("cohere", "rerank-v5.0-fast", "https://example.com", "environment", leaves_machine=True),
    "long_term_memories": 3,
    "sidecar": SidecarStatus(
        "qmd",
        "builtin",
        REASON,
        7.0,
        "/bin/qmd",
        collections=(SidecarCollection("memory-root-main", "/notes", "MEMORY.md", 1, missing=False),),
        last_update=1_500_000_000.25,
    ),
}
RERANKED: dict[str, Any] = {"rank": 2, "reranked": 1, "relevance": 0.125}
LINES = (LineScore(1, "lex", 0.75, 1, 0.03),)
EXPLANATION = Explanation(0.5, 0.25, 1.0, 1.0, 1.0, 0.0, ("tea",), 0.5, 0.75, **RERANKED, lines=LINES)
PLAN = ForgetPlan(
    ForgetRequest(path="MEMORY.md"),
    (
        Removal(
            "MEMORY.md", Path("/notes/MEMORY.md"), "hash", (RemovedPassage(1, 2, "- Tea.\n- Coffee."),), whole=False
        ),
    ),
    transcripts=(Path("/sessions/one.jsonl"),),
)


def camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))


@pytest.mark.parametrize(
    ("form", "value", "renamed"),
    [
        pytest.param(status_json, Status(**FULL), {}, id="status"),
        pytest.param(sync_json, SyncReport(health=HEALTH), {}, id="sync"),
        pytest.param(compact_json, CompactReport(1, 2, 3, 4, ("a",), 5, damaged_removed=True), {}, id="compact"),
        pytest.param(estimate_json, Estimate(1, 2, 3, 4, 5, 6, None, seconds=7.0), {}, id="estimate"),
        pytest.param(
            lambda hit: hit_json(hit, citations=False, texts=True),
            Hit(
                *(
                    "MEMORY.md",
                    1,
                    2,
                    0.5,
                    "Tea.",
                    "memory",
                    ("Drinks",),
                    EXPLANATION,
                    date(2026, 2, 10),
                    "Tea.",
                    (1, 2),
                ),
                changed=date(2026, 2, 11),
                outside_time=True,
            ),
            {"explanation": "explain"},
            id="hit",
        ),
        pytest.param(lambda hit: hit_json(hit, citations=False)["explain"], None, {}, id="explanation"),
        pytest.param(health_json, HEALTH, {}, id="health"),
    ],
)
def test_every_field_of_a_result_is_in_its_json(
    form: Callable[[Any], dict[str, Any]], value: Any, renamed: dict[str, str]
) -> None:
    if value is None:
        answer = form(Hit("MEMORY.md", 1, 2, 0.5, "Tea.", "memory", (), EXPLANATION))
        value = EXPLANATION
    else:
        answer = form(value)
    expected = {renamed.get(field.name, camel_case(field.name)) for field in fields(value)}
    assert set(answer) - {"dryRun", "ok"} == expected


def test_a_status_omits_what_has_nothing_to_say() -> None:
    answer = status_json(Status(**BARE))
    full = status_json(Status(**FULL))
    omitted = {
        "canaries",
        "indexReason",
        "indexing",
        "lastAttempt",
        "longTermMemories",
        "notices",
        "oversampling",
        "recall",
        "reranker",
        "sidecar",
    }
    assert set(full) - set(answer) == omitted
    assert [key for key in full if key in answer] == list(answer)
    assert (answer["background"], full["background"]) == (None, {"mean": 0.7, "deviation": 0.1})


def test_a_count_is_there_although_it_is_zero_but_not_that_of_the_folders_of_an_event() -> None:
    assert status_json(Status(**{**FULL, "long_term_memories": 0, "recall": 0.0}))["longTermMemories"] == 0
    assert "folders" not in watch_json(WatchEvent("indexed", 1_500_000_000.25))
    assert watch_json(WatchEvent("watching", 1_500_000_000.25, folders=2))["folders"] == 2


def test_a_time_is_iso_8601_in_utc_with_milliseconds() -> None:
    reason = {"code": "no_notes", "message": "The workspace has no notes.", "remedy": "Write one."}
    time = "2017-07-14T02:40:00.250Z"
    assert status_json(Status(**FULL))["lastAttempt"] == {"time": time, "ok": False, "reason": reason}
    assert watch_json(WatchEvent("started", 1_500_000_000.25)) == {"kind": "started", "time": time}


def test_a_plan_to_forget_names_its_files_and_passages() -> None:
    assert forget_plan_json(PLAN) == {
        "dryRun": True,
        "notes": [
            {
                "path": "MEMORY.md",
                "whole": False,
                "passages": [{"startLine": 1, "endLine": 2, "text": "- Tea.\n- Coffee."}],
            }
        ],
        "transcripts": [str(Path("/sessions/one.jsonl"))],
        "indexed": [],
        "journaled": 0,
        "kept": [],
        "unfinished": False,
        "unreached": [],
        "recovered": [],
    }
