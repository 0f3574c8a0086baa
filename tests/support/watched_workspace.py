"""A watched workspace, and the content of its index."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import json5

from memoriter import Memory
from memoriter.app import Environment, assemble

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoriter.watch import WatchEvent, Watching

QUIET_MS = 200
LIMIT = 150.0
"""Seconds that anything may take on a machine that does much else."""


def until(holds: Callable[[], bool], what: str = "") -> None:
    """Wait for a condition."""
    end = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < end, what or "it never came true"
        time.sleep(0.01)


@dataclass
class WatchedWorkspace:
    """A workspace and a home, with a memory that may be watched."""

    root: Path
    opened: list[Memory] = field(default_factory=list)
    watches: list[Watching] = field(default_factory=list)
    events: list[WatchEvent] = field(default_factory=list)
    embedded: list[str] = field(default_factory=list)
    """Texts of chunks, as they are handed to the provider."""
    known: list[str] = field(default_factory=list)

    @property
    def notes(self) -> Path:
        return self.root / "notes"

    def write(self, path: str, text: str) -> Path:
        file = self.notes / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def open(self, home: str = "home", clock: Callable[[], float] = time.monotonic, **search: Any) -> Memory:
        place = self.root / home
        place.mkdir(exist_ok=True)
        settings = {"provider": "fake", "sync": {"watchDebounceMs": QUIET_MS}, **search}
        config = place / "memoriter.json5"
        config.write_text(json5.dumps({"agents": {"defaults": {"memorySearch": settings}}}), encoding="utf-8")
        environment = Environment({"MEMORITER_HOME": str(place)}, place, self.notes, time.time, clock)
        self.opened.append(Memory(assemble(self.notes, config=config, env=environment)))
        return self.opened[-1]

    def watch(self, memory: Memory) -> Watching:
        """Watch in the background; returns when all is indexed."""
        watching = memory.watching(self.events.append)
        self.watches.append(watching)
        until(lambda: watching.settled or any(event.kind == "polling" for event in self.events), "it never settles")
        return watching

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    def close(self) -> None:
        for watching in self.watches:
            watching.close()
        for memory in self.opened:
            memory.close()


def indexed_files(memory: Memory) -> dict[str, tuple[str, list[tuple[int, int, str]]]]:
    """The content of the index: hashes and chunks by path."""
    index = memory._backend.index
    files = index.files()
    rows = [index.rows(index.ids_at(path)).values() for path in files]
    chunks = [[(row.chunk.start_line, row.chunk.end_line, row.chunk.text) for row in each] for each in rows]
    return {path: (files[path].hash, texts) for path, texts in zip(files, chunks, strict=True)}
