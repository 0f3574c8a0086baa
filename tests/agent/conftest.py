"""A workspace with notes, a home of its own, and a memory of them by the provider for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoriter import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SETTINGS = '{agents: {defaults: {userTimezone: "UTC", memorySearch: {provider: "fake"}}}}'
NOTES = {
    "MEMORY.md": "# Decisions\n\n- We chose PostgreSQL for the ledger because of ACID.\n- Coffee: flat white.\n",
    "memory/travel.md": "# Travel\n\n- The Osaka trip starts on the twelfth of April from Kansai airport.\n",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "memoriter.json5").write_text(SETTINGS, encoding="utf-8")
    return folder


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    for name, text in NOTES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def memory(notes: Path, home: Path) -> Iterator[Memory]:
    with Memory.open(notes, home=home) as opened:
        yield opened
