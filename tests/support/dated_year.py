"""A year of notes that change, with what was so on each day: by memoriter, in an editor, and by commits of Git."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoriter import Memory
    from memory_env import MemoryEnv

FACTS = {
    "support office": ("Where is the support office?", "The support office is in {}.", ("Lisbon", "Oslo", "Quito")),
    "dentist": ("Who is my dentist?", "My dentist is Dr. {}.", ("Okafor", "Lindqvist", "Moreau")),
    "ledger database": (
        "Which database keeps the ledger?",
        "The ledger is kept in the database {}.",
        ("MySQL", "PostgreSQL", "SQLite"),
    ),
    "door code": ("What is the code of the garage door?", "The garage door opens with {}.", ("4711", "8203", "1956")),
    "team standup": ("When is the standup?", "The standup begins at {}.", ("9:15", "10:00", "8:45")),
    "landlord": ("Who is the landlord?", "The landlord is {}.", ("Mrs. Brandt", "Mr. Silva", "the city")),
    "release branch": (
        "From which branch do we release?",
        "We release from the branch {}.",
        ("main", "stable", "trunk"),
    ),
    "guitar teacher": ("Who teaches me guitar?", "My guitar teacher is {}.", ("Ines", "Tobias", "Yuki")),
    "backup disk": ("Where is the backup disk kept?", "The backup disk is in the {}.", ("safe", "attic", "bank")),
    "car insurance": ("Who insures the car?", "The car is insured with {}.", ("Helvetia", "Allianz", "Axa")),
    "payroll contact": ("Whom do I ask about payroll?", "Ask {} about payroll.", ("Petra", "Samuel", "Anneli")),
    "cat food": ("What does the cat eat?", "The cat eats {}.", ("salmon pellets", "chicken mousse", "raw beef")),
    "server region": (
        "In which region do the servers run?",
        "The servers run in {}.",
        ("Frankfurt", "Dublin", "Milan"),
    ),
    "swimming": ("On which day is swimming?", "Swimming is on {}.", ("Tuesday", "Friday", "Sunday")),
    "tax adviser": ("Who is our tax adviser?", "Our tax adviser is {}.", ("Keller & Co", "Bauer", "Nadia")),
    "wifi password": (
        "What is the password of the guest wifi?",
        "The guest wifi takes {}.",
        ("plum42", "fig77", "kiwi9"),
    ),
}
"""By a name: a question, the line that answers it, and what is so one after the other."""
NOTES = ("MEMORY.md", "memory/topics/work.md", "memory/topics/home.md")
CHATTER = (
    "Walked along the river before lunch.",
    "Read two chapters of the novel about whales.",
    "Mother called; she planted tomatoes.",
    "It rained all afternoon.",
    "Fixed the squeaking chair in the hall.",
    "Cooked lentils with cumin for six people.",
    "The meeting about colours ended without a decision.",
    "Wrote a letter to Hanna and posted it.",
)
WAYS = ("memoriter", "editor", "commit", "move", "restore", "forget", "forget")
FIRST_DAY = datetime(2026, 1, 5, 12, tzinfo=UTC)
WEEKS = 52
BEFORE_MEMORITER = 12
"""Weeks of which only Git knows."""


@dataclass
class Day:
    """What was so at the end of a day."""

    date: str
    notes: dict[str, str]
    truths: dict[str, str]
    """By the name of a fact: the line that was true."""


@dataclass
class Year:
    """The notes of a year as they are made."""

    env: MemoryEnv
    random: Random = field(default_factory=lambda: Random(35))
    memory: Memory | None = None
    days: list[Day] = field(default_factory=list[Day])
    places: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """By the name of a fact: the note and the line that are true now."""
    waiting: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """By the name of a fact: the id of the change that dropped it by mistake, and its line."""
    turns: dict[str, int] = field(default_factory=dict[str, int])
    forgotten: set[str] = field(default_factory=set[str])
    """The lines that were forgotten for good."""
    done: set[str] = field(default_factory=set[str])
    """The ways of `WAYS` in which something was changed."""

    def make(self) -> None:
        """Live through the year."""
        self._git("init", "-q")
        for name in NOTES:
            self.env.write(name, f"# {name.rpartition('/')[2].removesuffix('.md').title()}\n\n")
        names = list(FACTS)
        for week in range(WEEKS):
            self.env.seconds = (FIRST_DAY + timedelta(days=7 * week)).timestamp()
            if week == BEFORE_MEMORITER:
                self.memory = self.env.open()
                self.memory.sync()
                self.env.seconds += 60
            self._write_daily_note()
            for turn in range(2):
                self._change(names[(2 * week + turn) % len(names)])
            if self.memory is None:
                self._commit()
            else:
                self.memory.sync()
            self.days.append(Day(self._date(), self._notes(), {name: line for name, (_, line) in self.places.items()}))

    def questions(self, count: int) -> list[tuple[str, str, Day]]:
        """Return questions of different days, with the line that was true and the day."""
        asked = [(name, day) for day in self.days for name in day.truths]
        return [(FACTS[name][0], day.truths[name], day) for name, day in self.random.sample(asked, count)]

    def _change(self, name: str) -> None:
        way = "editor" if self.memory is None else self.random.choice(WAYS)
        if name in self.waiting:
            assert self.memory is not None
            identifier, line = self.waiting.pop(name)
            self.places[name] = (self.memory.undo(identifier).notes[0].path, line)
            self.done.add("restore")
            return
        path, old = self.places.get(name, (self.random.choice(NOTES), ""))
        if way == "forget" and old and old not in self._committed():
            self._forget(name, old)
        elif way == "restore" and old and self.memory is not None:
            self._write(path, self._text(path).replace(f"- {old}\n", ""), "memoriter")
            del self.places[name]
            self.waiting[name] = (self.memory.history(path).changes[0].id, old)
        elif way == "move" and old:
            self._write(path, self._text(path).replace(f"- {old}\n", ""), "editor")
            path = NOTES[(NOTES.index(path) + 1) % len(NOTES)]
            self._write(path, f"{self._text(path)}- {old}\n", "editor")
            self.places[name] = (path, old)
        else:
            _, template, values = FACTS[name]
            turn = self.turns[name] = self.turns.get(name, -1) + 1
            lines = [line for line in map(template.format, values) if line not in self.forgotten]
            line = lines[turn % len(lines)]
            text = self._text(path)
            self._write(path, text.replace(old, line) if old else f"{text}- {line}\n", way)
            self.places[name] = (path, line)
            way = way if way in {"memoriter", "commit"} else "editor"
        if way != "restore":
            self.done.add(way)

    def _forget(self, name: str, line: str) -> None:
        assert self.memory is not None
        self.memory.forget(self.memory.plan_forget(match=line))
        del self.places[name]
        self.forgotten.add(line)
        for day in self.days:
            day.notes = {path: text.replace(f"- {line}", "") for path, text in day.notes.items()}
            if day.truths.get(name) == line:
                del day.truths[name]

    def _write(self, path: str, text: str, way: str) -> None:
        if way == "memoriter" and self.memory is not None:
            self.memory.replace(path, text, expected=self.memory.read(path).hash)
            return
        self.env.write(path, text)
        os.utime(self.env.notes / path, (self.env.seconds, self.env.seconds))
        if way == "commit":
            self._commit(path)
        if self.memory is not None:
            self.memory.sync()

    def _write_daily_note(self) -> None:
        lines = [f"- {each}" for each in self.random.sample(CHATTER, 3)]
        self._write(f"memory/{self._date()}.md", "\n".join([f"# {self._date()}", "", *lines, ""]), "editor")

    def _commit(self, path: str = ".") -> None:
        self._git("add", path)
        self._git("commit", "-qm", "notes", "--", path)

    def _committed(self) -> str:
        return self._git("log", "-p")

    def _git(self, *words: str) -> str:
        names = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        at = f"{int(self.env.seconds)} +0000"
        environ = {**os.environ, "GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
        command = ["git", "-C", str(self.env.notes), *names, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environ).stdout

    def _text(self, path: str) -> str:
        return (self.env.notes / path).read_text()

    def _notes(self) -> dict[str, str]:
        return {file.relative_to(self.env.notes).as_posix(): file.read_text() for file in self.env.notes.rglob("*.md")}

    def _date(self) -> str:
        return datetime.fromtimestamp(self.env.seconds, UTC).date().isoformat()
