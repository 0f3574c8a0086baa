"""The judge: it reads a question and lines of a note together, and says whether the lines answer, and which of them.

It is a cross-encoder on the released 4-bit codes of the retriever, with scales, biases, norms and positions of its own
and three small matrices: `benchmarks/model.md`. A pair is one sequence:
`<s> query: Q </s> </s> passage: HEADING LINES </s>`.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from memoriter.embed._artefact import load_or_create
from memoriter.embed.bundled._bundled import clean
from memoriter.embed.bundled._graph import BUILD, convert_weights, open_session, split_weights
from memoriter.embed.bundled._native import JUDGE_SHA256, vocabulary_file
from memoriter.embed.bundled._tuned import JUDGE, read_patch, tuned_weights
from memoriter.embed.bundled._weightfile import Tokenizer, open_weights, unpack
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from memoriter.embed.bundled._weightfile import WeightFile

MOST_QUESTION_TOKENS = 64
MOST_HEADING_TOKENS = 24
MOST_PASSAGE_TOKENS = 96
"""Tokens of a passage with its heading. With 64, and with 160, answers are told from near-misses less well."""
_END = 2


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the judge says of one passage."""

    logit: float
    """Whether the passage answers: the higher, the more certain. Half of the passages that answer have less than 0."""
    first: int
    """The first line that was read, 0-based."""
    marks: tuple[float, ...]
    """For each line from `first` on that was read: the mean logit that it is the answer."""

    @property
    def lines(self) -> tuple[int, int]:
        """The first and the last line of the answer, 0-based: the most likely one, and those beside it that are too."""
        best = max(range(len(self.marks)), key=self.marks.__getitem__)
        first = last = best
        while first > 0 and self.marks[first - 1] > 0:
            first -= 1
        while last + 1 < len(self.marks) and self.marks[last + 1] > 0:
            last += 1
        return self.first + first, self.first + last


class JudgeEngine:
    """Reads one pair at a time, on the calling thread. Threads may share it."""

    def __init__(self, released: Path, cache_dir: Path) -> None:
        """Load the graph, the tokenizer and the weights, which are cached once they are converted (0.4 s, at first 1).

        Raises Exception: any error of a package that is missing or too old, of a damaged file, or of a full disk.
        """
        weights = open_weights(released)
        with ThreadPoolExecutor(1) as beside:  # the vocabulary takes as long as all the rest
            vocabulary = beside.submit(Tokenizer, weights, vocabulary_file(cache_dir))
            self._load(weights, released, cache_dir)
            self._tokenizer = vocabulary.result()

    def _load(self, weights: WeightFile, released: Path, cache_dir: Path) -> None:
        patch = read_patch(JUDGE, JUDGE_SHA256)
        names = (
            "seg",
            "enc.pos",
            "pool.weight",
            "pool.bias",
            "score.weight",
            "score.bias",
            "tag.weight",
            "tag.bias",
        )
        arrays = {name: patch[name].astype(np.float32) for name in names}
        cached = cache_dir / f"judge-{JUDGE_SHA256[:16]}-{BUILD}" / "weights"
        converted = load_or_create(cached, lambda: convert_weights(tuned_weights(released, JUDGE, JUDGE_SHA256)))
        self._session = open_session(split_weights(converted, weights.shape))
        self._words = weights.blocks("emb.word", weights.shape.hidden)
        self._arrays = arrays

    def judge(self, question: str, heading: str, lines: Sequence[str], best: int) -> Judgement:
        """Return whether the lines around the `best` one, as many as fit, answer a question; the heading is above."""
        asked = self._ids(f"query: {question}")[: MOST_QUESTION_TOKENS - 2]
        above = self._ids(f"passage: {heading}")[:MOST_HEADING_TOKENS]
        first, read = self._around(lines, best, MOST_PASSAGE_TOKENS - len(above))
        ids = [0, *asked, _END, _END, *above, *(token for line in read for token in line), _END]
        states = self._states(ids, len(asked) + 2)
        tags = states @ self._arrays["tag.weight"][0] + self._arrays["tag.bias"][0]
        at = len(asked) + 3 + len(above)
        marks = list[float]()
        for line in read:
            marks.append(float(tags[at : at + len(line)].mean()) if line else -math.inf)
            at += len(line)
        return Judgement(self._logit(states, len(asked) + 2), first, tuple(marks))

    def _states(self, ids: Sequence[int], question: int) -> NDArray[np.float32]:
        """Return the state of each token, (n, hidden); `question` tokens come before those of the passage."""
        tokens = unpack(self._words[ids]) + self._arrays["enc.pos"][: len(ids)]
        tokens[:question] += self._arrays["seg"][0]
        tokens[question:] += self._arrays["seg"][1]
        (states,) = self._session.run(None, {"tokens": tokens[None]})
        return states[0]  # type: ignore[no-any-return]

    def _logit(self, states: NDArray[np.float32], question: int) -> float:
        parts = states[0], states[:question].mean(axis=0), states[question:].mean(axis=0)
        pooled = self._arrays["pool.weight"] @ np.concatenate(parts) + self._arrays["pool.bias"]
        active = np.array([0.5 * each * (1 + math.erf(each / math.sqrt(2))) for each in pooled.tolist()])
        return float(self._arrays["score.weight"][0] @ active + self._arrays["score.bias"][0])

    def _around(self, lines: Sequence[str], best: int, room: int) -> tuple[int, list[list[int]]]:
        """Return the first line that is read, and the tokens of each: the best one, and those around it that fit."""
        read = {best: self._ids(lines[best])[:room]}
        room -= len(read[best])
        for at in _outwards(best, len(lines)):
            if not ({at - 1, at + 1} & read.keys()):
                continue
            tokens = self._ids(lines[at])
            if len(tokens) <= room:
                read[at] = tokens
                room -= len(tokens)
        return min(read), [read[at] for at in sorted(read)]

    def _ids(self, text: str) -> list[int]:
        return self._tokenizer.ids(clean(text))[1:-1] if text.strip() else []


def _outwards(start: int, count: int) -> Iterator[int]:
    """Yield all other positions below `count`, the nearest first, and of two equally near ones the later one.

    >>> list(_outwards(1, 4))
    [2, 0, 3]
    """
    for step in range(1, count):
        yield from (at for at in (start + step, start - step) if 0 <= at < count)
