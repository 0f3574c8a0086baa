"""Ask every question of sets of notes, let the judge read the best candidates, and keep what is known of each.

    .venv/bin/python scripts/outcome_rule.py collect CACHE FILE SETS...
    .venv/bin/python scripts/outcome_rule.py fit FILE READ

SETS are files or folders with sets (benchmarks/evaluation.md), CACHE is the folder of `memoriter eval --cache`.
`collect` writes a line of JSON for each question. `fit` prints, with each family of sets left out in turn, the weight
of the judge in the order of the hits, and the rule that calls an answer a match, if the judge reads READ candidates.
"""

from __future__ import annotations

import json
import math
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from memoriter.app import read_environment
from memoriter.embed.bundled._graph import JudgeEngine
from memoriter.embed.bundled._native import usable_weights
from memoriter.extensions.evals._datasets import is_foreign_kind
from memoriter.extensions.evals._run import question_key
from memoriter.extensions.evals.api import VectorStore, load_sets, notes_workspace, with_foreign
from memoriter.search import Trace, clean_query, rank
from memoriter.search._pipeline import JUDGE_WEIGHT, LOGIT_WEIGHT, parts_of
from memoriter.search._score import ZERO_SCORE
from memoriter.types import Filters, Query

READ = 8
"""Candidates that the judge reads."""
KEPT = 12
"""Candidates that are kept of each question."""


def collect(cache: Path, out: Path, paths: list[Path]) -> None:
    """Write what is known of the candidates of each question."""
    env = read_environment()
    sets = with_foreign(load_sets(paths).notes)
    asked = [each for notes in sets for each in (*notes.answerable, *notes.unanswerable)]
    texts = {question_key(text): text for text in (clean_query(each.text) for each in asked)}
    vectors = VectorStore("bundled", cache, env.home / "models").vectors(texts, "query", lambda _: None)
    judge = JudgeEngine(usable_weights(cache), cache)
    with out.open("w", encoding="utf-8") as file, ExitStack() as stack:
        for notes in sets:
            open_memory, _ = stack.enter_context(notes_workspace(notes, cache, "bundled", env))
            memory = stack.enter_context(open_memory())
            memory.sync()
            backend = memory._assembly.builtin  # noqa: SLF001 (measured inside the product)
            found: list[Any] = []
            backend.search(
                Query("start"), observe=lambda index, _, ranking, found=found: found.append((index, ranking))
            )
            index, ranking = found[-1]
            settings = replace(ranking.settings, min_score=float("-inf"), max_results=KEPT)
            for question in (*notes.answerable, *notes.unanswerable):
                text = clean_query(question.text)
                traces = list[Trace]()
                rank(
                    index,
                    text,
                    vectors[question_key(text)],
                    settings,
                    filters=Filters(),
                    now=0.0,
                    explain=False,
                    trace=traces.append,
                )
                kind = "right" if question.answers else "foreign" if is_foreign_kind(question.kind) else "near-miss"
                row = {"set": notes.name, "id": question.id, "kind": kind, "lang": question.lang, "text": text}
                row["answers"] = len(question.answers)
                row["unknown"] = bool(traces[-1].candidates and traces[-1].candidates.has_unknown_name)
                row["candidates"] = list(described(index, traces[-1], question, text, judge))
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
            print(notes.name, flush=True)


def described(index: Any, trace: Trace, question: Any, text: str, judge: JudgeEngine) -> Any:
    """Yield what is known of each candidate, best first."""
    candidates = trace.candidates
    assert candidates is not None
    stored = index.rows([each.row for each in trace.ranked[:KEPT]])
    for place, each in enumerate(trace.ranked[:KEPT]):
        chunk = stored[each.row].chunk
        keyword = candidates.keyword_scores.get(each.row, ZERO_SCORE)
        start = chunk.start_line
        end = chunk.end_line
        hit = type("Place", (), {"path": stored[each.row].path, "start_line": start, "end_line": end})
        read = None
        if place < READ:
            parts = parts_of(chunk, text, candidates.best_lines.get(each.row))
            said = judge.judge(text, parts.heading, parts.parts, parts.best)
            first, last = (start + parts.lines[at] for at in said.lines)
            narrow = type("Place", (), {"path": stored[each.row].path, "start_line": first, "end_line": last})
            exact = [at for at, answer in enumerate(question.answers) if answer.overlaps(narrow)]
            read = {"logit": said.logit, "exact": bool(exact), "mark": max(said.marks)}
        yield {
            "score": each.score,
            "v": candidates.vector_scores.get(each.row),
            "coverage": keyword.coverage,
            "keyword": keyword.value,
            "note": any(answer.is_in_note(hit) for answer in question.answers),
            "found": [at for at, answer in enumerate(question.answers) if answer.overlaps(hit)],
            "read": read,
        }


WEIGHTS = (0.0, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08)
"""Weights of the judge's logit in the order of the hits."""
LOGIT_LIMIT = 6.0
TOP = 3
KINDS = ("right", "near-miss", "foreign")
LOGIT_SHARES = (0.05, 0.1, 0.15, 0.2, 0.25)
"""Weights of the judge's logit beside the sum of both scores."""
THRESHOLDS = np.arange(0.85, 1.3, 0.01)


def family_of(row: dict[str, Any]) -> str:
    """Return the family of the set of a question."""
    return str(row["set"]).partition("/")[0].rstrip("0123456789")


def bounded(candidate: dict[str, Any]) -> float:
    """Return the logit of a candidate that was read, within the limit."""
    return max(-LOGIT_LIMIT, min(LOGIT_LIMIT, candidate["read"]["logit"]))


def ordered(row: dict[str, Any], weight: float) -> list[dict[str, Any]]:
    """Return the candidates in the order of the hits."""
    read = [each for each in row["candidates"] if each["read"]]
    rest = [each for each in row["candidates"] if not each["read"]]
    return [*sorted(read, key=lambda each: -(each["score"] + weight * bounded(each))), *rest]


def places(row: dict[str, Any], weight: float) -> list[float]:
    """Return note@3, lines@1, the judge's own line at 1, and nDCG@10."""
    found = ordered(row, weight)[:10]
    seen = set[int]()
    gain = 0.0
    for place, each in enumerate(found):
        fresh = set(each["found"]) - seen
        seen |= fresh
        gain += bool(fresh) / math.log2(place + 2)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, row["answers"])))
    first = found[0] if found else {"found": [], "read": None}
    exact = bool(first["read"] and first["read"]["exact"])
    return [float(any(each["note"] for each in found[:TOP])), float(bool(first["found"])), float(exact), gain / ideal]


def engine_sum(row: dict[str, Any], weight: float) -> float:
    """Return the score of the first hit and its score by vectors, added; below every threshold for an unknown name."""
    first = next(iter(ordered(row, weight)), None)
    return -1.0 if first is None or row["unknown"] else first["score"] + (first["v"] or 0.0)


def logit_of(row: dict[str, Any], weight: float) -> float:
    """Return what the judge says of the first hit; the lowest value if it has not read it."""
    first = next(iter(ordered(row, weight)), None)
    return bounded(first) if first is not None and first["read"] else -LOGIT_LIMIT


def fit(file: Path, read: int) -> None:
    """Print the figures of the order and of the rule, each chosen on the other families."""
    rows = [json.loads(line) for line in file.open(encoding="utf-8")]
    for row in rows:
        for unread in row["candidates"][read:]:
            unread["read"] = None
    families = sorted({family_of(row) for row in rows})
    answered = {family: [row for row in rows if row["answers"] and family_of(row) == family] for family in families}
    tried = {
        weight: {family: np.array([places(row, weight) for row in own]) for family, own in answered.items()}
        for weight in WEIGHTS
    }

    def quality(weight: float, without: str) -> float:
        return float(np.mean([found.mean() for family, found in tried[weight].items() if family != without]))

    best = {family: max(WEIGHTS, key=lambda weight, family=family: quality(weight, family)) for family in families}
    print("weight  note@3, lines@1, the judge's own line@1 and nDCG@10: of all questions, and the mean of the families")
    for weight, found in tried.items():
        every = np.round(np.concatenate(list(found.values())).mean(axis=0), 3)
        means = np.round(np.mean([each.mean(axis=0) for each in found.values()], axis=0), 3)
        print(f"{weight:6.2f} ", every, means, *(family for family in families if best[family] == weight))
    print("\nwith the judge")
    fit_rule(rows, families, JUDGE_WEIGHT, LOGIT_SHARES)
    print("\nwithout it")
    fit_rule(rows, families, 0.0, (0.0,))


class Outcomes:
    """Questions with what the rule knows of each; right answers count where they are among the first three hits."""

    def __init__(self, rows: list[dict[str, Any]], weight: float) -> None:
        kept = [row for row in rows if row["kind"] != "right" or _is_shown(row, weight)]
        self.sums = np.array([engine_sum(row, weight) for row in kept])
        self.logits = np.array([logit_of(row, weight) for row in kept])
        self.kinds = np.array([row["kind"] for row in kept])
        self.families = np.array([family_of(row) for row in kept])

    def called(self, share: float, threshold: float) -> Any:
        """Return whether each answer is called a match: (n,)."""
        return self.sums + share * self.logits > threshold

    def quality(self, rule: tuple[float, float], families: list[str]) -> float:
        """Return the share of right answers called a match, less those of near-misses and of foreign questions."""
        called = self.called(*rule)
        signs = zip(KINDS, (1, -1, -1), strict=True)
        return float(sum(sign * self._share(called, kind, families) for kind, sign in signs))

    def _share(self, called: Any, kind: str, families: list[str]) -> Any:
        """Return the mean of the families' shares of answers of this kind that are called a match."""
        own = (self._own(kind, family) for family in families)
        return np.mean([called[rows].mean() for rows in own if rows.any()])

    def _own(self, kind: str, family: str) -> Any:
        return (self.kinds == kind) & (self.families == family)


def fit_rule(rows: list[dict[str, Any]], families: list[str], weight: float, shares: tuple[float, ...]) -> None:
    """Print the rule, and how often it calls questions a match that it was not fitted on."""
    outcomes = Outcomes(rows, weight)
    rules = [(share, float(threshold)) for share in shares for threshold in THRESHOLDS]
    held = np.zeros(len(outcomes.sums), bool)
    for family in families:
        others = [each for each in families if each != family]
        own = outcomes.families == family
        rule = max(rules, key=lambda rule, others=others: outcomes.quality(rule, others))
        held[own] = outcomes.called(*rule)[own]
        print(f"without {family}: weight of the logit {rule[0]}, threshold {rule[1]:.2f}")
    print("called a match by a rule fitted on other families:", _shares(outcomes, held))
    for rule in ((shares[-1] and LOGIT_WEIGHT, threshold) for threshold in (0.95, 1.0, 1.05, 1.1)):
        print(f"weight {rule[0]}, threshold {rule[1]}:", _shares(outcomes, outcomes.called(*rule)))


def _shares(outcomes: Outcomes, called: Any) -> dict[str, float]:
    return {kind: round(float(called[outcomes.kinds == kind].mean()), 3) for kind in KINDS}


def _is_shown(row: dict[str, Any], weight: float) -> bool:
    return any(each["found"] for each in ordered(row, weight)[:TOP])


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    if command == "collect":
        collect(Path(rest[0]), Path(rest[1]), [Path(each) for each in rest[2:]])
    else:
        fit(Path(rest[0]), int(rest[1]))
