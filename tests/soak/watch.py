"""`memoriter watch` against a workspace that is edited all the time: is every change found, and how soon?

    python tests/soak/watch.py --minutes 10

Searches here never look at the files (`sync.onSearch` is off), so what they find was indexed by the watcher. A probe is
a word that is nowhere else, put into a note, changed or taken away in one of the ways in which programs save. It is
right once a search finds the word in its place and its old word nowhere; some are asked through the command line too.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from memoriter import Memory

PATIENCE = 150.0
"""Seconds until a probe counts as wrong."""
STYLES = ("create", "truncate", "rename over", "backup", "unlink and create", "slow", "delete", "move", "move folder")
SYLLABLES = ["ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "zu"]


@dataclass
class Probe:
    """One change, and what became of it."""

    style: str
    right: bool
    seconds: float
    by_command: bool | None = None


@dataclass
class Editor:
    """Edits notes in a folder of its own, and asks for what it wrote."""

    number: int
    notes: Path
    home: Path
    until: float
    probes: list[Probe] = field(default_factory=list)

    def run(self) -> None:
        self.chance = random.Random(self.number)
        self.folder = self.notes / "memory" / f"desk{self.number}"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.count = 0
        with Memory.open(self.notes, home=self.home) as memory:
            while time.monotonic() < self.until:
                self._probe(memory)

    def word(self) -> str:
        return "".join(self.chance.choices(SYLLABLES, k=7)) + "x"

    def _probe(self, memory: Memory) -> None:
        style = self.chance.choice(STYLES)
        self.count += 1
        file = self.folder / f"note{self.count}.md"
        old = self.word()
        new = self.word()
        if style != "create":
            file.write_text(self._text(old), encoding="utf-8")
            if not self._holds(memory, {old: file}, []):
                self.probes.append(Probe("create", right=False, seconds=PATIENCE))
                return
        place = getattr(self, f"_{style.replace(' ', '_')}")(file, new)
        began = time.monotonic()
        gone = [old] if style not in {"create", "move", "move folder"} else []
        expected = {} if style == "delete" else {old if style.startswith("move") else new: place}
        right = self._holds(memory, expected, gone)
        probe = Probe(style, right, time.monotonic() - began)
        if self.chance.random() < 0.2:
            probe.by_command = self._found_by_command(expected, gone)
        self.probes.append(probe)

    def _text(self, word: str) -> str:
        return f"# Note {self.count}\n\nSome words that many notes share.\n\n## Probe\n\nThe secret word is {word}.\n"

    def _holds(self, memory: Memory, expected: dict[str, Path], gone: list[str]) -> bool:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            hits = {word: memory.search(word, max_results=3).hits for word in [*expected, *gone]}
            where = {word: {hit.path for hit in found if word in hit.snippet} for word, found in hits.items()}
            there = all(where[word] == {self._cited(file)} for word, file in expected.items())
            if there and not any(where[word] for word in gone):
                return True
            time.sleep(0.05)
        return False

    def _found_by_command(self, expected: dict[str, Path], gone: list[str]) -> bool:
        for word in [*expected, *gone]:
            words = [sys.executable, "-m", "memoriter", "-w", str(self.notes), "--json", "search", word]
            done = subprocess.run(words, capture_output=True, text=True, env=environ(self.home), timeout=150)
            found = {hit["path"] for hit in json.loads(done.stdout)["results"] if word in hit["snippet"]}
            if found != ({self._cited(expected[word])} if word in expected else set()):
                return False
        return True

    def _cited(self, file: Path) -> str:
        return file.relative_to(self.notes).as_posix()

    # the ways to save: each returns where the note is then

    def _create(self, file: Path, word: str) -> Path:
        file.write_text(self._text(word), encoding="utf-8")
        return file

    _truncate = _create

    def _slow(self, file: Path, word: str) -> Path:
        text = self._text(word)
        with file.open("w", encoding="utf-8") as out:
            for start in range(0, len(text), 30):
                out.write(text[start : start + 30])
                out.flush()
                time.sleep(self.chance.random() / 5)
        return file

    def _rename_over(self, file: Path, word: str) -> Path:
        beside = file.with_name(f".{file.name}.tmp{self.chance.randrange(10**6)}")
        self._create(beside, word).replace(file)
        return file

    def _backup(self, file: Path, word: str) -> Path:
        backup = file.with_name(file.name + "~")
        file.replace(backup)
        time.sleep(self.chance.random() / 10)
        self._create(file, word)
        backup.unlink()
        return file

    def _unlink_and_create(self, file: Path, word: str) -> Path:
        file.unlink()
        time.sleep(self.chance.random() / 10)
        return self._create(file, word)

    def _delete(self, file: Path, word: str) -> Path:
        del word
        file.unlink()
        return file

    def _move(self, file: Path, word: str) -> Path:
        return file.replace(file.with_name(f"moved-{word}.md"))

    def _move_folder(self, file: Path, word: str) -> Path:
        inner = self.folder / f"inner{self.count}"
        inner.mkdir()
        file.replace(inner / file.name)
        return inner.replace(self.folder / f"{word}") / file.name


def environ(home: Path) -> dict[str, str]:
    return {**os.environ, "MEMORITER_HOME": str(home)}


def noise(notes: Path, stop: threading.Event) -> None:
    """What nobody wants indexed: swap files, and a package manager at work."""
    modules = notes / "memory" / "node_modules"
    number = 0
    while not stop.wait(0.05):
        number += 1
        folder = modules / f"package{number % 200}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "README.md").write_text("Nobody asked for this.\n", encoding="utf-8")
        swap = notes / "memory" / f".note{number % 5}.md.swp"
        swap.write_text("b0VIM", encoding="utf-8")
        swap.unlink()


def watcher_of(notes: Path, home: Path) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "memoriter", "-w", str(notes), "watch", "--json"]
    out = (home / "watch.jsonl").open("w", encoding="utf-8")
    return subprocess.Popen(words, stdout=out, stderr=subprocess.STDOUT, env=environ(home), text=True)


def play(folder: Path, minutes: float, notes_count: int, provider: str, editors: int) -> dict[str, object]:
    notes = folder / "notes"
    home = folder / "home"
    home.mkdir()
    for number in range(notes_count):
        file = notes / "memory" / f"part{number % 20}" / f"{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# Part {number}\n\nSome words that many notes share, and {number}.\n", encoding="utf-8")
    settings = {"provider": provider, "sync": {"onSearch": False}}
    (home / "memoriter.json5").write_text(json.dumps({"agents": {"defaults": {"memorySearch": settings}}}))
    with Memory.open(notes, home=home) as memory:
        memory.sync()
    watcher = watcher_of(notes, home)
    stop = threading.Event()
    until = time.monotonic() + minutes * 60
    desks = [Editor(number, notes, home, until) for number in range(editors)]
    threads = [threading.Thread(target=env.run) for env in desks]
    threads.append(threading.Thread(target=noise, args=(notes, stop)))
    for thread in threads:
        thread.start()
    for thread in threads[:-1]:
        thread.join()
    stop.set()
    threads[-1].join()
    resident = next(line for line in Path(f"/proc/{watcher.pid}/status").read_text().splitlines() if "VmRSS" in line)
    used = os.times()
    watcher.terminate()
    code = watcher.wait(60)
    return report([probe for env in desks for probe in env.probes], code, resident, used, home)


def report(probes: list[Probe], code: int, resident: str, used: os.times_result, home: Path) -> dict[str, object]:
    seconds = sorted(probe.seconds for probe in probes)
    lines = [json.loads(line) for line in (home / "watch.jsonl").read_text().splitlines()]
    commands = [probe.by_command for probe in probes if probe.by_command is not None]
    return {
        "probes": len(probes),
        "right": sum(probe.right for probe in probes),
        "asked by command": len(commands),
        "right by command": sum(commands),
        "p50": seconds[len(seconds) // 2],
        "p99": seconds[int(len(seconds) * 0.99)],
        "longest": seconds[-1],
        "wrong": [asdict(probe) for probe in probes if not probe.right or probe.by_command is False],
        "watcher's exit code": code,
        "watcher's memory": " ".join(resident.split()[1:]),
        "runs that indexed": sum(line["kind"] == "indexed" for line in lines),
        "other lines": [line for line in lines if line["kind"] != "indexed"],
        "children's cpu seconds": used.children_user + used.children_system,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--notes", type=int, default=300)
    parser.add_argument("--editors", type=int, default=3)
    parser.add_argument("--provider", default="bundled")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = play(Path(folder), options.minutes, options.notes, options.provider, options.editors)
    print(json.dumps(found, indent=2))
    sys.exit(found["probes"] != found["right"] or found["asked by command"] != found["right by command"])


if __name__ == "__main__":
    main()
