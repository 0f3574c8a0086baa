"""Print how often answers are called a match, for several values of the constants in `search/_certainty.py`.

    .venv/bin/python scripts/certainty.py DATASETS CACHE

DATASETS is a folder with sets of notes (docs/evaluation.md), CACHE the folder of `memoriter eval --cache`, whose
indexes are used again. Sets with the same name up to a digit, such as `w1` and `w2`, or up to a slash, are one family.
A row has the shares called a match: of questions whose lines are among the first three hits, of foreign questions, and
of near-misses.
The last row of each weight is the mean of the families. The weight that is chosen on the other families is marked with
the family's name: it is the one with the largest share of right answers minus near-misses.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from memoriter.app import read_environment
from memoriter.backends import _builtin, _calibrating
from memoriter.evals import load_set, set_files, with_foreign
from memoriter.evals._formats import is_foreign_kind
from memoriter.evals._workspace_run import notes_workspace
from memoriter.search import _certainty

if TYPE_CHECKING:
    from memoriter.evals import NotesSet
    from memoriter.memory import Memory

WEIGHTS = (0.0, 0.35, 0.7, 1.05, 1.4)
"""Values of `PEAK_WEIGHT`."""
KINDS = ("right", "foreign", "near-miss")
Shares = dict[str, list[bool]]


def family_of(name: str) -> str:
    """Return the family of a set by its name."""
    return name.partition("/")[0].rstrip("0123456789")


def matches(memory: Memory, notes: NotesSet) -> dict[float, Shares]:
    """Return for each weight and kind whether each question is called a match; each weight is calibrated anew."""
    found: dict[float, Shares] = {}
    for weight in WEIGHTS:
        _certainty.PEAK_WEIGHT = weight
        backend = memory._assembly.trusted.backend  # noqa: SLF001 (measured inside the product)
        assert isinstance(backend, _builtin.BuiltinBackend)
        index = backend.index
        backend._context.follow_provider(index)  # noqa: SLF001
        _calibrating.measure_calibration(index, backend.embedding.open(), backend.settings)
        shares: Shares = {kind: [] for kind in KINDS}
        for question in (*notes.answerable, *notes.unanswerable):
            answer = memory.search(question.text, min_score=0.0)
            right = any(each.overlaps(hit) for hit in answer.hits[:3] for each in question.answers)
            if question.answers and not right:
                continue
            kind = "right" if question.answers else "foreign" if is_foreign_kind(question.kind) else "near-miss"
            shares[kind].append(answer.outcome == "match")
        found[weight] = shares
    return found


def main(datasets: Path, cache: Path) -> None:
    """Measure every set and print the table."""
    loaded = [load_set(file, "notes") for file in set_files(datasets).values()]
    families: defaultdict[str, dict[float, Shares]] = defaultdict(
        lambda: {weight: {kind: [] for kind in KINDS} for weight in WEIGHTS}
    )
    for notes in with_foreign([each for sets in loaded if isinstance(sets, tuple) for each in sets]):
        with notes_workspace(notes, cache, "bundled", read_environment()) as (open_memory, _), open_memory() as memory:
            memory.sync()
            for weight, shares in matches(memory, notes).items():
                for kind, values in shares.items():
                    families[family_of(notes.name)][weight][kind] += values
    figures = {
        name: {weight: [mean(shares[kind]) for kind in KINDS] for weight, shares in by_weight.items()}
        for name, by_weight in families.items()
    }
    chosen = {name: choice({other: each for other, each in figures.items() if other != name}) for name in figures}
    print("weight  family           right  foreign  near-miss")
    for weight in WEIGHTS:
        for name, by_weight in figures.items():
            mark = "  chosen without it" if chosen[name] == weight else ""
            print(f"{weight:6.2f}  {name:15}", "  ".join(f"{share:7.3f}" for share in by_weight[weight]) + mark)
        means = [mean(each[weight][at] for each in figures.values()) for at in range(len(KINDS))]
        print(f"{weight:6.2f}  {'mean':15}", "  ".join(f"{share:7.3f}" for share in means))


def choice(figures: dict[str, dict[float, list[float]]]) -> float:
    """Return the weight with the largest mean difference between right answers and near-misses."""
    return max(WEIGHTS, key=lambda weight: mean(each[weight][0] - each[weight][2] for each in figures.values()))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
