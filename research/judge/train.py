"""Train a judge on one core, for a number of minutes, and save it.

    python research/judge/train.py --data train.jsonl --out judge.pt --minutes 35

A step reads 4 questions with their passages. The loss is the sum of: cross-entropy of each pair's label; softmax over
the passages of a question that has an answer; and cross-entropy of the first and last token of the answer, or of "no
answer". The learning rate rises for 4 % of the time and falls to 0 at its end. Seeds are fixed; how many steps fit into
the time depends on the machine, so `--steps` repeats a run exactly.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from model import Judge, LowerLayers, load, save

SEED = 15
QUESTIONS = 4
LISTWISE, SPANS = 0.5, 0.25


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=35.0, help="the longest time, by the clock")
    parser.add_argument("--steps", type=int, help="the number of steps, instead of a time")
    parser.add_argument("--split", type=int, default=4, help="the first layer that reads both texts")
    parser.add_argument("--layers", type=int, default=6, help="layers in all")
    parser.add_argument("--rate", type=float, default=3e-4, help="the highest learning rate of the layers")
    options = parser.parse_args()
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    rows = [json.loads(line) for line in options.data.read_text("utf-8").splitlines()]
    weights = load(Path(tempfile.gettempdir()))
    lower, judge = LowerLayers(weights, options.split), Judge(weights, options.split, options.layers)
    train = [row for row in rows if row["split"] == "train"]
    held = [row for row in rows if row["split"] == "validation"][:80]
    random.Random(SEED).shuffle(train)
    steps = run(lower, judge, train, held, options)
    save(judge, options.split, options.layers, options.out, {"steps": steps, "rate": options.rate})


def run(lower: LowerLayers, judge: Judge, train: list[Any], held: list[Any], options: argparse.Namespace) -> int:
    """Train until the time or the steps are over, with a validation after each quarter; return the number of steps."""
    heads = [each for name, each in judge.named_parameters() if not name.startswith("layers.")]
    kinds = [{"params": judge.layers.parameters(), "base": options.rate}, {"params": heads, "base": 1e-3}]
    optimizer = torch.optim.AdamW(kinds, lr=options.rate, weight_decay=0.01, betas=(0.9, 0.98))
    begun, step, pairs, quarter, shown = perf_counter(), 0, 0, 0, list[list[float]]()
    while True:
        done = step / options.steps if options.steps else (perf_counter() - begun) / (60 * options.minutes)
        if done >= quarter / 4:
            found = {
                "steps": step,
                "pairs": pairs,
                "CPU seconds": round(process_time()),
                **validate(lower, judge, held),
            }
            print(json.dumps(found), flush=True)
            quarter += 1
        if done >= 1:
            return step
        share = min(done / 0.04, (1 - done) / 0.96) if done < 0.04 else (1 - done) / 0.96
        for kind in optimizer.param_groups:
            kind["lr"] = kind["base"] * max(share, 0.01)
        at = step * QUESTIONS % (len(train) - QUESTIONS)
        rows = train[at : at + QUESTIONS]
        pairs += sum(len(row["passages"]) for row in rows)
        parts = losses(lower, judge, rows)
        optimizer.zero_grad()
        (parts[0] + LISTWISE * parts[1] + SPANS * parts[2]).backward()
        torch.nn.utils.clip_grad_norm_(judge.parameters(), 1.0)
        optimizer.step()
        step += 1
        shown.append([float(part.detach()) for part in parts])
        if step % 50 == 0:
            means = [round(sum(values) / len(values), 3) for values in zip(*shown, strict=True)]
            print(step, f"{done:.3f}", means, round(process_time()), flush=True)
            shown.clear()


def losses(lower: LowerLayers, judge: Judge, rows: list[Any]) -> tuple[Tensor, Tensor, Tensor]:
    """Return the losses of labels, of the order of each question's passages, and of the marks."""
    pairs = [(row["question"], passage) for row in rows for passage in row["passages"]]
    questions = lower.states([question for question, _ in pairs], "query")
    passages = lower.states([passage["text"] for _, passage in pairs], "passage")
    scores, marks = judge(questions, passages)
    labels = torch.tensor([float(passage["label"]) for _, passage in pairs])
    order, at = [], 0
    for row in rows:
        here = slice(at, at + len(row["passages"]))
        at += len(row["passages"])
        if labels[here].sum() == 1 and len(row["passages"]) > 1:
            order.append(functional.cross_entropy(scores[here][None], labels[here].argmax()[None]))
    listwise = torch.stack(order).mean() if order else scores.sum() * 0
    targets = mark_targets(lower, pairs, [len(question) for question in questions])
    spans = functional.cross_entropy(marks.reshape(-1, marks.shape[2]), targets.reshape(-1), ignore_index=-100)
    return functional.binary_cross_entropy_with_logits(scores, labels), listwise, spans


def mark_targets(lower: LowerLayers, pairs: list[Any], question_tokens: list[int]) -> Tensor:
    """Return the first and last token of each answer (n, 2); 0 without an answer, -100 where it is unknown."""
    targets = torch.zeros(len(pairs), 2, dtype=torch.long)
    for at, (_, passage) in enumerate(pairs):
        if not passage["label"]:
            continue
        limit = len(lower.tokens(passage["text"], "passage")) - 1
        found = passage["answer"] and lower.answer_tokens(passage["text"], tuple(passage["answer"]), limit)
        targets[at] = torch.tensor([place + question_tokens[at] for place in found] if found else [-100, -100])
    return targets


@torch.no_grad()
def validate(lower: LowerLayers, judge: Judge, rows: list[Any]) -> dict[str, float]:
    """Return the share of questions whose answer is first, and the AUC of answers against all other passages."""
    first, answered, high, low = 0, 0, list[float](), list[float]()
    for row in rows:
        count = len(row["passages"])
        passages = lower.states([passage["text"] for passage in row["passages"]], "passage")
        scores = judge(lower.states([row["question"]], "query") * count, passages)[0].tolist()
        labels = [passage["label"] for passage in row["passages"]]
        for score, label in zip(scores, labels, strict=True):
            (high if label else low).append(score)
        if sum(labels) == 1 and count > 1:
            answered += 1
            first += scores[labels.index(1)] == max(scores)
    over = sum((one > other) + 0.5 * (one == other) for one in high for other in low)
    return {"first": round(first / max(1, answered), 3), "AUC": round(over / max(1, len(high) * len(low)), 3)}


if __name__ == "__main__":
    main()
