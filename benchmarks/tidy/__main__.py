"""Print what `memoriter tidy` finds in each file, what it proposes by mistake, and what it misses."""

from __future__ import annotations

from benchmarks.tidy import KINDS, measure

for half in ("fit", "held", "blind"):
    figures = measure(half)
    print(
        f"{half}: {len(figures.families)} families, {figures.proposals} proposals, {len(figures.wrong)} of them wrong"
    )
    for kind in KINDS:
        languages = dict.fromkeys(each.language for each in figures.families if each.kind == kind)
        shares = [f"{each} {figures.found[kind, each]}/{figures.wanted(kind, each)}" for each in languages]
        found = sum(figures.found[kind, each] for each in languages)
        print(f"  {kind}: {found} of {figures.wanted(kind)} ({', '.join(shares)})")
    print(f"  nothing is to be proposed for {figures.wanted('none')} families")
    for line in figures.wrong:
        print(f"  wrong: {line}")
    for family in figures.missed:
        print(f"  missed: {family.kind}: {' | '.join(text for *_, text in family.statements)}")
