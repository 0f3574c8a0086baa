"""Draw the pictures of the pages as SVG files in docs/images: `python scripts/pictures.py`.

A picture is a grid of boxes and the arrows between them. Its colours follow the reader's light or dark mode.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "docs" / "images"
WIDTH = 176
HEIGHT = 62
GAP_X = 44
GAP_Y = 26
MARGIN = 10
LINE = 17
"""Pixels: of a box, between boxes, around the picture, and of a line of text."""
LABELS = 'role="img" aria-labelledby="title description"'
MARKER = (
    '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0,0 8,4 0,8z"/></marker>'
)
STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #1f2328; text-anchor: middle }
.first { font-weight: 600 }
rect { fill: #f6f8fa; stroke: #57606a; rx: 6px }
.kept { fill: #ddf4ff; stroke: #0969da }
.refused { fill: #ffebe9; stroke: #cf222e; stroke-dasharray: 5 3 }
path { stroke: #57606a; stroke-width: 1.5; fill: none; marker-end: url(#head) }
marker path { fill: #57606a; stroke: none; marker-end: none }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
rect { fill: #21262d; stroke: #8b949e }
.kept { fill: #0c2d6b; stroke: #58a6ff }
.refused { fill: #490202; stroke: #ff7b72 }
path { stroke: #8b949e }
marker path { fill: #8b949e }
}"""


@dataclass(frozen=True)
class Box:
    """A box: its place in the grid, and its lines of text."""

    column: int
    row: float
    text: str
    kind: str = ""

    @property
    def left(self) -> float:
        """Return the left edge in pixels."""
        return MARGIN + self.column * (WIDTH + GAP_X)

    @property
    def middle(self) -> float:
        """Return the middle between the upper and the lower edge in pixels."""
        return MARGIN + self.row * (HEIGHT + GAP_Y) + HEIGHT / 2


@dataclass(frozen=True)
class Picture:
    """A picture: what a screen reader says, its boxes by their names, and its arrows as pairs of names."""

    title: str
    description: str
    boxes: dict[str, Box]
    arrows: tuple[tuple[str, str], ...]

    def svg(self) -> str:
        """Return the picture as an SVG file."""
        width = max(box.left for box in self.boxes.values()) + WIDTH + MARGIN
        height = max(box.middle for box in self.boxes.values()) + HEIGHT / 2 + MARGIN
        size = f'width="{width:g}" height="{height:g}"'
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" {size} {LABELS}>',
            f'<title id="title">{escape(self.title)}</title>',
            f'<desc id="description">{escape(self.description)}</desc>',
            f"<style>\n{STYLE}\n</style>",
            MARKER,
            *(_arrow(self.boxes[start], self.boxes[end]) for start, end in self.arrows),
            *(part for box in self.boxes.values() for part in _box(box)),
        ]
        return "\n".join([*parts, "</svg>\n"])


def _arrow(start: Box, end: Box) -> str:
    x = start.left + WIDTH
    y = start.middle
    to_x = end.left
    to_y = end.middle
    half = (x + to_x) / 2
    return f'<path d="M{x:g},{y:g} C{half:g},{y:g} {half:g},{to_y:g} {to_x - 2:g},{to_y:g}"/>'


def _box(box: Box) -> list[str]:
    lines = box.text.split("\n")
    kind = f' class="{box.kind}"' if box.kind else ""
    top = box.middle - HEIGHT / 2
    parts = [f'<rect{kind} x="{box.left:g}" y="{top:g}" width="{WIDTH}" height="{HEIGHT}"/>']
    for number, line in enumerate(lines):
        y = box.middle + 5 + (number - (len(lines) - 1) / 2) * LINE
        first = "" if number else ' class="first"'
        parts.append(f'<text{first} x="{box.left + WIDTH / 2:g}" y="{y:g}">{escape(line)}</text>')
    return parts


PICTURES = {
    "from-note-to-index": Picture(
        "From a note to the index",
        "A note is split into passages at its headings and paragraphs. Each passage is indexed by its words and by its "
        "meaning. Both are in one SQLite file, which can be deleted at any time.",
        {
            "note": Box(0, 0.5, "Your note\na Markdown file", "kept"),
            "passages": Box(1, 0.5, "Passages\nlists, paragraphs, tables\nwith their headings"),
            "words": Box(2, 0, "Words\nanalysed by language"),
            "meaning": Box(2, 1, "Meaning\na vector of the model"),
            "index": Box(3, 0.5, "Index\none SQLite file,\nsafe to delete"),
        },
        (
            *(("note", "passages"), ("passages", "words"), ("passages", "meaning")),
            *(("words", "index"), ("meaning", "index")),
        ),
    ),
    "from-question-to-answer": Picture(
        "From a question to an answer",
        "A search first indexes changed notes. Then a search by words and one by meaning propose passages, which get "
        "one score each. The best are the matches, and the outcome says whether they answer.",
        {
            "question": Box(0, 0.5, "Question\nfilters, operators", "kept"),
            "changes": Box(1, 0.5, "Changed notes\nare indexed first"),
            "words": Box(2, 0, "Search by words\nproposes passages"),
            "meaning": Box(2, 1, "Search by meaning\nproposes passages"),
            "score": Box(3, 0.5, "One score, 0 to 1\nfor each passage"),
            "matches": Box(4, 0.5, "Matches and outcome\nmatch, weak or none", "kept"),
        },
        (
            *(("question", "changes"), ("changes", "words"), ("changes", "meaning")),
            *(("words", "score"), ("meaning", "score"), ("score", "matches")),
        ),
    ),
    "trust": Picture(
        "What an agent gets from notes",
        "Your own notes are quoted and reach the agent. Notes of a project that you trust are quoted with a "
        "label. Notes of other repositories are neither read nor written by an agent.",
        {
            "own": Box(0, 0, "Your own notes", "kept"),
            "trusted": Box(0, 1, "A project\nthat you trust"),
            "other": Box(0, 2, "Another repository", "refused"),
            "quoted": Box(1, 0, "Quoted\nhidden characters shown"),
            "labelled": Box(1, 1, "Quoted\nwith a label"),
            "unread": Box(1, 2, "Neither read\nnor written", "refused"),
            "agent": Box(2, 0.5, "The agent\nreads information,\nnot instructions", "kept"),
        },
        (("own", "quoted"), ("trusted", "labelled"), ("quoted", "agent"), ("labelled", "agent"), ("other", "unread")),
    ),
}


NOTE = "memory/projects/ledger-storage.md"
QUESTION = "which database did we choose for the ledger?"
MEANT = range(5, 8)
LAST = 11
LONGEST = 56
"""The picture of Home: a question, the note that answers it, the lines that do, its last line, and its longest one."""
CARD_STYLE = """\
text { font: 15px system-ui, sans-serif; fill: #1f2328 }
.code { font: 13px ui-monospace, SFMono-Regular, Menlo, monospace }
.pale { fill: #6e7781 }
.on { fill: #fff }
.card { fill: #fff; stroke: #d0d7de }
.bar { fill: #f6f8fa }
.asked { fill: #4051b5 }
.meant { fill: #fff8c5 }
.best { fill: #1a7f37 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.pale { fill: #8b949e }
.on { fill: #fff }
.card { fill: #0d1117; stroke: #30363d }
.bar { fill: #161b22 }
.meant { fill: #3b3208 }
}"""


def answer() -> str:
    """Return the picture of Home: a question, and the note of the examples that answers it."""
    lines = (FOLDER.parents[1] / "examples" / "workspace" / NOTE).read_text(encoding="utf-8").splitlines()[:LAST]
    height = 132 + 24 * len(lines)
    top = 119 + 24 * (MEANT[0] - 1)
    rows = [f'<rect class="meant" x="17" y="{top}" width="526" height="{24 * len(MEANT)}"/>']
    for number, line in enumerate(lines, 1):
        y = 112 + 24 * number
        short = line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
        rows.append(f'<text class="code pale" x="32" y="{y}">{number}</text>')
        rows.append(f'<text class="code" x="64" y="{y}">{escape(short)}</text>')
    card = height - 72
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 560 {height + 8}" {LABELS}>',
        '<title id="title">A question and its answer</title>',
        f'<desc id="description">Asked: {QUESTION} Found: {NOTE}, lines 5 to 7, marked in the note.</desc>',
        f"<style>{CARD_STYLE}</style>",
        '<rect class="asked" x="88" y="8" width="456" height="44" rx="22"/>',
        f'<text class="on" x="316" y="35" text-anchor="middle">{QUESTION}</text>',
        f'<rect class="card" x="16.5" y="72.5" width="527" height="{card}" rx="10"/>',
        '<path class="bar" d="M17,112 V83 a10,10 0 0 1 10,-10 H533 a10,10 0 0 1 10,10 V112z"/>',
        f'<text class="code" x="32" y="97">{NOTE}</text>',
        '<rect class="best" x="440" y="81" width="88" height="23" rx="11.5"/>',
        '<text class="on" x="484" y="97" text-anchor="middle" style="font-size:12px">best match</text>',
        *rows,
        "</svg>",
    ]
    return "\n".join([*parts, ""])


RESULTS = FOLDER.parents[1] / "benchmarks" / "results.md"
PROGRAMS = {"memoriter": "memoriter", "openclaw": "OpenClaw", "memsearch": "memsearch"}
PROGRAMS |= {"basic-memory": "basic-memory", "qmd": "QMD"}
"""The names of programs in the results and on the pages, the best first."""
CHART_STYLE = """\
text { font: 14px system-ui, sans-serif; fill: #1f2328 }
.own { font-weight: 600 }
rect { fill: #c9d1d9 }
.own rect { fill: #4051b5 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
rect { fill: #484f58 }
.own rect { fill: #7c8cf0 }
}"""


def measured() -> dict[str, dict[str, float]]:
    """Return the figures of each program, from the tables about programs in the results."""
    section = RESULTS.read_text(encoding="utf-8").partition("## Other programs")[2].partition("\n## ")[0]
    figures: dict[str, dict[str, float]] = {program: {} for program in PROGRAMS}
    tables = {"w1, w2, w3: 120 questions": slice(1, None), "w1, w2, w3: refused": slice(1, None)}
    tables["w1: programs"] = slice(2, None)
    for title, columns in tables.items():
        lines = section.partition(f"**{title}")[2].split("\n\n")[1].splitlines()
        head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
        for row in rows:
            if row[0] in figures:
                known = zip(head[columns], row[columns], strict=True)
                figures[row[0]] |= {name: share_of(value) for name, value in known if value != "-"}
    return figures


def share_of(cell: str) -> float:
    """Return the number of a cell, which may be written as a part of a whole.

    >>> share_of("36 of 48")
    0.75
    """
    part, _, whole = cell.partition(" of ")
    return float(part) / float(whole or 1)


def programs() -> str:
    """Return the chart of Home: how often each program has the right note first."""
    percent = {PROGRAMS[name]: int(100 * row["note@1"] + 0.5) for name, row in measured().items()}
    bars = []
    for number, (name, value) in enumerate(percent.items()):
        y = 8 + 36 * number
        bars.append(
            f'<g class="{"other" if number else "own"}"><text x="110" y="{y + 19}" text-anchor="end">{name}</text>'
            f'<rect x="122" y="{y}" width="{value * 5}" height="28" rx="4"/>'
            f'<text x="{132 + value * 5}" y="{y + 19}">{value} %</text></g>'
        )
    told = ", ".join(f"{name} {value} percent" for name, value in percent.items())
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 560 {8 + 36 * len(bars)}" {LABELS}>',
        '<title id="title">The right note first</title>',
        f'<desc id="description">Of 120 questions about three sets of notes: {told}.</desc>',
        f"<style>{CHART_STYLE}</style>",
        *bars,
        "</svg>",
    ]
    return "\n".join([*parts, ""])


def main() -> None:
    """Write all pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, picture in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(picture.svg(), encoding="utf-8")
    (FOLDER / "answer.svg").write_text(answer(), encoding="utf-8")
    (FOLDER / "programs.svg").write_text(programs(), encoding="utf-8")


if __name__ == "__main__":
    main()
