"""What `memoriter tidy` proposes for notes of which it is known what may be proposed: `python -m benchmarks.tidy`.

The files have families of statements in English, German, Korean, Chinese and Spanish, no family in two files. The rules
were written with `fit.txt` alone. The others were each measured once before any rule was changed for them: of
`held.txt`, 43 of 44 were found, and 2 of 45 proposals were wrong; of `blind.txt`, which has freer words, 20 of 25 were
found, and 4 of 24 proposals were wrong. What those mistakes showed was corrected since, so no file is blind any more.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from memoriter import Memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.tidy import Proposal

HERE = Path(__file__).parent
KINDS = ("merge", "move", "outdated")
SURROUNDINGS = "\n```\n{text}\n```\n\n| what | {text} |\n|---|---|\n| also | {text} |\n\n> {text}\n\n- [ ] {text}\n"
"""What is to be left alone, with the words of each statement in it."""


@dataclass
class Family:
    """Statements that belong together, and what may be proposed for them: one of `KINDS`, or `none`."""

    kind: str
    language: str
    statements: list[tuple[str, str, str]]
    """Note, heading and text of each, the oldest first."""


@dataclass
class Figures:
    """What was proposed for the families of a file."""

    families: list[Family]
    proposals: int = 0
    found: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By kind and language."""
    wrong: list[str] = field(default_factory=list)
    missed: list[Family] = field(default_factory=list)

    def wanted(self, kind: str, language: str = "") -> int:
        return sum(each.kind == kind and language in {"", each.language} for each in self.families)


def families(file: Path) -> list[Family]:
    """Return the families of a file: `# KIND LANGUAGE`, then lines of `NOTE[|HEADING]: TEXT`."""
    found: list[Family] = []
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            kind, language = line[2:].split()[:2]
            found.append(Family(kind, language, []))
        elif line:
            place, _, text = line.partition(": ")
            note, _, heading = place.partition("|")
            path = "MEMORY.md" if note == "MEMORY" else f"memory/{note.removesuffix('.md')}.md"
            found[-1].statements.append((path, heading, text))
    return found


def write_notes(folder: Path, found: Sequence[Family]) -> None:
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
        copied = [SURROUNDINGS.format(text=text) for texts in sections.values() for text in texts]
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join([*lines, "## Copied", *copied]), encoding="utf-8")


def measure(half: str) -> Figures:
    """Return what is proposed for the notes of a file, `fit` or `held`."""
    figures = Figures(families(HERE / f"{half}.txt"))
    with TemporaryDirectory() as temporary:
        folder = Path(temporary, "notes")
        write_notes(folder, figures.families)
        with Memory.open(folder, home=Path(temporary, "home")) as memory:
            proposals = memory.tidy().proposals
    figures.proposals = len(proposals)
    owners = {
        (path, text): number for number, family in enumerate(figures.families) for path, _, text in family.statements
    }
    done: set[int] = set()
    for proposal in proposals:
        involved = [*proposal.removed, *filter(None, [proposal.kept])]
        numbers = {owners.get((each.path, each.text), -1) for each in involved}
        family = figures.families[min(numbers)]
        if len(numbers) > 1 or -1 in numbers or not _is_right(proposal, family):
            figures.wrong.append(f"{proposal.kind}: {' | '.join(each.text for each in involved)}")
        elif not numbers & done:
            done |= numbers
            figures.found[family.kind, family.language] += 1
    figures.missed = [
        family for number, family in enumerate(figures.families) if family.kind in KINDS and number not in done
    ]
    return figures


def _is_right(proposal: Proposal, family: Family) -> bool:
    newest = family.statements[-1][2]
    return proposal.kind == family.kind and (proposal.kind != "outdated" or proposal.removed[0].text != newest)
