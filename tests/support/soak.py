"""Ten processes on one workspace: searches, entries, edits, indexing, rebuilds and compactions, all at once.

`load` runs them and says what they met; the test of it and `just soak` differ only in how long it takes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import memoriter
from memoriter import Memory
from memoriter.errors import MemoriterError, WriteConflict
from memoriter.ids import bytes_hash
from memoriter.workspace import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

ROLES = (*["search"] * 4, *["remember"] * 2, *["edit"] * 2, "index", "rebuild")
STEADY = 24
"""Notes that nobody changes: whoever asks for them must get them all, whatever is being built meanwhile."""
EDITED = 5
SETTINGS = {"provider": "fake", "sync": {"watchDebounceMs": 50}}


def factor() -> float:
    """How much longer than in CI long tests take."""
    return float(os.environ.get("MEMORITER_SOAK", "1"))


@dataclass
class Figures:
    """What one process met, or all of them together."""

    role: str
    done: int = 0
    seconds: list[float] = field(default_factory=list)
    """Of each search."""
    errors: list[str] = field(default_factory=list)
    """What a user would have been shown as an error."""
    torn: list[str] = field(default_factory=list)
    """Answers that were neither of the old index nor of the new one."""
    busy: int = 0
    """Answers that told of another process that was indexing."""
    written: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    """How often each file was edited."""


@dataclass
class Place:
    """A workspace with its home."""

    notes: Path
    home: Path

    @classmethod
    def made(cls, folder: Path) -> Place:
        place = cls(folder / "notes", folder / "home")
        place.home.mkdir(parents=True)
        settings = {"agents": {"defaults": {"memorySearch": SETTINGS}}}
        (place.home / "memoriter.json5").write_text(json.dumps(settings), encoding="utf-8")
        for number in range(STEADY):
            place.write(f"memory/steady/{number:02}.md", f"# Steady {number}\n\nsteadfast word{number}steady\n")
        for number in range(EDITED):
            place.write(f"memory/edited/{number}.md", "# Counters\n\n")
        return place

    def write(self, path: str, text: str) -> None:
        file = self.notes / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def memory(self) -> Memory:
        return Memory.open(self.notes, home=self.home)


# what one process does


def search(place: Place, draw: Random, figures: Figures) -> None:
    """Open, ask a few times, close: as a command, and as a program that stays."""
    with place.memory() as memory:
        for _ in range(draw.choice([1, 1, 20])):
            number = draw.randrange(STEADY)
            every = draw.random() < 0.5
            started = time.monotonic()
            found = memory.search("steadfast" if every else f"word{number}steady", max_results=40, min_score=0.0)
            figures.seconds.append(time.monotonic() - started)
            figures.busy += any(reason.code == "index_busy" for reason in found.health.reasons)
            paths = {hit.path for hit in found.results}
            wanted = {f"memory/steady/{n:02}.md" for n in (range(STEADY) if every else (number,))}
            if not wanted <= paths:
                figures.torn.append(f"{sorted(wanted - paths)} {found.health}")


def remember(place: Place, draw: Random, figures: Figures) -> None:
    word = f"entry{os.getpid()}x{len(figures.written)}"
    to = draw.choice(["daily", "long-term"])
    with place.memory() as memory:
        memory.remember(f"{word} was written down.", to="long-term" if to == "long-term" else "daily")
    figures.written.append(word)


def edit(place: Place, draw: Random, figures: Figures) -> None:
    """Count up our own line in a file that others edit too: a lost edit is a missing count."""
    name = f"memory/edited/{draw.randrange(EDITED)}.md"
    file = place.notes / name
    own = f"editor{os.getpid()}:"
    while True:
        before = file.read_bytes()
        lines = [line for line in before.decode().splitlines() if not line.startswith(own)]
        text = "\n".join([*lines, f"{own} {figures.counts.get(name, 0) + 1}"]) + "\n"
        try:
            replace(file, text, expected=bytes_hash(before))
        except WriteConflict:
            continue
        figures.counts[name] = figures.counts.get(name, 0) + 1
        return


def index(place: Place, draw: Random, figures: Figures) -> None:
    del draw, figures
    with place.memory() as memory:
        memory.sync()


def rebuild(place: Place, draw: Random, figures: Figures) -> None:
    del figures
    with place.memory() as memory:
        if draw.random() < 0.7:
            memory.sync(force=True)
        else:
            memory.compact(unused=True)


ACTS = {"search": search, "remember": remember, "edit": edit, "index": index, "rebuild": rebuild}


def work(role: str, place: Place, seconds: float, seed: int) -> Figures:
    """Play one role for so long, and at least three times."""
    figures = Figures(role)
    draw = Random(seed)
    end = time.monotonic() + seconds
    while time.monotonic() < end or figures.done < 3:
        try:
            ACTS[role](place, draw, figures)
        except MemoriterError as error:
            figures.errors.append(f"{role}: {error.code}: {error.message}")
        figures.done += 1
    return figures


# all of them


@dataclass
class Load:
    """What ten processes met, and what was left afterwards."""

    figures: list[Figures]
    lost: list[str]
    """Entries and edits that are not in the notes, or not found."""
    generation: int
    crashed: list[str]

    def all(self, role: str) -> Iterator[Figures]:
        return (each for each in self.figures if each.role == role)

    @property
    def errors(self) -> list[str]:
        return [error for each in self.figures for error in each.errors]

    @property
    def torn(self) -> list[str]:
        return [answer for each in self.figures for answer in each.torn]

    def summary(self) -> str:
        """The figures, for people."""
        reads = sorted(second for each in self.figures for second in each.seconds)
        done = Counter[str]()
        for each in self.figures:
            done[each.role] += each.done
        counts = ", ".join(f"{role} {count}" for role, count in done.items())
        writes = sum(len(each.written) + sum(each.counts.values()) for each in self.figures)
        return (
            f"{len(self.figures)} processes: {counts}; {len(reads)} reads, p50 {_share(reads, 0.5) * 1000:.0f} ms, "
            f"p99 {_share(reads, 0.99) * 1000:.0f} ms, longest {reads[-1] * 1000:.0f} ms; "
            f"{writes} writes, {len(self.lost)} lost; {len(self.errors)} errors, {len(self.torn)} torn answers, "
            f"{sum(each.busy for each in self.figures)} answers while another process indexed; "
            f"generation {self.generation}"
        )


def _share(ordered: list[float], part: float) -> float:
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)]


def load(folder: Path, seconds: float) -> Load:
    """Let ten processes work on one new workspace for so long."""
    place = Place.made(folder)
    with place.memory() as memory:
        memory.sync()
    sources = os.pathsep.join([str(Path(memoriter.__file__).parents[1]), str(Path(__file__).parent)])
    environment = {**os.environ, "PYTHONPATH": sources, "MEMORITER_HOME": str(place.home), "OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, role, str(folder), str(seconds), str(seed)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
        )
        for seed, role in enumerate(ROLES)
    ]
    ended = [(process.communicate(timeout=seconds * 3 + 300), process) for process in processes]
    crashed = [problems for (_, problems), process in ended if process.returncode or problems]
    figures = [Figures(**json.loads(printed)) for (printed, _), process in ended if not process.returncode]
    lost, generation = _missing(place, figures)
    return Load(figures, lost, generation, crashed)


def _missing(place: Place, figures: list[Figures]) -> tuple[list[str], int]:
    """What was written and is not there, once in a note and once in the index."""
    texts = {file.relative_to(place.notes).as_posix(): file.read_text("utf-8") for file in place.notes.rglob("*.md")}
    words = Counter(word for text in texts.values() for word in text.split())
    lost = [word for each in figures for word in each.written if words[word] != 1]
    lines = {(name, line) for name, text in texts.items() for line in text.splitlines()}
    edits = [(name, count) for each in figures for name, count in each.counts.items()]
    counts = Counter((name, line.partition(": ")[2]) for name, line in lines if line.startswith("editor"))
    lost += [f"{name} {count}" for name, count in edits if not counts[name, str(count)]]
    with place.memory() as memory:
        memory.sync()
        for word in (word for each in figures for word in each.written):
            hits = memory.search(word, max_results=3, min_score=0.0).results
            places = ((hit.path, hit.start_line, hit.end_line - hit.start_line + 1) for hit in hits)
            if not any(word in memory.read(path, start=start, lines=lines).text for path, start, lines in places):
                lost.append(f"{word} is not found")
        return lost, memory.status().health.generation


def main(words: list[str]) -> None:
    role, folder, seconds, seed = words
    figures = work(role, Place(Path(folder) / "notes", Path(folder) / "home"), float(seconds), int(seed))
    answer: dict[str, Any] = vars(figures)
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1:])
