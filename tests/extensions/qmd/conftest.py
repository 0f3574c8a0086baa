"""Notes and the scripted QMD."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qmd_programs import QmdMemory, ScriptedQmd

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def qmd(tmp_path: Path) -> ScriptedQmd:
    return ScriptedQmd.at(tmp_path / "bin")


@pytest.fixture
def memory(tmp_path: Path, qmd: ScriptedQmd) -> Iterator[QmdMemory]:
    memory = QmdMemory(tmp_path, qmd.program)
    memory.write("MEMORY.md", "# Decisions\n\n- We chose PostgreSQL for the ledger because of ACID.\n")
    memory.write("memory/2026-02-10.md", "# Router\n\nThe Omada ER605 keeps VLAN 10 for the printers.\n")
    yield memory
    memory.close()
