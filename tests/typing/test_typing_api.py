"""The public names hold what the type checker believes of them."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import memoriter
from memoriter.codes import CODES, stored_code

if TYPE_CHECKING:
    from types import ModuleType


@pytest.fixture(scope="module")
def api() -> ModuleType:
    spec = importlib.util.spec_from_file_location("api", Path(__file__).with_name("api.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_program_that_the_type_checker_accepts_runs(api: ModuleType, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    home = tmp_path / "home"
    notes.mkdir()
    home.mkdir(mode=0o700)
    (home / "memoriter.json5").write_text('{agents: {defaults: {memorySearch: {provider: "none"}}}}', encoding="utf-8")
    (notes / "MEMORY.md").write_text("- The ledger database is PostgreSQL.\n", encoding="utf-8")
    assert api.answers(notes, home) == ["MEMORY.md#L1: - The ledger database is PostgreSQL."]
    assert asyncio.run(api.awaited(notes, home)) == ["MEMORY.md#L1: - The ledger database is PostgreSQL."]
    assert set(api.day(notes, home)) <= CODES
    assert api.refused(tmp_path / "nowhere", home)
    assert "memory_search" in api.offered()


def test_every_public_name_can_be_imported_and_no_other() -> None:
    assert sorted(memoriter.__all__) == memoriter.__all__ == dir(memoriter)
    assert all(getattr(memoriter, name) is not None for name in memoriter.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Index'"):
        _ = memoriter.Index  # type: ignore[attr-defined]


def test_a_code_that_another_version_stored_becomes_one_that_is_known() -> None:
    assert [stored_code(code) for code in ("stale", "of_tomorrow")] == ["stale", "failed"]
