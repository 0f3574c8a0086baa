"""A search for better settings on the owner's questions, judged on questions that had no part in the choice."""

from __future__ import annotations

import random
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from memoriter.errors import UsageError
from memoriter.extensions.evals._metrics import SEED, Estimate, Table, estimate, estimate_cells, mean, ndcg
from memoriter.extensions.evals._question_report import DEPTH, ask
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoriter.config import MemorySearch
    from memoriter.extensions.evals._question_report import QuestionResult
    from memoriter.extensions.evals._workspace_run import OpenMemory
    from memoriter.questions import EvalQuestion
    from memoriter.sync import Progress

FOLDS = 5
REPEATS = 10
"""How often the questions are divided into folds, so that the gain does not depend on one division."""
FEWEST = 10
"""Fewest questions to tune on."""
FEWEST_OF_GROUP = 5
"""Fewest questions of a language or kind whose loss refuses a change, and of each sort to choose minScore by."""
VECTOR_WEIGHTS = (None, 0.2, 0.35, 0.5, 0.65, 0.8)
"""Shares of meaning to try; None: as the settings are."""
MAX_PER_NOTE = (None, 3)
MIN_SCORES = (None, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6)
_QUERY = ("memorySearch", "query")
_NO_MIN_SCORE = (
    f"minScore was not tried: that needs at least {FEWEST_OF_GROUP} questions with an answer and {FEWEST_OF_GROUP} "
    "with `nothing`, because one kind alone always wants the lowest or the highest."
)


@dataclass(frozen=True, slots=True)
class Change:
    """Settings that differ from those in force; None: unchanged."""

    vector_weight: float | None = None
    max_per_note: int | None = None
    min_score: float | None = None

    def adjust(self, settings: MemorySearch) -> MemorySearch:
        """Return the settings with the change."""
        query = settings.query
        if self.vector_weight is not None:
            weights = replace(query.hybrid, vector_weight=self.vector_weight, text_weight=1 - self.vector_weight)
            query = replace(query, hybrid=weights)
        if self.max_per_note is not None:
            query = replace(query, max_per_note=self.max_per_note)
        if self.min_score is not None:
            query = replace(query, min_score=self.min_score)
        return replace(settings, query=query)

    @property
    def values(self) -> dict[tuple[str, ...], Any]:
        """The new values by the names that lead to each setting."""
        values: dict[tuple[str, ...], Any] = {}
        if self.vector_weight is not None:
            values[*_QUERY, "hybrid", "vectorWeight"] = self.vector_weight
            values[*_QUERY, "hybrid", "textWeight"] = round(1 - self.vector_weight, 6)
        if self.max_per_note is not None:
            values[*_QUERY, "maxPerNote"] = self.max_per_note
        if self.min_score is not None:
            values[*_QUERY, "minScore"] = self.min_score
        return values

    def __str__(self) -> str:
        return ", ".join(f"{names[-1]} {value:g}" for names, value in self.values.items()) or "as they are"


@dataclass(frozen=True, slots=True)
class TuneCase:
    """A workspace with its questions."""

    open_memory: OpenMemory
    questions: tuple[EvalQuestion, ...]
    left_out: str | None = None
    """Path of a note whose hits do not count, because it contains the questions."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """The best change, and what it gains on questions that had no part in its choice."""

    change: Change
    questions: int
    before: float
    """Mean value of the questions with the settings in force, 0..1; see `value_of`."""
    after: float
    """The same with the change; its questions had a part in the choice."""
    gain: Estimate
    """Mean gain on held-out questions with its 95 % interval."""
    groups: dict[str, Estimate]
    """Gain on the held-out questions of each language and kind with enough of them."""
    chosen_groups: dict[str, Estimate]
    """Gain of the change itself on the same questions, which had a part in its choice."""
    min_score_tried: bool = True
    """Whether there were enough questions with and without an answer to choose a minimum score."""

    @property
    def losses(self) -> tuple[str, ...]:
        """Languages and kinds that become worse for certain, held out or by the change itself."""
        worse = (name for groups in (self.groups, self.chosen_groups) for name, each in groups.items() if each.high < 0)
        return tuple(dict.fromkeys(worse))

    @property
    def refusal(self) -> str | None:
        """Why the change must not be written, as a sentence; None if it may."""
        if not self.change.values:
            return "None of the settings that were tried is better than those in force."
        if self.gain.value < 0:
            return f"On questions that had no part in the choice, the answers become worse by {-self.gain.value:.3f}."
        if self.losses:
            return f"The answers to some questions become worse: {', '.join(self.losses)}."
        if self.gain.low <= 0:
            return "The gain may be chance: its 95 % interval contains 0. Write more questions."
        return None

    @property
    def regresses(self) -> bool:
        """Whether the change makes answers worse."""
        return bool(self.change.values) and (self.gain.value < 0 or bool(self.losses))

    def lines(self) -> list[str]:
        """Return the report as lines of Markdown."""
        rows = [("all", *estimate_cells(self.gain), self.gain.n)]
        rows += [(name, *estimate_cells(each), each.n) for name, each in self.groups.items()]
        columns = ("questions", "gain", "from", "to", "n")
        return [
            f"Best of the settings tried, on all {self.questions} questions: {self.change}.",
            f"Value of the answers to these questions: {self.before:.3f} now, {self.after:.3f} then.",
            "Expect less for other questions, because these chose the settings.",
            *([] if self.min_score_tried else [_NO_MIN_SCORE]),
            "",
            *Table("Gain on held-out questions, with 95 % intervals", columns, tuple(rows)).lines(),
        ]

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "questions": self.questions,
            "settings": {".".join(names): value for names, value in self.change.values.items()},
            "before": self.before,
            "after": self.after,
            "minScoreTried": self.min_score_tried,
            "gain": asdict(self.gain),
            "groups": {name: asdict(each) for name, each in self.groups.items()},
            "refusal": self.refusal,
        }


def value_of(result: QuestionResult, min_score: float) -> float:
    """Return what the shown hits are worth, 0..1: nDCG@10, or for a question without an answer 1 if there are none."""
    shown = replace(result, min_score=min_score).shown
    if not result.question.answers:
        return float(not shown)
    keys, answers = replace(result, hits=shown, deep=None).answer_ranking
    return ndcg(keys, answers, at=DEPTH)


def tune(
    cases: Sequence[TuneCase],
    progress: Callable[[Progress], None] | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> Tuned:
    """Return the best change of settings, and its gain by cross-validation with `FOLDS` folds, `REPEATS` times.

    For each fold, the change that is best on the other folds is measured on it. The gain is the mean over all
    questions, each in the fold that had no part in the choice. `report` is called with the settings that are tried
    next.

    Minimum scores are tried only with at least `FEWEST_OF_GROUP` questions with an answer, and as many without.

    Raises:
        UsageError: there are fewer than `FEWEST` questions.
    """
    questions = [question for case in cases for question in case.questions]
    if len(questions) < FEWEST:
        raise UsageError(
            f"There are {len(questions)} questions, too few to choose settings by.",
            remedy=f"Write at least {FEWEST} questions; a few dozen are better.",
        )
    answerable = sum(bool(question.answers) for question in questions)
    tries_scores = min(answerable, len(questions) - answerable) >= FEWEST_OF_GROUP
    values: dict[Change, list[float]] = {}
    for weight in VECTOR_WEIGHTS:
        for limit in MAX_PER_NOTE:
            report(str(Change(weight, limit)))
            results = [_ask(case, Change(weight, limit), progress) for case in cases]
            for threshold in MIN_SCORES if tries_scores else (None,):
                values[Change(weight, limit, threshold)] = [
                    value_of(result, result.min_score if threshold is None else threshold)
                    for case_results in results
                    for result in case_results
                ]
    return replace(choose(values, questions), min_score_tried=tries_scores)


def _ask(case: TuneCase, change: Change, progress: Callable[[Progress], None] | None) -> tuple[QuestionResult, ...]:
    with case.open_memory(change.adjust) as memory:
        return ask(memory, case.questions, left_out=case.left_out, deep=False, progress=progress)


def choose(values: dict[Change, list[float]], questions: Sequence[EvalQuestion]) -> Tuned:
    """Return the best change by its value for each question, and its gain on held-out questions.

    The first change is that of no settings.
    """
    now = next(iter(values.values()))
    order = list(range(len(questions)))
    draw = random.Random(SEED)  # noqa: S311 (repeatable folds, not a secret)
    gains = [0.0] * len(questions)
    for _ in range(REPEATS):
        draw.shuffle(order)
        for fold in range(FOLDS):
            held_out = order[fold::FOLDS]
            best = _best(values, sorted(set(order) - set(held_out)))
            for at in held_out:
                gains[at] += (values[best][at] - now[at]) / REPEATS
    best = _best(values, order)
    gain = estimate(gains)
    assert gain is not None
    chosen = [then - before for then, before in zip(values[best], now, strict=True)]
    groups = _gains_of_groups(gains, questions)
    chosen_groups = _gains_of_groups(chosen, questions)
    return Tuned(best, len(questions), mean(now), mean(values[best]), gain, groups, chosen_groups)


def _best(values: dict[Change, list[float]], chosen: Sequence[int]) -> Change:
    """Return the change with the highest mean over some questions; the one with the fewest settings if several have."""
    return max(values, key=lambda change: (round(mean([values[change][at] for at in chosen]), 9), -len(change.values)))


def _gains_of_groups(gains: Sequence[float], questions: Sequence[EvalQuestion]) -> dict[str, Estimate]:
    names = dict.fromkeys(name for question in questions for name in (question.lang, question.kind))
    groups = {
        name: [gain for gain, question in zip(gains, questions, strict=True) if name in {question.lang, question.kind}]
        for name in names
    }
    estimates = {name: estimate(group) for name, group in groups.items() if len(group) >= FEWEST_OF_GROUP}
    return {name: each for name, each in estimates.items() if each}
