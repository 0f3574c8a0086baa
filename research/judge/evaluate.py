"""Measure a judge on questions that it was not trained on, and print tables with 95 % intervals.

    python research/judge/evaluate.py --judge judge.pt --candidates candidates.jsonl --squad squad.json \\
        --out results.json

Compared are the engine's order and score, the largest similarity of token states below the trained layers (MaxSim, not
trained), the judge, and reciprocal rank fusion of the judge's and the engine's order. The score of an answer is the
largest score of a candidate. `AUC near-misses` compares answerable questions with those whose topic is in the notes
without an answer; `AUC removed` compares each question with itself, its answers left out of the candidates.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from memoriter.evals._metrics import Estimate, estimate, estimate_auc, ndcg
from model import Judge, LowerLayers, open_judge
from sources import HELD_OUT, sentences_of, squad

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SEED = 7
LIMITS = {"locomo10_turns": (120, 20), "locomo_daylogs": (80, 10), "tsc": (30, 10), "madetech": (30, 10)}
LIMITS |= dict.fromkeys(("cmrc2018_dev", "jsquad_valid", "korquad1_dev", "xquad_en", "xquad_zh_to_en"), (24, 10))
"""Questions, and candidates of each, for sets that are not measured whole with ten candidates."""
SQUAD_QUESTIONS = 200
FIRST = ("w1", "w2", "w3", "example", "second", "locomo10_turns", "locomo_daylogs")
FAR = {"far", "foreign"}
WINDOW = {True: 160, False: 420}
"""Characters of a window of a long passage, with and without CJK text; the best window counts."""
SYSTEMS = ("engine", "MaxSim", "judge", "fusion")
FUSION = 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", type=Path, required=True)
    parser.add_argument("--candidates", type=Path, required=True)
    parser.add_argument("--squad", type=Path, required=True, help="SQuAD 2.0, of which some articles are held out")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    reader = Reader(*open_judge(options.judge, Path(tempfile.gettempdir())))
    found: dict[str, Any] = {"squad held out": of_squad(reader, options.squad)}
    print(json.dumps({"squad held out": found["squad held out"]}), flush=True)
    rows = [json.loads(line) for line in options.candidates.read_text("utf-8").splitlines()]
    sets = {row["set"] for row in rows}
    for name in sorted(sets, key=lambda each: (FIRST.index(each) if each in FIRST else len(FIRST), each)):
        read = [reader.read(row) for row in chosen([row for row in rows if row["set"] == name], name)]
        found[name] = figures(read)
        options.out.write_text(json.dumps(found, indent=1), "utf-8")
        print(json.dumps({name: found[name]}), flush=True)
    found["cost"] = {"CPU ms for a pair": round(1000 * reader.seconds / max(1, reader.pairs), 1), "pairs": reader.pairs}
    options.out.write_text(json.dumps(found, indent=1), "utf-8")
    print("\n".join([*table(found), "", *languages(found)]))


def chosen(rows: Sequence[Any], name: str) -> list[Any]:
    """Return a sample of the questions of a set without foreign ones, each with its first candidates."""
    near = [row for row in rows if row["answerable"] or row["kind"] not in FAR]
    questions, depth = LIMITS.get(name, (len(near), 10))
    kept = random.Random(SEED).sample(near, min(questions, len(near)))
    return [{**row, "passages": row["passages"][:depth]} for row in kept if row["passages"]]


class Reader:
    """Scores the candidates of questions."""

    def __init__(self, lower: LowerLayers, judge: Judge) -> None:
        self._lower, self._judge = lower, judge
        self.seconds, self.pairs = 0.0, 0

    def read(self, row: Any) -> Any:
        """Return a question with the scores of its passages by each system."""
        judged, similar = self.scores(row["question"], [passage["text"] for passage in row["passages"]])
        engine = [passage.get("score", -float(at)) for at, passage in enumerate(row["passages"])]
        places, own = ranks(judged), ranks(engine)
        fused = [1 / (FUSION + one) + 1 / (FUSION + other) for one, other in zip(places, own, strict=True)]
        return {**row, "scores": dict(zip(SYSTEMS, (engine, similar, judged, fused), strict=True))}

    @torch.no_grad()
    def scores(self, question: str, passages: Sequence[str]) -> tuple[list[float], list[float]]:
        """Return the judge's score and MaxSim of each passage: those of its best window."""
        pieces = [(at, piece) for at, passage in enumerate(passages) for piece in windows(passage)]
        pieces.sort(key=lambda each: len(each[1]))
        begun = process_time()
        asked = self._lower.states([question], "query")
        judged, similar = [-1e9] * len(passages), [-1e9] * len(passages)
        for start in range(0, len(pieces), 8):
            part = pieces[start : start + 8]
            states = self._lower.states([piece for _, piece in part], "passage")
            scores = self._judge(asked * len(part), states)[0].tolist()
            for (at, _), score, state in zip(part, scores, states, strict=True):
                judged[at] = max(judged[at], score)
                similar[at] = max(similar[at], max_similarity(asked[0], state))
        self.seconds += process_time() - begun
        self.pairs += len(pieces)
        return judged, similar


def max_similarity(question: torch.Tensor, passage: torch.Tensor) -> float:
    """Return the mean over question tokens of the largest cosine with a passage token (ColBERT, 2020)."""
    one, other = functional.normalize(question[3:-1], dim=1), functional.normalize(passage[3:-1], dim=1)
    return float((one @ other.T).amax(1).mean()) if len(one) and len(other) else 0.0


def windows(text: str) -> list[str]:
    """Return a passage in windows of whole sentences."""
    limit = WINDOW[sum(character > "\u2e80" for character in text) > len(text) / 3]
    found = [""]
    for sentence in sentences_of(text):
        if found[-1] and len(found[-1]) + len(sentence) > limit:
            found.append("")
        found[-1] = f"{found[-1]} {sentence}".strip()
    return found


def ranks(scores: Sequence[float]) -> list[int]:
    order = sorted(range(len(scores)), key=lambda at: (-scores[at], at))
    return [order.index(at) + 1 for at in range(len(scores))]


def of_squad(reader: Reader, file: Path) -> dict[str, Any]:
    """Return how well answerable and unanswerable questions about the same paragraphs are told apart."""
    asked = list(squad(file, "squad", "en", only=HELD_OUT))
    kept = random.Random(SEED).sample(asked, SQUAD_QUESTIONS)
    scored = [(one.answerable, reader.scores(one.text, [" ".join(one.paragraph.sentences)])) for one in kept]
    return {
        "questions": len(scored),
        "AUC near-misses": {
            name: values_of(
                estimate_auc(
                    [each[at][0] for yes, each in scored if yes], [each[at][0] for yes, each in scored if not yes]
                )
            )
            for at, name in ((1, "MaxSim"), (0, "judge"))
        },
    }


def figures(rows: Sequence[Any]) -> dict[str, Any]:
    """Return the figures of every system on one set."""
    answerable = [row for row in rows if row["answerable"]]
    others = [row for row in rows if not row["answerable"]]
    found: dict[str, Any] = {"questions": len(answerable), "near-misses": len(others), "nDCG@10": {}}
    found |= {"difference": {}, "AUC near-misses": {}, "AUC removed": {}}
    own = [gain(row, "engine") for row in answerable]
    for system in SYSTEMS:
        values = [gain(row, system) for row in answerable]
        found["nDCG@10"][system] = values_of(estimate(values))
        found["difference"][system] = values_of(estimate([one - two for one, two in zip(values, own, strict=True)]))
        if system == "fusion" or (system == "engine" and "score" not in rows[0]["passages"][0]):
            continue
        best = [max(row["scores"][system]) for row in answerable]
        found["AUC near-misses"][system] = values_of(estimate_auc(best, [max(row["scores"][system]) for row in others]))
        pairs = [(max(row["scores"][system]), without_answer(row, system)) for row in answerable]
        pairs = [(one, two) for one, two in pairs if two is not None]
        found["AUC removed"][system] = values_of(estimate_auc([one for one, _ in pairs], [two for _, two in pairs]))
    by_language: defaultdict[str, list[float]] = defaultdict(list)
    for row in answerable:
        by_language[row["lang"]].append(gain(row, "judge") - gain(row, "engine"))
    found["difference of the judge by language"] = {
        lang: values_of(estimate(each)) for lang, each in by_language.items()
    }
    return found


def gain(row: Any, system: str) -> float:
    """Return the nDCG@10 of a question's candidates in the order of a system. Each answer counts once."""
    order = sorted(range(len(row["passages"])), key=lambda at: (-row["scores"][system][at], at))
    seen, keys = set[str](), list[str]()
    for at in order:
        new = [str(answer) for answer in row["passages"][at]["relevant"] if str(answer) not in seen]
        seen |= set(new)
        keys += new or [f"other {at}"]
    return ndcg(keys, {str(answer) for answer in range(row["needed"])}, at=10)


def without_answer(row: Any, system: str) -> float | None:
    """Return the best score of a candidate that does not answer; None if there is none."""
    scored = zip(row["scores"][system], row["passages"], strict=True)
    return max((score for score, passage in scored if not passage["relevant"]), default=None)


def values_of(found: Estimate | None) -> dict[str, Any] | None:
    return found and {name: round(value, 3) for name, value in asdict(found).items()}


def table(found: dict[str, Any]) -> Iterable[str]:
    """Yield the figures as rows of Markdown."""
    yield "| set | figure | engine | MaxSim | judge | fusion |"
    yield "|---|---|---:|---:|---:|---:|"
    for name, each in found.items():
        for figure in ("nDCG@10", "AUC near-misses", "AUC removed"):
            cells = [cell(each.get(figure, {}).get(system)) for system in SYSTEMS]
            if any(cells):
                yield f"| {name} | {figure} | {' | '.join(cells)} |"


def languages(found: dict[str, Any]) -> Iterable[str]:
    """Yield the mean difference of the judge to the engine for each language of questions, over all sets."""
    sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for each in found.values():
        for lang, value in each.get("difference of the judge by language", {}).items():
            sums[lang][0] += value["value"] * value["n"]
            sums[lang][1] += value["n"]
    yield "| questions in | n | difference in nDCG@10 |"
    yield "|---|---:|---:|"
    for lang, (total, count) in sorted(sums.items()):
        yield f"| {lang} | {count:.0f} | {total / count:+.3f} |"


def cell(value: dict[str, Any] | None) -> str:
    if value is None:
        return ""
    return re.sub(r"\b0\.", ".", f"{value['value']:.3f} [{value['low']:.3f}, {value['high']:.3f}]")


if __name__ == "__main__":
    main()
