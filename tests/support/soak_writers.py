"""Eleven writers on one workspace, six of memoriter and five of other programs, while memoriter's are killed.

A writer notes each line in a log of its own after it is written. At the end, each of these lines must be in a note, or
in a file that memoriter names, unless memoriter was asked to forget it. Programs that save a whole note can overwrite
lines that memoriter added after they had read it. Therefore they have notes of their own, where memoriter writes and
forgets too, and only their own lines count.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import IO, TYPE_CHECKING, Literal, cast

import memoriter
from memoriter import Memory
from memoriter.errors import MemoriterError
from memoriter.workspace import unfinished

if TYPE_CHECKING:
    from collections.abc import Callable

OURS = ("remember", "remember", "append", "edit", "forget", "forget")
THEIRS = ("add", "add", "save", "save", "rename")
SHARED = ("MEMORY.md", "memory/shared.md", "memory/log.md")
"""Notes to which other programs only append."""
Fences = Literal["nowhere", "entries", "everywhere"]
"""Which texts open fences that they do not close: none, the entries of `remember`, or also raw lines of notes."""
TOKEN = re.compile(r"t\d+x\d+x\d+x")
KILL_SECONDS = 2.0
PAUSES = (0.0, 0.0, 0.01, 0.05)


@dataclass
class Writer:
    """One process that writes."""

    role: str
    number: int
    folder: Path
    draw: Random
    fences: Fences
    written: int = 0

    @property
    def notes(self) -> Path:
        return self.folder / "notes"

    def token(self) -> str:
        self.written += 1
        return f"t{self.number}x{os.getpid()}x{self.written}x"

    def entry(self, token: str, *, raw: bool = True) -> str:
        """The text of an entry, or raw lines of a note; half of them open a fence and never close it."""
        fenced = self.fences == "everywhere" or (self.fences == "entries" and not raw)
        fence = f"\n```\ncode of {token}" if fenced and self.draw.random() < 0.5 else ""
        return f"{token} was said{fence}"

    def log(self, kind: str, token: str) -> None:
        with (self.folder / "logs" / f"{self.number}.log").open("a", encoding="utf-8") as opened:
            opened.write(f"{kind} {token}\n")

    def memory(self) -> Memory:
        return Memory.open(self.notes, home=self.folder / "home")


def own_note(folder: Path, number: int) -> Path:
    """The note of a program that saves whole notes."""
    return folder / "notes" / "memory" / f"own{number}.md"


def remember(writer: Writer) -> None:
    token = writer.token()
    with writer.memory() as memory:
        memory.remember(writer.entry(token, raw=False), to=writer.draw.choice(["daily", "long-term"]))
    writer.log("kept", token)


def any_note(writer: Writer) -> tuple[str, bool]:
    """A note for memoriter to write, and whether its lines count there."""
    if writer.draw.random() < 0.5:
        return writer.draw.choice(SHARED), True
    numbers = [number for number, role in enumerate((*OURS, *THEIRS)) if role in {"save", "rename"}]
    return f"memory/own{writer.draw.choice(numbers)}.md", False


def append(writer: Writer) -> None:
    token = writer.token()
    note, counts = any_note(writer)
    with writer.memory() as memory:
        for _ in range(5):
            memory.backend.workspace.append(note, f"- {writer.entry(token)}")  # type: ignore[attr-defined]
            if counts:
                writer.log("kept", token)
            token = writer.token()


def edit(writer: Writer) -> None:
    """Rewrite a note as the web pages do: with a line more, and with everything else."""
    with writer.memory() as memory:
        for _ in range(5):
            token = writer.token()
            note, counts = any_note(writer)
            excerpt = memory.read(note)
            if excerpt.truncated or excerpt.hash is None:
                continue
            end = "" if not excerpt.text or excerpt.text.endswith("\n") else "\n"
            memory.replace(note, f"{excerpt.text}{end}- {writer.entry(token)}\n", expected=excerpt.hash)
            if counts:
                writer.log("kept", token)


def forget(writer: Writer) -> None:
    token = writer.token()
    note, counts = any_note(writer)
    with writer.memory() as memory:
        if counts:
            memory.remember(writer.entry(token, raw=False), to=writer.draw.choice(["daily", "long-term"]))
        else:
            memory.backend.workspace.append(note, f"- {writer.entry(token)}")  # type: ignore[attr-defined]
        for _ in range(20):
            with suppress(MemoriterError):
                plan = memory.plan_forget(match=token)
                removed = "".join(passage.text for removal in plan.notes for passage in removal.passages)
                for other in set(TOKEN.findall(removed)) - {token}:
                    writer.log("took", other)
                receipt = memory.forget(plan)
                if not any(reason.code.startswith("write") for reason in receipt.left) and counts:
                    writer.log("forgot", token)
                return


def add(writer: Writer) -> None:
    """Append as a shell does; some programs keep the file open for a moment."""
    token = writer.token()
    note = writer.notes / writer.draw.choice(SHARED)
    with note.open("a", encoding="utf-8") as opened:
        time.sleep(writer.draw.choice(PAUSES))
        opened.write(f"- {writer.entry(token)}\n")
        opened.flush()
        time.sleep(writer.draw.choice(PAUSES))
    writer.log("kept", token)


def save(writer: Writer) -> None:
    """Read the note and save it in place with a line more, which takes a moment."""
    token = writer.token()
    note = own_note(writer.folder, writer.number)
    with note.open("r+", encoding="utf-8") as opened:
        content = opened.read()
        time.sleep(writer.draw.choice(PAUSES))
        opened.seek(0)
        if writer.draw.random() < 0.5:
            opened.truncate()
        opened.write(f"- {token} was saved\n{content}")
        opened.flush()
        time.sleep(writer.draw.choice(PAUSES))
        opened.truncate()
    writer.log("kept", token)


def rename(writer: Writer) -> None:
    """Read the note and rename another file over it, as most editors do."""
    token = writer.token()
    note = own_note(writer.folder, writer.number)
    content = note.read_text(encoding="utf-8")
    time.sleep(writer.draw.choice(PAUSES))
    part = note.with_name(f"{note.name}.part")
    part.write_text(f"- {token} was saved\n{content}", encoding="utf-8")
    part.replace(note)
    writer.log("kept", token)


ROLES: dict[str, Callable[[Writer], None]] = {
    "remember": remember,
    "append": append,
    "edit": edit,
    "forget": forget,
    "add": add,
    "save": save,
    "rename": rename,
}


def work(writer: Writer) -> None:
    """Write until a file says that it is enough."""
    while not (writer.folder / "stop").exists():
        with suppress(MemoriterError, FileNotFoundError):
            ROLES[writer.role](writer)
        if writer.role in THEIRS:
            time.sleep(writer.draw.uniform(0.02, 0.2))


# all of them


@dataclass
class Toll:
    """What was written, and what of it is missing."""

    kept: int = 0
    forgotten: int = 0
    kills: int = 0
    lost: list[str] = field(default_factory=list)
    """Lines that were acknowledged and are in no note."""
    taken: int = 0
    """How many of them were in a passage that a `forget` of another line removed."""
    held: list[str] = field(default_factory=list)
    """Texts that were forgotten and are in a file."""
    hidden: list[str] = field(default_factory=list)
    """Hidden files that memoriter does not name."""
    failed: list[str] = field(default_factory=list)
    by_role: Counter[str] = field(default_factory=Counter)

    def summary(self) -> str:
        """The figures, for people."""
        roles = ", ".join(f"{role} {count}" for role, count in self.by_role.items())
        return (
            f"{self.kept} lines acknowledged ({roles}), {self.forgotten} forgotten, {self.kills} kills: "
            f"{len(self.lost)} lost ({self.taken} with a forgotten passage), {len(self.held)} forgotten texts left, "
            f"{len(self.hidden)} hidden files unnamed"
        )


def load(folder: Path, seconds: float, *, seed: int, fences: Fences) -> Toll:
    """Let the eleven write for so long, and kill one of memoriter's processes every two seconds."""
    for name in ("notes/memory", "home", "logs"):
        (folder / name).mkdir(parents=True, mode=0o700)
    settings = {"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}
    (folder / "home" / "memoriter.json5").write_text(json.dumps(settings), encoding="utf-8")
    roles = (*OURS, *THEIRS)
    for note in (*(folder / "notes" / name for name in SHARED), *(own_note(folder, n) for n in range(len(roles)))):
        note.write_text("- the first line\n", encoding="utf-8")
    draw = Random(seed)
    toll = Toll()
    starts = 0
    processes: list[subprocess.Popen[str]] = []
    with (folder / "errors.log").open("w+", encoding="utf-8") as errors:
        for number, role in enumerate(roles):
            processes.append(start(role, number, folder, seed, fences=fences, errors=errors))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(KILL_SECONDS)
            number = draw.randrange(len(OURS))
            processes[number].kill()
            processes[number].wait()
            starts += 1
            again = seed + 1000 * starts
            processes[number] = start(roles[number], number, folder, again, fences=fences, errors=errors)
        toll.kills = starts
        (folder / "stop").touch()
        for process in processes:
            if process.wait(120):
                toll.failed.append(f"a process ended with {process.returncode}")
        errors.seek(0)
        toll.failed += errors.read().splitlines()
    count(folder, toll, roles)
    return toll


def start(role: str, number: int, folder: Path, seed: int, *, fences: Fences, errors: IO[str]) -> subprocess.Popen[str]:
    sources = os.pathsep.join([str(Path(memoriter.__file__).parents[1]), str(Path(__file__).parent)])
    environment = {**os.environ, "PYTHONPATH": sources, "MEMORITER_BACKGROUND": "off", "OMP_NUM_THREADS": "1"}
    words = [role, str(number), str(folder), str(seed), fences]
    return subprocess.Popen([sys.executable, __file__, *words], env=environment, stderr=errors, text=True)


def count(folder: Path, toll: Toll, roles: tuple[str, ...]) -> None:
    """Finish what was killed, and compare what was acknowledged with what is there."""
    with Memory.open(folder / "notes", home=folder / "home") as memory:
        memory.sync()
        named = {each.file for each in unfinished(memory.backend.workspace.scan().folders)}  # type: ignore[attr-defined]
    files = {file: file.read_text("utf-8", "replace") for file in (folder / "notes").rglob("*") if file.is_file()}
    toll.hidden += [file.name for file in files if file.name.startswith(".") and file not in named]
    there = set(TOKEN.findall("\n".join(files.values())))
    tokens = dict[str, list[str]]()
    for log in sorted((folder / "logs").iterdir()):
        role = roles[int(log.stem)]
        for line in log.read_text(encoding="utf-8").splitlines():
            kind, token = line.split()
            tokens.setdefault(kind, []).append(token)
            toll.by_role.update([role] if kind == "kept" else [])
    kept, forgot, took = (tokens.get(kind, []) for kind in ("kept", "forgot", "took"))
    toll.kept = len(kept)
    toll.forgotten = len(forgot)
    toll.lost += sorted(set(kept) - there)
    toll.held += sorted(set(forgot) & there)
    toll.taken = len(set(toll.lost) & set(took))


def main(words: list[str]) -> None:
    role, number, folder, seed, fences = words
    work(Writer(role, int(number), Path(folder), Random(int(seed) * 100 + int(number)), cast("Fences", fences)))


if __name__ == "__main__":
    main(sys.argv[1:])
