"""Read the hand-written notes: `### LANG | heading`, lines, `+N [lang:] question`, `-N [lang:] near-miss`."""

import re
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEAD = re.compile(r"^###\s+([a-z]{2})(?:[-/+][a-z]{2})?\s*\|\s*(.+?)\s*$")
ASK = re.compile(r"^([+-])(\d)\s+(?:([a-z]{2}):\s*)?(.+?)\s*$")


@dataclass
class Note:
    file: str
    at: int
    lang: str
    heading: str
    lines: list = field(default_factory=list)
    asks: list = field(default_factory=list)  # (answerable, line index 0-based, lang, question)


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
            now.asks.append((m[1] == "+", int(m[2]) - 1, m[3] or now.lang, m[4]))
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
            f"{where}: question about line {a[1] + 1} of {len(note.lines)}"
            for a in note.asks
            if not 0 <= a[1] < len(note.lines)
        ]
    return notes, bad


def read_all(pattern="*.txt"):
    return [n for f in sorted((HERE.parent / "notes").glob(pattern)) for n in read(f)[0]]
