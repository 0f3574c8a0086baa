"""Read the hand-written notes and messages.

Notes: `### LANG | heading`, lines, `+N [lang:] question` (`+N,M`: several lines answer together), `-N [lang:] near-miss`.
Messages: `### LANG | person`, memories `m1 ...` to `m8 ...`, `> message = m3 m5` (nothing after `=`: none is useful).
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEAD = re.compile(r"^###\s+([a-z]{2})(?:[-/+][a-z]{2})?\s*\|\s*(.+?)\s*$")
ASK = re.compile(r"^([+-])(\d{1,2}(?:,\d{1,2})*)\s+(?:([a-z]{2}):\s*)?(.+?)\s*$")


@dataclass
class Note:
    file: str
    at: int
    lang: str
    heading: str
    lines: list = field(default_factory=list)
    asks: list = field(default_factory=list)  # (answerable, lines 0-based, lang, question)


def read(file):
    notes, bad, now = [], [], None
    for n, raw in enumerate(file.read_text("utf-8").splitlines(), 1):
        line = raw.rstrip()
        if not line.strip():
            continue
        if m := HEAD.match(line):
            now = Note(file.stem, len(notes), m[1], m[2])
            notes.append(now)
        elif now is not None and (m := ASK.match(line)):
            now.asks.append((m[1] == "+", tuple(int(x) - 1 for x in m[2].split(",")), m[3] or now.lang, m[4]))
        elif now is not None and line.startswith("- ") and not now.asks:
            now.lines.append(line[2:].strip())
        else:
            bad.append(f"{file.name}:{n}: not understood: {line[:70]}")
    for note in notes:
        where = f"{file.name} note {note.at + 1}"
        if not 2 <= len(note.lines) <= 14:
            bad.append(f"{where}: {len(note.lines)} lines")
        if sum(a[0] for a in note.asks) < 2 or sum(not a[0] for a in note.asks) < 2:
            bad.append(f"{where}: fewer than 2 questions of a kind")
        bad += [
            f"{where}: question about line {at + 1} of {len(note.lines)}"
            for a in note.asks
            for at in a[1]
            if not 0 <= at < len(note.lines)
        ]
    return notes, bad


def read_all(pattern="*.txt"):
    return [n for f in sorted((HERE.parent / "notes").glob(pattern)) for n in read(f)[0]]


MEMORY = re.compile(r"^m(\d)\s+(.+?)\s*$")
MESSAGE = re.compile(r"^>\s+(.+?)\s*=\s*((?:m\d[\s,]*)*)$")


def read_messages(file):
    """Return persons as notes: their memories are the lines, their messages are questions."""
    persons, now = [], None
    for raw in file.read_text("utf-8").splitlines():
        if m := HEAD.match(raw):
            now = Note(f"m{file.stem}", len(persons), m[1], m[2])
            persons.append(now)
        elif m := MEMORY.match(raw):
            now.lines.append(m[2])
        elif m := MESSAGE.match(raw):
            useful = tuple(int(x) - 1 for x in re.findall(r"m(\d)", m[2]))
            now.asks.append((bool(useful), useful or (-1,), now.lang, m[1]))
        elif raw.strip():
            print(f"{file.name}: not understood: {raw[:70]}")
    return [each for each in persons if len(each.lines) == 8 and each.asks]


def read_all_messages():
    return [n for f in sorted((HERE.parent / "recall").glob("*.txt")) for n in read_messages(f)]
