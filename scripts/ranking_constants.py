"""Print how well searches find answers for several values of each constant of the ranking.

    .venv/bin/python scripts/ranking_constants.py CACHE SETS...

SETS are files or folders with sets (benchmarks/evaluation.md), CACHE is the folder of `memoriter eval --cache`,
whose vectors are used again. Sets with the same name up to a digit, such as `w1` and `w2`, or up to a slash, are one
family. One constant is varied at a time. A row has the means over the families of note@3, lines@1 and nDCG@10, and the
names of the families without which its value is the best by the mean of the three; `*` marks the value of the product.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any, NamedTuple

from memoriter.app import read_environment
from memoriter.extensions.evals._question_report import QuestionResult, QuestionsReport, shares_of
from memoriter.extensions.evals._run import question_key
from memoriter.extensions.evals.api import VectorStore, load_sets, notes_workspace
from memoriter.search import clean_query, rank
from memoriter.types import Filters, Query

if TYPE_CHECKING:
    from collections.abc import Iterable

TRIED = {
    "VECTOR_WEIGHT": (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6),
    "FULL_SCORE_DEVIATIONS": (5.0, 6.0, 7.0, 8.0),
    "PASSAGE_CENTRE_SHARE": (0.0, 0.1, 0.15, 0.2, 0.3, 0.4),
    "QUESTION_CENTRE_SHARE": (0.1, 0.2, 0.3, 0.4, 0.5),
    "MEANING_WEIGHT": (0.6, 0.7, 0.8, 0.9),
    "ITEM_SHARE": (0.65, 0.8, 0.9),
    "NEIGHBOUR_SHARE": (0.25, 0.5, 0.75),
    "KEYWORD_POWER": (1.0, 1.25, 1.5),
}
FIGURES = ("note@3", "lines@1", "nDCG@10")


class Asked(NamedTuple):
    """One set of notes that is ready to be asked."""

    family: str
    index: Any
    settings: Any
    questions: list[tuple[Any, str, Any]]
    """Each question with its cleaned text and its vector."""


def open_sets(stack: ExitStack, cache: Path, paths: list[Path]) -> Iterable[Asked]:
    """Yield the sets, indexed."""
    env = read_environment()
    sets = load_sets(paths).notes
    texts = {
        question_key(text): text for notes in sets for each in notes.answerable for text in [clean_query(each.text)]
    }
    vectors = VectorStore("bundled", cache, env.home / "models").vectors(texts, "query", lambda _: None)
    for notes in sets:
        open_memory, _ = stack.enter_context(notes_workspace(notes, cache, "bundled", env))
        memory = stack.enter_context(open_memory())
        memory.sync()
        backend = memory._assembly.builtin  # noqa: SLF001 (measured inside the product)
        found: list[Any] = []
        backend.search(Query("start"), observe=lambda index, _, ranking, found=found: found.append((index, ranking)))
        index, ranking = found[-1]
        settings = replace(ranking.settings, min_score=float("-inf"), max_results=10)
        questions = [(each, clean_query(each.text)) for each in notes.answerable]
        asked = [(each, text, vectors[question_key(text)]) for each, text in questions]
        yield Asked(notes.name.partition("/")[0].rstrip("0123456789"), index, settings, asked)


def figures(sets: Iterable[Asked]) -> dict[str, list[float]]:
    """Return the figures of each family."""
    results: defaultdict[str, list[QuestionResult]] = defaultdict(list)
    for each in sets:
        for question, text, vector in each.questions:
            hits = rank(each.index, text, vector, each.settings, filters=Filters(), now=0.0, explain=False)
            results[each.family].append(QuestionResult(question, hits, 0.0, "match"))
    shares = {family: shares_of(QuestionsReport(tuple(found), ())) for family, found in results.items()}
    return {family: [mean(values[name]) for name in FIGURES] for family, values in shares.items()}


def set_constant(name: str, value: float) -> float:
    """Give a constant of the ranking another value in every module that uses it, and return the one before."""
    modules = [module for key, module in sys.modules.items() if key.startswith("memoriter.search.")]
    used = [module for module in modules if hasattr(module, name)]
    before: float = getattr(used[0], name)
    for module in used:
        setattr(module, name, value)
    return before


def main(cache: Path, paths: list[Path]) -> None:
    """Try every value of every constant, and print the tables."""
    with ExitStack() as stack:
        sets = list(open_sets(stack, cache, paths))
        for name, values in TRIED.items():
            before = set_constant(name, values[0])
            tried: dict[float, dict[str, list[float]]] = {}
            for value in values:
                set_constant(name, value)
                tried[value] = figures(sets)
            set_constant(name, before)
            families = list(tried[values[0]])

            def quality(value: float, without: str = "", tried: Any = tried) -> float:
                return mean(mean(found) for family, found in tried[value].items() if family != without)

            best = {family: max(values, key=lambda value, family=family: quality(value, family)) for family in families}
            print(f"\n{name}")
            for value in values:
                means = [mean(tried[value][family][at] for family in families) for at in range(len(FIGURES))]
                chosen = [family for family in families if best[family] == value]
                mark = "*" if value == before else " "
                print(f"{mark}{value:6.2f}", "  ".join(f"{each:.3f}" for each in means), f"{mean(means):.4f}", *chosen)
            sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(each) for each in sys.argv[2:]])
