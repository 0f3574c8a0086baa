"""The bundled model's tokenizer for the bulk engine: SentencePiece's unigram model over the weight file's vocabulary.

The most likely division of a text into pieces is found word by word, because no piece of this vocabulary reaches over a
space. Words repeat, so their ids are cached.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from memoriter.embed.bundled._weightfile import WeightFile

_START, _END, _UNKNOWN = 0, 2, 3
_SPACE = "\u2581"
_UNKNOWN_PENALTY = 10
"""How much less likely an unknown character is than the least likely piece, as SentencePiece has it."""
_CLOSE = 0.01
"""Divisions of a word whose log-probabilities are closer than this are decided in 32 bits, as the C engine does."""
_CACHED_WORDS = 16_384


class _Division(NamedTuple):
    ids: list[int]
    close: bool
    """Whether another division is about as likely."""


class Tokenizer:
    """Converts clean text to the same ids as the C engine. Threads may share it."""

    def __init__(self, weights: WeightFile) -> None:
        pieces, scores = weights.vocabulary()
        self._ids = {piece: token_id for token_id, piece in enumerate(pieces) if token_id != _UNKNOWN}
        scores = scores.copy()
        scores[_UNKNOWN] = scores.min() - np.float32(_UNKNOWN_PENALTY)
        self._scores = scores
        self._score_list: list[float] = scores.tolist()
        self._longest = dict[str, int]()
        """The length of the longest piece with these first two characters."""
        for piece in pieces:
            if len(piece) > self._longest.get(piece[:2], 0):
                self._longest[piece[:2]] = len(piece)
        self._divide_cached = lru_cache(_CACHED_WORDS)(self._divide)

    def ids(self, text: str) -> list[int]:
        """Return the ids with start and end markers, without a limit. A character without a piece is one unknown."""
        ids = [_START]
        for word in text.split(" "):
            division = self._divide_cached(word)
            # Of two equally likely divisions, rounding chooses one. It depends on the text before.
            ids += self._divide_exactly(word, ids[1:]) if division.close else division.ids
        return [*ids, _END]

    def _divide(self, word: str) -> _Division:
        """Return the most likely division in 64 bits, by Viterbi's algorithm."""
        text = _SPACE + word
        ids, scores, longest = self._ids, self._score_list, self._longest
        size, close = len(text), False
        best = [0.0, *[-1e30] * size]
        last = [(0, _UNKNOWN)] * (size + 1)
        for start in range(size):
            so_far = best[start]
            for end in range(start + 1, min(size, start + longest.get(text[start : start + 2], 1)) + 1):
                token_id = ids.get(text[start:end])
                if token_id is not None:
                    score = so_far + scores[token_id]
                    gain = score - best[end]
                    if gain > 0:
                        best[end], last[end] = score, (start, token_id)
                    if -_CLOSE < gain < _CLOSE:
                        close = True
            if so_far + scores[_UNKNOWN] > best[start + 1]:
                best[start + 1] = so_far + scores[_UNKNOWN]
                last[start + 1] = (start, _UNKNOWN)
        return _Division(_path(last), close)

    def _divide_exactly(self, word: str, before: list[int]) -> list[int]:
        """Return the most likely division, with the C engine's 32-bit sums from the beginning of the text."""
        text = _SPACE + word
        size = len(text)
        best = np.full(size + 1, -1e30, np.float32)
        best[0] = np.add.accumulate(self._scores[before])[-1] if before else 0
        last = [(0, _UNKNOWN)] * (size + 1)
        for start in range(size):
            for end in range(start + 1, min(size, start + self._longest.get(text[start : start + 2], 1)) + 1):
                token_id = self._ids.get(text[start:end])
                if token_id is not None and (score := best[start] + self._scores[token_id]) > best[end]:
                    best[end] = score
                    last[end] = (start, token_id)
            if (score := best[start] + self._scores[_UNKNOWN]) > best[start + 1]:
                best[start + 1] = score
                last[start + 1] = (start, _UNKNOWN)
        return _path(last)


def _path(last: list[tuple[int, int]]) -> list[int]:
    """Return the ids along the best path, from the piece and its start that are known for every end."""
    ids: list[int] = []
    end = len(last) - 1
    while end:
        end, token_id = last[end]
        ids.append(token_id)
    return ids[::-1]
