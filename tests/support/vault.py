"""A vault as people keep it in Obsidian: titles in file names, front matter, links, daily notes, drawings, copies."""

from __future__ import annotations

import base64
import json
import random
from datetime import date, timedelta
from typing import TYPE_CHECKING

from vault_texts import HEADINGS, KNOWN, PEOPLE, SENTENCES, SUBJECTS

if TYPE_CHECKING:
    from pathlib import Path

TITLES = tuple((known.folder, known.title) for known in KNOWN)
"""The folder and the title of the notes that are looked up."""
FIRST_DAY = date(2025, 1, 1)
DRAWING = "Drawings/Shed door.excalidraw.md"
DELETED = "The zeppelin hangar code is 4711."
"""A sentence of the notes that are no memory: in `.trash`, in `.obsidian` and in a copy."""
_HOME = "[[Home]] | [[Inbox]] | [[Archive]]"


def write_vault(folder: Path, *, notes: int = 344, seed: int = 7) -> None:
    """Write a vault of so many Markdown notes, and what else is in one; the same vault for the same seed."""
    chance = random.Random(seed)
    for known in KNOWN:
        front = {"tags": list(known.tags), "created": known.day}
        _write(folder / known.folder / f"{known.title}.md", f"{_front_matter(front)}{known.text}\n")
    _write(folder / "Home.md", "".join(f"- [[{title}]]\n" for _, title in TITLES))
    _write(folder / "Maps" / "Everything about the house.md", _map("Areas/House"))
    _write(folder / "Maps" / "Rezepte und Küche.md", _map("Recipes"))
    _write(folder / DRAWING, _drawing(chance))
    fixed = len(KNOWN) + 4
    last = folder / DRAWING
    for number in range(notes - fixed):
        if number % 20 == 19:
            _write(last.with_stem(f"{last.stem} copy"), f"{last.read_text(encoding='utf-8')}\nSent from the phone.\n")
        elif number % 5 < 2:
            _daily(chance, folder, FIRST_DAY + timedelta(days=2 * number))
        else:
            last = _any(chance, folder, number)
    _around(chance, folder)


def daily_note(day: date) -> str:
    """Return the path of the note of a day."""
    return f"Daily/{day:%Y/%m/%Y-%m-%d}.md"


def _daily(chance: random.Random, folder: Path, day: date) -> None:
    before = day - timedelta(days=1)
    after = day + timedelta(days=1)
    language = chance.choice(["en", "en", "ko", "de", "zh"])
    log = "".join(f"- {8 + hour}:{chance.randrange(60):02} {_sentence(chance, language)}\n" for hour in range(4))
    front = _front_matter({"tags": ["daily"], "date": day.isoformat()}) if chance.random() < 0.5 else ""
    text = f"{front}<< [[{before}]] | [[{after}]] >>\n\n## {HEADINGS[language][-1]}\n\n{log}\n- [ ] #todo/small later\n"
    _write(folder / daily_note(day), text)


def _any(chance: random.Random, folder: Path, number: int) -> Path:
    language = chance.choice(["en", "en", "de", "ko", "zh"])
    subject = chance.choice(SUBJECTS[language])
    other = chance.choice(PEOPLE)
    place = chance.choice(["Notes", "Inbox", "Areas/House", "Work/Meetings", "Projects"])
    front = {
        "title": f"{subject} ({other})" if chance.random() < 0.1 else "",
        "aliases": [f"{subject} {number}"] if chance.random() < 0.3 else [],
        "tags": [chance.choice(["idea", "meeting", "house", "family"])],
        "created": (FIRST_DAY + timedelta(days=chance.randrange(600))).isoformat(),
        "cssclass": "wide",
    }
    lines = [_front_matter(front) if chance.random() < 0.6 else "", f"{_HOME}\n\n" if chance.random() < 0.3 else ""]
    for heading in chance.sample(HEADINGS[language], 2):
        text = " ".join(_sentence(chance, language) for _ in range(chance.randrange(1, 5)))
        linked = f" See [[{chance.choice(TITLES)[1]}]]." if chance.random() < 0.05 else ""
        lines.append(f"## {heading}\n\n{text}{linked}\n\n")
    if chance.random() < 0.1:
        lines.append(f"![scan](data:image/png;base64,{_encoded(chance, 3_000)})\n")
    if chance.random() < 0.1:
        lines.append(f"```base64\n{_rows(_encoded(chance, 2_000), 76)}\n```\n")
    if chance.random() < 0.2:
        lines.append("![[floor plan.png]]\n")
    file = folder / place / f"{subject.capitalize()} {other} {number}.md"
    _write(file, "".join(lines))
    return file


def _sentence(chance: random.Random, language: str) -> str:
    thing, other = chance.sample(SUBJECTS[language], 2)
    words = {"who": chance.choice(PEOPLE), "thing": thing, "other": other, "number": chance.randrange(2, 29)}
    return chance.choice(SENTENCES[language]).format(**words)


def _front_matter(values: dict[str, str | list[str]]) -> str:
    """Return front matter with the values that are not empty; nothing if all are."""
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items() if value]
    return f"---\n{''.join(lines)}---\n\n" if lines else ""


def _map(start: str) -> str:
    return "".join(f"- [[{folder}/{title}|{title}]]\n" for folder, title in TITLES if folder.startswith(start))


def _drawing(chance: random.Random) -> str:
    data = _rows(_encoded(chance, 30_000), 256)
    front = _front_matter({"excalidraw-plugin": "parsed", "tags": ["excalidraw"]})
    return f"{front}# Text Elements\nHinge sketch ^abc\n\n## Drawing\n```compressed-json\n{data}\n```\n%%\n"


def _around(chance: random.Random, folder: Path) -> None:
    """Write what is no memory: settings, plugins, deleted notes, a copy of a sync program, attachments, a canvas."""
    _write(folder / ".obsidian/app.json", '{"attachmentFolderPath": "attachments"}')
    _write(folder / ".obsidian/workspace.json", json.dumps({"lastOpenFiles": ["Home.md"]}))
    _write(folder / ".obsidian/plugins/calendar/README.md", f"# Calendar\n\n{DELETED}\n")
    _write(folder / ".trash/Old codes.md", f"{DELETED}\n")
    _write(folder / "Work/Quarterly goals (conflicted copy).md", f"{DELETED}\n")
    _write(folder / "Board.canvas", json.dumps({"nodes": [{"type": "text", "text": DELETED}], "edges": []}))
    for name in ("floor plan.png", "contract.pdf"):
        file = folder / "attachments" / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(chance.randbytes(4_000))


def _encoded(chance: random.Random, size: int) -> str:
    return base64.b64encode(chance.randbytes(size)).decode("ascii")


def _rows(text: str, width: int) -> str:
    return "\n".join(text[at : at + width] for at in range(0, len(text), width))


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
