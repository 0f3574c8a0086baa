"""Measure changes of the ranking, and cues that tell answers from near-misses, on families of notes that are left out.

    python research/ranking/experiments.py candidates.jsonl

Every constant and every model is chosen on the other families. A family is a set, without the number at its end for
conversations: `w1`, `w2`, `w3`, `second`, `example`, `madetech`, `tsc`, and `locomo_daylogs`. The tables have
differences to the engine's order with 95 % intervals of the paired bootstrap over questions.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from memoriter.evals._metrics import auc, estimate, estimate_auc
from memoriter.search._score import SURE, WITH_VECTORS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Row = dict[str, Any]
    Scores = Callable[[Row], list[float]]

SHARES = (0.0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3)
"""Shares of a new score that are tried; 0 is the engine."""
SEED = 7
FAR = {"far", "foreign"}
FIGURES = ("note@3", "lines@3", "nDCG@10", "recall@10")


def family_of(row: Row) -> str:
    return str(row["set"]).partition("/")[0]


def figures(row: Row, order: Sequence[int], candidates: Sequence[Row] | None = None) -> list[float]:
    """Return note@3, lines@3, nDCG@10 and recall@10 of an order of candidates."""
    found = [(candidates or row["candidates"])[at] for at in order[:10]]
    seen, gain = set[int](), 0.0
    for place, candidate in enumerate(found):
        fresh = set(candidate["found"]) - seen
        seen |= fresh
        gain += bool(fresh) / math.log2(place + 2)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, row["answers"])))
    first = found[:3]
    return [
        float(any(each["note"] for each in first)),
        float(any(each["found"] for each in first)),
        min(1.0, gain / ideal),
        len(seen) / row["answers"],
    ]


def ordered(values: Sequence[float]) -> list[int]:
    return sorted(range(len(values)), key=lambda at: (-values[at], at))


def engine(row: Row) -> list[float]:
    return [each["raw"] for each in row["candidates"]]


def mixed(extra: Scores, share: float) -> Scores:
    return lambda row: [raw + share * more for raw, more in zip(engine(row), extra(row), strict=True)]


def held_out(rows: Sequence[Row], tried: dict[float, list[list[float]]]) -> tuple[list[list[float]], dict[str, float]]:
    """Return the figures of each question with the value that is best on the other families, and these values.

    The best value has the largest mean of lines@3 and nDCG@10 over the other families.
    """
    families = [family_of(row) for row in rows]
    chosen: dict[str, float] = {}
    for family in dict.fromkeys(families):
        means: dict[float, float] = {}
        for value, found in tried.items():
            by_family = defaultdict(list)
            for name, each in zip(families, found, strict=True):
                if name != family:
                    by_family[name].append(each[1] + each[2])
            means[value] = float(np.mean([np.mean(each) for each in by_family.values()]))
        chosen[family] = max(tried, key=means.__getitem__)
    return [tried[chosen[family]][at] for at, family in enumerate(families)], chosen


def differences(name: str, rows: Sequence[Row], base: list[list[float]], found: list[list[float]]) -> None:
    """Print the mean differences over all questions, and the families and kinds that lose."""
    cells: list[str] = []
    for at in range(len(FIGURES)):
        gain = estimate([one[at] - other[at] for one, other in zip(found, base, strict=True)])
        assert gain is not None
        cells.append(f"{gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]")
    print(f"| {name} | " + " | ".join(cells) + " |")
    losing: dict[str, float] = {}
    for key in ("set", "kind"):
        groups = defaultdict(list)
        for row, one, other in zip(rows, found, base, strict=True):
            groups[family_of(row) if key == "set" else row["kind"]].append(one[2] - other[2])
        losing |= {group: float(np.mean(each)) for group, each in groups.items() if np.mean(each) < -0.002}
    print(f"    loses nDCG@10: {', '.join(f'{group} {value:+.3f}' for group, value in losing.items()) or 'nothing'}")


# passages of one block


def blocks_of(row: Row, own: float) -> list[Row]:
    """Return the items of all candidates as candidates, and those without items; `own` is the share of the chunk."""
    weight = row["weight"]
    blocks: list[Row] = []
    for each in row["candidates"]:
        items = each["items"] or [{"lines": each["lines"], "v": each["v"], "k": each["value"], "whole": True}]
        for item in items:
            vector = (1 - own) * item["v"] + own * each["v"]
            keyword = (1 - own) * item["k"] + own * each["value"]
            low, high = item["lines"]
            within = [at for at in each["found"] if "whole" in item or overlaps(row, at, low, high)]
            score = weight * vector + (1 - weight) * max(keyword, 0.0) ** 1.25
            blocks.append({"note": each["note"], "found": within, "raw": score})
    return blocks


def overlaps(row: Row, answer: int, low: int, high: int) -> bool:
    first, last = row["places"][answer]
    return low <= last and first <= high


# boosted trees


def features(row: Row) -> list[list[float]]:
    candidates = row["candidates"]
    best_v, best_k = max(each["v"] for each in candidates), max(each["value"] for each in candidates)
    return [
        [
            each["raw"] - candidates[0]["raw"],
            each["raw"],
            each["v"],
            each["v"] - best_v,
            each["value"],
            each["value"] - best_k,
            each["coverage"],
            each["saturation"],
            each["neighbours"],
            each["cosine"],
            min(each["nearest"], 40),
            min(each["by_words"], 40),
            len(each["items"]),
            math.log1p(each["length"]),
            float(each["script"] == row["script"]),
            row["weight"],
            row["terms"],
            each["rm3"],
        ]
        for each in candidates
    ]


def trees(rows: Sequence[Row]) -> dict[int, list[float]]:
    """Return the log-odds of each candidate from trees fitted to the other families, by position of the question."""
    values = [features(row) for row in rows]
    found: dict[int, list[float]] = {}
    for family in dict.fromkeys(map(family_of, rows)):
        inside = [at for at, row in enumerate(rows) if family_of(row) != family]
        data = np.array([each for at in inside for each in values[at]])
        labels = np.array([bool(each["found"]) for at in inside for each in rows[at]["candidates"]])
        counts = defaultdict(int)
        for at in inside:
            counts[family_of(rows[at])] += 1
        weights = np.array([1 / counts[family_of(rows[at])] for at in inside for _ in rows[at]["candidates"]])
        model = HistGradientBoostingClassifier(
            max_iter=80,
            learning_rate=0.06,
            max_leaf_nodes=8,
            min_samples_leaf=40,
            l2_regularization=5,
            random_state=SEED,
        )
        model.fit(data, labels, sample_weight=weights / weights.mean())
        for at, row in enumerate(rows):
            if family_of(row) == family:
                share = np.clip(model.predict_proba(np.array(values[at]))[:, 1], 1e-4, 1 - 1e-4)
                found[at] = np.log(share / (1 - share)).tolist()
    return found


# cues of near-misses

NUMBER = re.compile(
    r"\d|[一二三四五六七八九十百千万两]+[个年月日天次人块元号点]|[하한두세네다섯여섯일곱여덟아홉열]+ ?[개번명시일년월]"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|twenty|thirty|forty|fifty|hundred|thousand"
    r"|half|once|twice|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn)\b",
    re.IGNORECASE,
)
DATE = re.compile(
    r"\d{4}|\d{1,2}[:.]\d\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
    r"|[月日年时點点]|[월일년시]\b|曜|星期|周[一二三四五六日]|요일|yesterday|tomorrow|week|month|year|morning|evening|\d",
    re.IGNORECASE,
)
NAME = re.compile(
    r"(?<![.!?\n>] )(?<!^)\b[A-Z][a-z]+|[가-힣]{2,4}(?:씨|님|가|이|는|은)|[一-鿿]{1,3}(?:さん|先生|氏|老师|师傅)|@\w+"
)
PLACE = re.compile(r"\b(?:in|at|to|from|near|behind|under|beside|on)\s+\w+|에서|에|으로|で|に|在|到|里|上")
ASKED = {
    "number": (
        re.compile(
            r"how (?:many|much|long|old|far|big|often|heavy|tall|high|deep)|몇|얼마|多少|几|幾|いくつ|いくら"
            r"|何[個人回円枚台冊度時間本]|wie ?viel|wie (?:lange|oft|hoch)|cuánt",
            re.IGNORECASE,
        ),
        NUMBER,
    ),
    "date": (
        re.compile(
            r"\bwhen\b|what (?:time|day|date|year|month)|언제|什么时候|何时|哪天|几号|几点"
            r"|いつ|何時|何日|\bwann\b|cuándo",
            re.IGNORECASE,
        ),
        DATE,
    ),
    "name": (re.compile(r"\bwho(?:se|m)?\b|누가|누구|谁|誰|だれ|\bwer\b|\bwem\b|quién", re.IGNORECASE), NAME),
    "place": (re.compile(r"\bwhere\b|어디|哪里|哪儿|在哪|どこ|\bwo\b|wohin|dónde", re.IGNORECASE), PLACE),
}
NEGATION = re.compile(
    r"\bnot?\b|\bnever\b|n't\b|\bwithout\b|않|없|안 |못|没|不|未|ない|なし|ません|\bkein|\bnicht\b", re.IGNORECASE
)


def nearest_item(candidate: Row) -> str:
    """Return the text of the item with the best vector score, or the passage if it has no items."""
    item = max(candidate["items"], key=lambda each: each["v"], default=None)
    return item["text"].rpartition("\n")[2] if item else candidate["text"]


def is_match(row: Row) -> bool:
    """Return whether the answer is called a match."""
    certainty = row["certainty"]
    sure = WITH_VECTORS.calibrate(row["candidates"][0]["raw"]) >= SURE
    return sure or (certainty is not None and certainty[0] > certainty[1])


def cues(row: Row) -> dict[str, float]:
    """Return the cues of a question; each is higher if an answer is more likely."""
    first = row["candidates"][0]
    text = nearest_item(first)
    asked = [shape for question, shape in ASKED.values() if question.search(row["text"])]
    shown = [bool(shape.search(text)) for shape in asked]
    matched = {term for each in row["candidates"] for term in each["matched"]}
    others = [each["raw"] for each in row["candidates"][1:] if each["path"] != first["path"]]
    item_scores = sorted((each["v"] for each in first["items"]), reverse=True)
    certainty = row["certainty"] or [0.0, 0.0]
    return {
        "certainty": certainty[0] - certainty[1],
        "score": first["raw"],
        "type of the answer": 0.5 if not asked else float(all(shown)),
        "share of words": first["coverage"],
        "words that no passage has": -(row["terms"] - len(matched)) / max(row["terms"], 1),
        "distance to the next note": first["raw"] - (max(others) if others else 0.0),
        "distance to the next item": item_scores[0] - item_scores[1] if len(item_scores) > 1 else 0.0,
        "no negation": -float(bool(NEGATION.search(text)) and not NEGATION.search(row["text"])),
        "best item": item_scores[0] if item_scores else first["v"],
    }


def near_misses(rows: Sequence[Row]) -> None:
    """Print the AUC of each cue, right answers against near-misses, in each family, and of all cues together."""
    right = [row for row in rows if row["answers"] and any(each["found"] for each in row["candidates"][:3])]
    wrong = [row for row in rows if not row["answers"] and row["kind"] not in FAR]
    values = {True: [cues(row) for row in right], False: [cues(row) for row in wrong]}
    groups = {True: list(map(family_of, right)), False: list(map(family_of, wrong))}
    families = list(dict.fromkeys(groups[False]))
    together: dict[bool, list[float]] = {True: [0.0] * len(right), False: [0.0] * len(wrong)}
    for family in families:
        chosen = {side: [at for at, name in enumerate(groups[side]) if name != family] for side in (True, False)}
        data = [[*values[side][at].values()] for side in (True, False) for at in chosen[side]]
        labels = [side for side in (True, False) for _ in chosen[side]]
        model = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced", C=0.3))
        model.fit(data, labels)
        for side in (True, False):
            for at, name in enumerate(groups[side]):
                if name == family:
                    together[side][at] = float(model.decision_function([[*values[side][at].values()]])[0])
    names = [*values[True][0], "all, chosen on other families"]
    print(f"\n| cue | {' | '.join(families)} | mean |")
    for name in names:
        cells: list[float] = []
        for family in families:
            pairs = {
                side: [
                    together[side][at] if name not in values[side][at] else values[side][at][name]
                    for at, group in enumerate(groups[side])
                    if group == family
                ]
                for side in (True, False)
            }
            cells.append(auc(pairs[True], pairs[False]) or 0.0)
        print(f"| {name} | {' | '.join(f'{each:.2f}' for each in cells)} | {np.mean(cells):.2f} |")
    by_type(right, wrong)


def by_type(right: Sequence[Row], wrong: Sequence[Row]) -> None:
    """Print for each type of answer how often the nearest item has one, and what a veto without one would change."""
    print("\n| asked for | right answers | with one | near-misses | with one | AUC | matches lost: right, near |")
    for name, (question, shape) in ASKED.items():
        sides = [[row for row in rows if question.search(row["text"])] for rows in (right, wrong)]
        shown = [[float(bool(shape.search(nearest_item(row["candidates"][0])))) for row in rows] for rows in sides]
        lost = [
            sum(is_match(row) and not one for row, one in zip(rows, ones, strict=True))
            for rows, ones in zip(sides, shown, strict=True)
        ]
        area = estimate_auc(*shown)
        assert area is not None
        print(
            f"| {name} | {len(sides[0])} | {np.mean(shown[0]):.2f} | {len(sides[1])} | {np.mean(shown[1]):.2f}"
            f" | {area.value:.2f} [{area.low:.2f}, {area.high:.2f}] | {lost[0]}, {lost[1]} |"
        )
        if name == "number":
            per = [
                f"{family}: {sum(map(is_family(family), sides[0]))}, {mean_of(sides[0], shown[0], family)}"
                f" / {sum(map(is_family(family), sides[1]))}, {mean_of(sides[1], shown[1], family)}"
                for family in dict.fromkeys(map(family_of, wrong))
            ]
            print("    " + "; ".join(per))
    matched = [sum(map(is_match, rows)) for rows in (right, wrong)]
    print(f"    all matches: {matched[0]} of {len(right)} right answers, {matched[1]} of {len(wrong)} near-misses")


def is_family(name: str) -> Callable[[Row], bool]:
    return lambda row: family_of(row) == name


def mean_of(rows: Sequence[Row], values: Sequence[float], family: str) -> str:
    found = [value for row, value in zip(rows, values, strict=True) if family_of(row) == family]
    return f"{np.mean(found):.2f}" if found else "-"


def main(path: Path) -> None:
    """Print all tables."""
    every = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    rows = [row for row in every if row["answers"]]
    base = [figures(row, ordered(engine(row))) for row in rows]
    print(f"{len(rows)} questions; engine: {np.mean(base, axis=0).round(3).tolist()}")
    print(f"| change | {' | '.join(FIGURES)} |")
    for name, extra in feedback_scores().items():
        tried = {share: [figures(row, ordered(mixed(extra, share)(row))) for row in rows] for share in SHARES}
        found, chosen = held_out(rows, tried)
        differences(f"{name}, {values_text(chosen)}", rows, base, found)
    odds = trees(rows)
    place = {id(row): at for at, row in enumerate(rows)}
    tried = {
        share: [figures(row, ordered(mixed(lambda each: odds[place[id(each)]], share)(row))) for row in rows]
        for share in (0.0, 0.02, 0.04, 0.08, 0.16)
    }
    found, chosen = held_out(rows, tried)
    differences(f"boosted trees, added to the score, {values_text(chosen)}", rows, base, found)
    alone = [figures(row, ordered(odds[at])) for at, row in enumerate(rows)]
    differences("boosted trees alone", rows, base, alone)
    for own in (0.2, 0.5):
        blocks = [blocks_of(row, own) for row in rows]
        found = [
            figures(row, ordered([each["raw"] for each in some]), some) for row, some in zip(rows, blocks, strict=True)
        ]
        differences(f"a passage for each block, {own} of the whole passage", rows, base, found)
    near_misses(every)


def feedback_scores() -> dict[str, Scores]:
    """Return the scores of RM3 by the name of its guard."""

    def certain(row: Row) -> list[float]:
        sure = row["certainty"] is not None and row["certainty"][0] > row["certainty"][1]
        return [each["rm3"] * sure for each in row["candidates"]]

    def worded(row: Row) -> list[float]:
        sure = max(each["coverage"] for each in row["candidates"]) >= 0.5
        return [each["rm3"] * sure for each in row["candidates"]]

    return {
        "RM3": lambda row: [each["rm3"] for each in row["candidates"]],
        "RM3, terms of two passages": lambda row: [each["rm3_guarded"] for each in row["candidates"]],
        "RM3, if the answer is certain": certain,
        "RM3, if a passage has half of the words": worded,
    }


def values_text(chosen: dict[str, float]) -> str:
    """Return the values that the families chose."""
    values: Iterable[float] = sorted(set(chosen.values()))
    return "/".join(f"{value:g}" for value in values)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
