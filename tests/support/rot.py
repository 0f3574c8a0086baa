"""Damage done to the bytes of an index, and what the answers are afterwards; each batch runs in its own process."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import apsw

PAGE = 8192
KINDS = (
    "flip in the file",
    "flip in the file",
    "burst in the file",
    "page of zeros",
    "cut short",
    "older copy",
    "flip in the log",
    "burst in the log",
    "cut log",
    "log of another index",
    "log beside an older copy",
)
WORDS = (
    "heron",
    "lock",
    "ledger",
    "train",
    "kettle",
    "vlan",
    "river",
    "quartz",
    "falcon",
    "ember",
    "willow",
    "saffron",
)
QUESTIONS = ("heron by the lock 7", "ledger train 12", "kettle vlan", "quartz falcon 31", "saffron willow ember 3")


@dataclass(frozen=True)
class Shelf:
    """Indexes to damage: one at rest, one with a log that was not written back, an older one, and another one's log."""

    folder: Path

    @property
    def notes(self) -> Path:
        return self.folder / "notes"

    def place(self, name: str) -> Path:
        return self.folder / name


def opened(notes: Path, home: Path) -> Any:
    """A memory with the fake model, which gives the same vectors every time."""
    from memoriter import Memory

    config = home / "memoriter.json5"
    home.mkdir(parents=True, exist_ok=True)
    config.write_text('{agents: {defaults: {memorySearch: {provider: "fake"}}}}', encoding="utf-8")
    return Memory.open(notes, config=config, home=home)


def text(number: int, draw: Random) -> str:
    words = " ".join(draw.choices(WORDS, k=12))
    return f"# Note {number}\n\nThe {words} {number}.\n\n- item {number} of {draw.choice(WORDS)} {draw.randrange(99)}\n"


def index_in(home: Path) -> Path:
    (file,) = (home / "memory").glob("main*.sqlite")
    return file


def make(folder: Path) -> Shelf:
    """Make all of them, once for all damage."""
    shelf = Shelf(folder)
    draw = Random(7)
    for number in range(60):
        file = shelf.notes / "memory" / f"{number:02}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text(number, draw), encoding="utf-8")
    with opened(shelf.notes, shelf.place("older")) as memory:
        memory.sync()
    for number in range(60, 80):
        (shelf.notes / "memory" / f"{number:02}.md").write_text(text(number, draw), encoding="utf-8")
    with opened(shelf.notes, shelf.place("rest")) as memory:
        memory.sync()
    shutil.copytree(shelf.place("older"), shelf.folder / "growing", symlinks=True)
    # Whoever reads an old state keeps the log from being written back.
    reader = apsw.Connection(str(index_in(shelf.folder / "growing")), flags=apsw.SQLITE_OPEN_READWRITE)
    reader.execute("BEGIN; SELECT count(*) FROM files").fetchall()
    with opened(shelf.notes, shelf.folder / "growing") as memory:
        memory.sync()
        shutil.copytree(shelf.folder / "growing", shelf.place("log"), symlinks=True)
    reader.close()
    assert index_in(shelf.place("log")).with_name(index_in(shelf.place("log")).name + "-wal").stat().st_size
    with opened(shelf.notes, shelf.place("rest")) as memory:
        shelf.place("answers.json").write_text(json.dumps(answers(memory)[0]), encoding="utf-8")
    return shelf


def answers(memory: Any) -> tuple[list[Any], bool]:
    """Paths, lines and text of every hit of every question in order, and whether all was said to be well."""
    received = []
    well = True
    for question in QUESTIONS:
        result = memory.search(question, min_score=0.0)
        received.append([[hit.path, hit.start_line, hit.end_line, hit.snippet] for hit in result.results])
        well = well and result.health.ok
    return received, well


def damage(shelf: Shelf, home: Path, kind: str, draw: Random) -> None:
    """Put a copy of an index there and damage it."""
    from_log = "log" in kind
    shutil.copytree(shelf.place("log" if from_log else "rest"), home, symlinks=True)
    file = index_in(home)
    log = file.with_name(f"{file.name}-wal")
    target = log if from_log and "older" not in kind else file
    content = bytearray(target.read_bytes())
    pages = len(content) // PAGE
    if kind.startswith("flip"):
        content[draw.randrange(len(content))] ^= draw.randrange(1, 256)
    elif kind.startswith("burst"):
        at = draw.randrange(len(content))
        content[at : at + 64] = draw.randbytes(len(content[at : at + 64]))
    elif kind == "page of zeros":
        at = draw.randrange(pages) * PAGE
        content[at : at + PAGE] = bytes(PAGE)
    elif kind.startswith("cut"):
        del content[draw.randrange(len(content)) :]
    elif kind == "older copy":
        content = bytearray(index_in(shelf.place("older")).read_bytes())
    elif kind == "log of another index":
        file.write_bytes(index_in(shelf.place("rest")).read_bytes())
    elif kind == "log beside an older copy":
        content = bytearray(index_in(shelf.place("older")).read_bytes())
        log.write_bytes(log.read_bytes()[: draw.randrange(32, log.stat().st_size)])
    target.write_bytes(content)


def outcome(shelf: Shelf, home: Path, seed: int) -> tuple[str, str]:
    """What was done with this seed, and what came of it."""
    kind = KINDS[seed % len(KINDS)]
    damage(shelf, home, kind, Random(seed))
    wanted = json.loads(shelf.place("answers.json").read_text(encoding="utf-8"))
    try:
        with opened(shelf.notes, home) as memory:
            found, well = answers(memory)
            if found == wanted:
                return kind, "right" if well else "right, told"
            # What is said to be incomplete may be; what is returned must be in the notes.
            again = answers(memory)[0] if well else (memory.sync(), answers(memory)[0])[1]
            if not all(true(shelf.notes, hit) for each in found for hit in each):
                return kind, "WRONG TEXT"
            if again != wanted:
                return kind, "NEVER RIGHT"
            return kind, "SILENTLY DIFFERENT" if well else "incomplete, told, then right"
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what this looks for)
        return kind, f"CRASH {type(error).__name__}: {error}"
    finally:
        shutil.rmtree(home, ignore_errors=True)


def true(notes: Path, hit: list[Any]) -> bool:
    """Whether the cited lines of the note hold the text."""
    path, first, last, snippet = hit
    file = notes / path
    return file.is_file() and snippet in "\n".join(file.read_text(encoding="utf-8").split("\n")[first - 1 : last])


def main(words: list[str]) -> None:
    """`python rot.py SHELF FIRST LAST`: one line of JSON for each seed."""
    shelf = Shelf(Path(words[0]))
    for seed in range(int(words[1]), int(words[2])):
        kind, came = outcome(shelf, shelf.folder / f"damaged-{seed}", seed)
        sys.stdout.write(json.dumps([seed, kind, came]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
