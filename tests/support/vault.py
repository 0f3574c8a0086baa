"""A vault of notes as people keep them in Obsidian: titles only in the file names, front matter, links, drawings."""

from __future__ import annotations

import base64
import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

TITLES = (
    ("Projects", "Greenhouse rebuild"),
    ("Projects", "Invoice template redesign"),
    ("Projects", "Choir summer tour"),
    ("Projects", "Bike trailer"),
    ("Areas/Health", "Knee rehabilitation"),
    ("Areas/Health", "Allergy list"),
    ("Areas/House", "Heating contract"),
    ("Areas/House", "Attic insulation"),
    ("Areas/House", "Neighbour agreements"),
    ("Areas/Money", "Pension overview"),
    ("Areas/Money", "Insurance comparison"),
    ("Recipes", "Lentil curry"),
    ("Recipes", "Sourdough starter"),
    ("Recipes", "Pickled radish"),
    ("Reading", "The name of the rose"),
    ("Reading", "Thinking in systems"),
    ("People", "Marta Kowalczyk"),
    ("People", "Jonas Lindqvist"),
    ("Travel", "Night train to Lisbon"),
    ("Travel", "Packing list winter"),
    ("Küche", "Apfelstrudel nach Oma"),
    ("Familie", "김장 준비"),
    ("Familie", "可爱的猫名字"),
    ("旅行", "京都の庭園めぐり"),
    ("Work", "Quarterly goals"),
)
"""The folder and the title of the notes that are looked up."""
_TEXT = """
morning table window paper number friend question river evening idea cheap second colour later together market
slowly answer letter garden visit careful small plan weather simple corner music enough early ready call
bring finish measure borrow decide prepare compare remember explain improve collect repair cancel confirm discuss
"""
_WORDS = _TEXT.split()
_HOME = "[[Home]] | [[Inbox]] | [[Archive]]"


def write_vault(folder: Path, *, notes: int = 344, seed: int = 7) -> None:
    """Write a vault of so many notes; the same notes for the same seed."""
    chance = random.Random(seed)
    titles = [title for _, title in TITLES]
    for place, title in TITLES:
        _write(folder / place / f"{title}.md", _body(chance, titles, title))
    for number in range(notes - len(TITLES)):
        name = f"{chance.choice(_WORDS).title()} {chance.choice(_WORDS)} {number}"
        place = chance.choice(["Notes", "Inbox", "Areas/House", "Work", "Projects"])
        _write(folder / place / f"{name}.md", _body(chance, titles, name))
    _write(folder / "Home.md", "\n".join(f"- [[{title}]]" for title in titles) + "\n")
    drawing = base64.b64encode(chance.randbytes(30_000)).decode("ascii")
    rows = "\n".join(drawing[at : at + 256] for at in range(0, len(drawing), 256))
    text = "---\nexcalidraw-plugin: parsed\n---\n\n# Text Elements\nHinge sketch ^abc\n\n"
    text += f"```compressed-json\n{rows}\n```\n"
    _write(folder / "Drawings" / "Shed door.md", text)


def _body(chance: random.Random, titles: list[str], title: str) -> str:
    lines: list[str] = []
    if chance.random() < 0.6:
        tag, day = chance.choice(["garden", "work/plan", "family", "idea"]), f"2025-{chance.randrange(1, 13):02}-11"
        lines += ["---", f"tags: [{tag}]", f"created: {day}", "cssclass: wide", "---", ""]
    if chance.random() < 0.3:
        lines += [_HOME, ""]
    for heading in chance.sample(["Open", "Next steps", "Background", "Log", "Ideas"], 2):
        lines += [f"## {heading}", ""]
        for _ in range(chance.randrange(1, 4)):
            words = [chance.choice(_WORDS) for _ in range(chance.randrange(8, 30))]
            if chance.random() < 0.05:
                linked = chance.choice([other for other in titles if other != title])
                words.insert(4, f"[[{linked}]]")
            lines += [" ".join(words).capitalize() + ".", ""]
    return "\n".join(lines)


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
