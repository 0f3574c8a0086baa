"""Ask every question of sets of notes, let the judge read the best candidates, and keep what is known of each.

    .venv/bin/python scripts/outcome_rule.py collect CACHE FILE SETS...
    .venv/bin/python scripts/outcome_rule.py fit FILE

SETS are files or folders with sets of notes (docs/evaluation.md), CACHE is the folder of `memoriter eval --cache`.
`collect` writes a line of JSON for each question. `fit` prints, with each family of sets left out in turn, the weight
of the judge in the order of the hits, and the rule that calls an answer a match.
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
from memoriter.embed.bundled._judge import JudgeEngine
from memoriter.embed.bundled._native import usable_weights
from memoriter.evals import VectorStore, load_sets, notes_workspace, with_foreign
from memoriter.evals._formats import is_foreign_kind
from memoriter.evals._pool import question_key
from memoriter.search import Trace, clean_query, rank
from memoriter.search._rerank import parts_of
from memoriter.search._score import ZERO_SCORE
from memoriter.types import Filters, Query

READ = 8
"""Candidates that the judge reads."""
KEPT = 12
"""Candidates that are kept of each question."""


def collect(cache: Path, out: Path, paths: list[Path]) -> None:
    """Write what is known of the candidates of each question."""
    env, sets = read_environment(), with_foreign(load_sets(paths).notes)
    asked = [each for notes in sets for each in (*notes.answerable, *notes.unanswerable)]
    texts = {question_key(text): text for text in (clean_query(each.text) for each in asked)}
    vectors = VectorStore("bundled", cache, env.home / "models").vectors(texts, "query", lambda _: None)
    judge = JudgeEngine(usable_weights(cache), cache)
    with out.open("w", encoding="utf-8") as file, ExitStack() as stack:
        for notes in sets:
            open_memory, _ = stack.enter_context(notes_workspace(notes, cache, "bundled", env))
            memory = stack.enter_context(open_memory())
            memory.sync()
            backend = memory._assembly.trusted.backend  # noqa: SLF001 (measured inside the product)
            found: list[Any] = []
            backend.search(
                Query("start"), observe=lambda index, _, ranking, found=found: found.append((index, ranking))
            )
            index, ranking = found[-1]
            settings = replace(ranking.settings, min_score=float("-inf"), max_results=KEPT)
            for question in (*notes.answerable, *notes.unanswerable):
                text, traces = clean_query(question.text), list[Trace]()
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
        chunk, keyword = stored[each.row].chunk, candidates.keyword_scores.get(each.row, ZERO_SCORE)
        start, end = chunk.start_line, chunk.end_line
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
FEATURES = ("logit", "score", "vector score")
RIDGE = 1.0


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
    seen, gain = set[int](), 0.0
    for place, each in enumerate(found):
        fresh = set(each["found"]) - seen
        seen |= fresh
        gain += bool(fresh) / math.log2(place + 2)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, row["answers"])))
    first = found[0] if found else {"found": [], "read": None}
    exact = bool(first["read"] and first["read"]["exact"])
    return [float(any(each["note"] for each in found[:TOP])), float(bool(first["found"])), float(exact), gain / ideal]


def features(row: dict[str, Any], weight: float) -> list[float]:
    """Return what the rule knows of an answer."""
    first = next((each for each in ordered(row, weight) if each["read"]), None)
    return [-LOGIT_LIMIT, 0.0, 0.0] if first is None else [bounded(first), first["score"], first["v"] or 0.0]


def logistic(values: Any, targets: Any, weights: Any) -> Any:
    """Return the coefficients of a logistic regression with a ridge penalty, the intercept last (Newton's method)."""
    inputs = np.hstack([values, np.ones((len(values), 1))])
    beta = np.zeros(inputs.shape[1])
    penalty = np.diag([RIDGE] * values.shape[1] + [0.0])
    for _ in range(30):
        p = 1 / (1 + np.exp(-inputs @ beta))
        gradient = inputs.T @ (weights * (targets - p)) - penalty @ beta
        beta += np.linalg.solve((inputs * (weights * p * (1 - p))[:, None]).T @ inputs + penalty, gradient)
    return beta


def fit(file: Path) -> None:
    """Print the figures of the order and of the rule, each chosen on the other families."""
    rows = [json.loads(line) for line in file.open(encoding="utf-8")]
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
    for weight in WEIGHTS[1:3]:
        fit_rule(rows, families, weight)


def fit_rule(rows: list[dict[str, Any]], families: list[str], weight: float) -> None:
    """Print the rule with one weight, and how often it calls questions a match that it was not fitted on."""
    shown = {id(row): any(each["found"] for each in ordered(row, weight)[:TOP]) for row in rows}
    kept = [row for row in rows if row["kind"] != "right" or shown[id(row)]]
    values, target = (
        np.array([features(row, weight) for row in kept]),
        np.array([row["kind"] == "right" for row in kept]),
    )
    names, kinds = np.array([family_of(row) for row in kept]), np.array([row["kind"] for row in kept])
    held = np.zeros(len(kept))
    for family in families:
        own, weights = names == family, _balanced(names, kinds)
        beta = logistic(values[~own], target[~own], weights[~own])
        held[own] = values[own] @ beta[:-1] + beta[-1]
    every = logistic(values, target, _balanced(names, kinds))
    print(f"\nweight {weight}:", dict(zip((*FEATURES, "constant"), np.round(every, 3).tolist(), strict=True)))
    print("threshold  right, near-misses and foreign called a match: of all questions, and the mean of the families")
    for threshold in np.arange(-0.6, 0.3, 0.1):
        called = held > threshold
        shares = [called[kinds == kind].mean() for kind in KINDS]
        pairs = [(kinds == kind) & (names == family) for kind in KINDS for family in families]
        by_kind = [[called[own].mean() for own in pairs if own.any() and (kinds[own] == kind).all()] for kind in KINDS]
        print(f"{threshold:9.1f} ", np.round(shares, 3), np.round([np.mean(each) for each in by_kind], 3))


def _balanced(names: Any, kinds: Any) -> Any:
    """Return weights with which each kind of question of each family counts alike, and foreign questions more."""
    weights = np.zeros(len(names))
    for name in set(names.tolist()):
        for kind in set(kinds.tolist()):
            own = (names == name) & (kinds == kind)
            if own.any():
                weights[own] = (60.0 if kind == "foreign" else 40.0) / own.sum()
    return weights


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    if command == "collect":
        collect(Path(rest[0]), Path(rest[1]), [Path(each) for each in rest[2:]])
    else:
        fit(Path(rest[0]))
