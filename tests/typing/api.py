"""Programs as users write them: the strict type checker accepts every line, and a test runs them on real notes."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, assert_type

from memoriter import (
    AsyncMemory,
    Diagnostic,
    DiagnosticCode,
    Excerpt,
    Health,
    Hit,
    MemoriterError,
    Memory,
    Remembered,
    SearchResult,
    Status,
    SyncReport,
    WorkspaceNotFound,
)
from memoriter.tools import TOOLS, Tool

if TYPE_CHECKING:
    from pathlib import Path


def answers(notes: Path, home: Path) -> list[str]:
    with Memory.open(notes, home=home) as memory:
        result = memory.search("which database?", since=date(2026, 1, 1), until="today", changed=True, max_results=3)
        assert_type(result, SearchResult)
        assert_type(memory.search("which database?", on="2026-01-01"), SearchResult)
        assert all(memory.file_of(hit.path) == notes / hit.path for hit in result.hits)
        return [line(hit) for hit in result.hits]


async def awaited(notes: Path, home: Path) -> list[str]:
    async with await AsyncMemory.open(notes, home=home) as memory:
        result = await memory.search("which database?", since=date(2026, 1, 1), changed=True, max_results=3)
        assert_type(result, SearchResult)
        assert_type(await memory.remember("The office moved to Lisbon."), Remembered)
        return [line(hit) for hit in result.hits]


def line(hit: Hit) -> str:
    assert_type(hit.score, float)
    assert_type(hit.start_line, int)
    assert_type(hit.date, date | None)
    assert_type(hit.changed, date | None)
    return f"{hit.citation}: {hit.text}"


def day(notes: Path, home: Path) -> list[DiagnosticCode]:
    with Memory.open(notes, home=home) as memory:
        written = memory.remember("The office moved to Lisbon.", to="long-term")
        assert_type(written, Remembered)
        assert_type(memory.sync(), SyncReport)
        assert_type(memory.read("MEMORY.md", start=1, lines=2), Excerpt)
        status = memory.status()
        assert_type(status, Status)
        return problems(status.health)


def problems(health: Health) -> list[DiagnosticCode]:
    def urgent(diagnostic: Diagnostic) -> bool:
        return diagnostic.code != "stale"

    return [diagnostic.code for diagnostic in health.reasons if urgent(diagnostic)]


def refused(folder: Path, home: Path) -> str:
    try:
        Memory.open(folder, home=home).close()
    except WorkspaceNotFound as error:
        return error.remedy
    except MemoriterError as error:
        return error.code
    return ""


def offered() -> list[str]:
    assert_type(TOOLS, tuple[Tool, ...])
    return [tool.name for tool in TOOLS]
