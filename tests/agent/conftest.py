"""Fixtures: a workspace with notes, a home folder, and a memory of them with the `fake` provider."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from memoriter import Memory
from memoriter.app import assemble, read_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
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


@dataclass
class Clock:
    """A clock that tests set."""

    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds

    def set(self, moment: str) -> None:
        """Set the clock to an ISO time with a UTC offset."""
        self.seconds = datetime.fromisoformat(moment).timestamp()


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.set("2026-02-10T12:00:00+00:00")
    return clock


@pytest.fixture
def at(notes: Path, home: Path, clock: Clock) -> Iterator[Callable[..., Memory]]:
    """Return a function that opens the memory like a new process, with the test's clock and keys of
    `agents.defaults`.
    """
    opened = list[Memory]()

    def open_memory(**defaults: str) -> Memory:
        if defaults:
            keys = ", ".join(f"{key}: {value}" for key, value in defaults.items())
            text = f'{{agents: {{defaults: {{memorySearch: {{provider: "fake"}}, {keys}}}}}}}'
            (home / "memoriter.json5").write_text(text, encoding="utf-8")
        memory = Memory(assemble(notes, env=replace(read_environment(home), wall=clock)))
        opened.append(memory)
        return memory

    yield open_memory
    for memory in opened:
        memory.close()
