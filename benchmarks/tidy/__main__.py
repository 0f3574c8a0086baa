"""Print what `memoriter tidy` finds, and what it proposes by mistake."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from memoriter import Memory

HERE = Path(__file__).parent
KINDS = ("merge", "move", "outdated")
SURROUNDINGS = "\n".join(
    [
        "\n```\n{text}\n```\n",
        "| what | {text} |\n|---|---|\n| also | {text} |\n",
        "> {text}\n",
        "- [ ] {text}\n",
    ]
)
"""What is to be left alone, with the words of each statement in it."""


@dataclass
class Family:
    """Statements that belong together, and what may be proposed for them."""

    kind: str
    language: str
    statements: list[tuple[str, str, str]]
    """Note, heading and text of each, the oldest first."""


def families(file: Path) -> list[Family]:
    found = list[Family]()
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            kind, language = line[2:].split()[:2]
            found.append(Family(kind, language, []))
        elif line:
            place, _, text = line.partition(": ")
            place, _, heading = place.partition("|")
            if heading:
                heading, text = (heading, text) if ": " not in heading else (heading, text)
            path = {"MEMORY": "MEMORY.md"}.get(place, f"memory/{place.removesuffix('.md')}.md")
            found[-1].statements.append((path, heading, text))
    return found


def write(folder: Path, found: list[Family]) -> None:
    """Write all statements into notes, and copies of them where they are to be left alone."""
    notes: dict[str, dict[str, list[str]]] = {}
    for family in found:
        for path, heading, text in family.statements:
            notes.setdefault(path, {}).setdefault(heading, []).append(text)
    for path, sections in notes.items():
        lines = [f"# {'Memory' if path == 'MEMORY.md' else Path(path).stem}", ""]
        for heading, texts in sections.items():
            lines += [f"## {heading}", ""] if heading else []
            lines += [*(f"- {text}" for text in texts), ""]
        lines += ["## Copied", *(SURROUNDINGS.format(text=text) for texts in sections.values() for text in texts)]
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines), encoding="utf-8")


def measure(file: Path, *, shown: bool) -> None:
    found = families(file)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary, "notes")
        write(folder, found)
        with Memory.open(folder, home=Path(temporary, "home")) as memory:
            started = time.perf_counter()
            proposals = memory.tidy()
            seconds = time.perf_counter() - started
    owner = {(path, text): number for number, family in enumerate(found) for path, _, text in family.statements}
    right = Counter[tuple[str, str]]()
    done = set[int]()
    wrong = list[str]()
    for proposal in proposals:
        involved = [*proposal.removed, *([proposal.kept] if proposal.kept else [])]
        numbers = {owner.get((each.path, each.text), -1) for each in involved}
        number = min(numbers)
        family = found[number] if len(numbers) == 1 and number >= 0 else None
        older = family is not None and proposal.kind == "outdated" and proposal.removed[0].text != family.statements[-1][2]
        if family is None or family.kind != proposal.kind or (proposal.kind == "outdated" and not older):
            wrong.append(f"{proposal.kind}: {' | '.join(each.text for each in involved)}")
        elif number not in done:
            done.add(number)
            right[family.kind, family.language] += 1
    print(f"{file.stem}: {len(found)} families, {len(proposals)} proposals in {seconds:.2f} s")
    for kind in KINDS:
        wanted = [family for family in found if family.kind == kind]
        languages = ", ".join(
            f"{language} {right[kind, language]}/{sum(each.language == language for each in wanted)}"
            for language in dict.fromkeys(each.language for each in wanted)
        )
        print(f"  {kind}: {sum(right[kind, each] for each in {one.language for one in wanted})} of {len(wanted)} ({languages})")
    print(f"  wrong: {len(wrong)}; left alone: {sum(each.kind == 'none' for each in found)} families")
    for line in wrong:
        print(f"    {line}")
    if shown:
        for number, family in enumerate(found):
            if family.kind in KINDS and number not in done:
                print(f"    not found: {family.kind}: {' | '.join(text for *_, text in family.statements)}")


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--missed", action="store_true", help="also print what was not found")
arguments = parser.parse_args()
for half in ("fit", "held"):
    measure(HERE / f"{half}.txt", shown=arguments.missed and half == "fit")
