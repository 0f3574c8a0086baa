"""The judge: the first layers of the bundled encoder, of which the upper ones read question and passage together.

The layers below `split` are the bundled model's own, unchanged: they read the question and each passage alone. The next
layers, up to `layers`, start from the bundled model's and are trained; they attend over both texts. The rest is left
out. A linear layer marks where an answer begins and ends, or the question's first token if there is none; the score
combines both with the pooled states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from memoriter.embed.bundled._bundled import clean
from memoriter.embed.bundled._native import usable_weights
from memoriter.embed.bundled._weightfile import Tokenizer, WeightFile, open_weights, unpack

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MOST_TOKENS = 160
"""Tokens of a passage."""
QUESTION_TOKENS = 48


class Layer(nn.Module):
    """One layer of the transformer, with the weights of the bundled model."""

    def __init__(self, weights: WeightFile, number: int) -> None:
        super().__init__()
        shape = weights.shape
        self.heads = shape.heads
        self.qkv = _linear(weights, number, ("q", "k", "v"), shape.hidden)
        self.ao = _linear(weights, number, ("ao",), shape.hidden)
        self.fi = _linear(weights, number, ("fi",), shape.hidden)
        self.fo = _linear(weights, number, ("fo",), shape.inner)
        self.aln = _norm(weights, f"l{number}.aln")
        self.oln = _norm(weights, f"l{number}.oln")

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the states (n, tokens, hidden) after this layer; `mask` (n, tokens) is True at real tokens."""
        count, tokens, hidden = states.shape
        parts = self.qkv(states).view(count, tokens, 3, self.heads, hidden // self.heads).permute(2, 0, 3, 1, 4)
        context = functional.scaled_dot_product_attention(
            parts[0], parts[1], parts[2], attn_mask=mask[:, None, None, :]
        )
        context = context.transpose(1, 2).reshape(count, tokens, hidden)
        states = self.aln(states + self.ao(context))
        return self.oln(states + self.fo(functional.gelu(self.fi(states))))


def _linear(weights: WeightFile, number: int, parts: Sequence[str], columns: int) -> nn.Linear:
    """Return one matrix of a layer, stacked from the parts of the weight file, with its bias."""
    rows = [unpack(weights.blocks(f"l{number}.{part}.w", columns)) for part in parts]
    linear = nn.Linear(columns, sum(map(len, rows)))
    linear.weight.data = torch.from_numpy(np.concatenate(rows))
    linear.bias.data = torch.from_numpy(np.concatenate([weights.floats(f"l{number}.{part}.b") for part in parts]))
    return linear


def _norm(weights: WeightFile, name: str) -> nn.LayerNorm:
    norm = nn.LayerNorm(weights.shape.hidden, eps=weights.shape.epsilon)
    norm.weight.data = torch.from_numpy(weights.floats(f"{name}.w").copy())
    norm.bias.data = torch.from_numpy(weights.floats(f"{name}.b").copy())
    return norm


class LowerLayers:
    """The frozen part: token states of single texts, kept in memory as 16-bit numbers."""

    def __init__(self, weights: WeightFile, split: int) -> None:
        self._tokenizer = Tokenizer(weights)
        hidden = weights.shape.hidden
        self._words = weights.blocks("emb.word", hidden)
        self._positions = weights.floats("emb.pos").reshape(-1, hidden) + weights.floats("emb.type")[:hidden]
        self._norm = _norm(weights, "emb.ln")
        self._layers = nn.ModuleList(Layer(weights, number) for number in range(split))
        self._known: dict[tuple[str, str], Tensor] = {}

    def tokens(self, text: str, prefix: str) -> list[int]:
        return self._tokenizer.ids(f"{prefix}: {clean(text)}")[: QUESTION_TOKENS if prefix == "query" else MOST_TOKENS]

    def answer_tokens(self, text: str, answer: tuple[int, int], limit: int) -> tuple[int, int] | None:
        """Return the first and last token of an answer in a passage; None if it is beyond the limit."""
        first = len(self._tokenizer.ids(f"passage: {clean(text[: answer[0]])}".rstrip())) - 1
        last = len(self._tokenizer.ids(f"passage: {clean(text[: answer[1]])}")) - 2
        return (min(first, last), last) if last < limit else None

    @torch.no_grad()
    def states(self, texts: Sequence[str], prefix: str) -> list[Tensor]:
        """Return the states (tokens, hidden) of each text."""
        missing = [text for text in dict.fromkeys(texts) if (prefix, text) not in self._known]
        missing.sort(key=len)
        for start in range(0, len(missing), 16):
            part = missing[start : start + 16]
            ids = [self.tokens(text, prefix) for text in part]
            longest = max(map(len, ids))
            embedded = np.zeros((len(part), longest, self._positions.shape[1]), np.float32)
            mask = torch.zeros(len(part), longest, dtype=torch.bool)
            for at, row in enumerate(ids):
                embedded[at, : len(row)] = unpack(self._words[row]) + self._positions[: len(row)]
                mask[at, : len(row)] = True
            states = self._norm(torch.from_numpy(embedded))
            for layer in self._layers:
                states = layer(states, mask)
            for at, text in enumerate(part):
                self._known[prefix, text] = states[at, : len(ids[at])].half()
        found = [self._known[prefix, text].float() for text in texts]
        if len(self._known) > 40_000:
            self._known.clear()
        return found


class Judge(nn.Module):
    """The trained part."""

    def __init__(self, weights: WeightFile, split: int, layers: int) -> None:
        super().__init__()
        hidden = weights.shape.hidden
        self.layers = nn.ModuleList(Layer(weights, number) for number in range(split, layers))
        self.segments = nn.Parameter(torch.zeros(2, hidden))
        self.bounds = nn.Linear(hidden, 2)
        self.pool = nn.Linear(3 * hidden, 128)
        self.score = nn.Linear(128, 1)
        self.mix = nn.Parameter(torch.tensor([0.3, 0.3]))

    def forward(self, questions: Sequence[Tensor], passages: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Return the scores (n), and the marks of beginning and end (n, 2, tokens), -1e4 where no answer can be.

        Position 0, the question's first token, stands for no answer. Passage tokens follow the question's.
        """
        lengths = [(len(question), len(passage)) for question, passage in zip(questions, passages, strict=True)]
        longest = max(map(sum, lengths))
        mask = torch.zeros(len(lengths), longest, dtype=torch.bool)
        where = torch.zeros(len(lengths), longest, dtype=torch.bool)
        states = torch.stack(
            [
                functional.pad(
                    torch.cat([question + self.segments[0], passage + self.segments[1]]),
                    (0, 0, 0, longest - len(question) - len(passage)),
                )
                for question, passage in zip(questions, passages, strict=True)
            ]
        )
        for at, (first, second) in enumerate(lengths):
            mask[at, : first + second] = True
            where[at, first : first + second] = True
        for layer in self.layers:
            states = layer(states, mask)
        marks = self.bounds(states).transpose(1, 2)
        allowed = where.clone()
        allowed[:, 0] = True
        marks = marks.masked_fill(~allowed[:, None, :], -1e4)
        inside, asked = where.float()[..., None], (mask & ~where).float()[..., None]
        means = [(states * part).sum(1) / part.sum(1) for part in (asked, inside)]
        pooled = functional.gelu(self.pool(torch.cat([states[:, 0], *means], dim=1)))
        evidence = torch.logsumexp(marks[:, :, 1:], dim=2) - marks[:, :, 0]
        return self.score(pooled)[:, 0] + evidence @ self.mix, marks


def load(folder: Path) -> WeightFile:
    """Return the weights of the bundled model; `folder` may keep what it needs."""
    return open_weights(usable_weights(folder))


def save(judge: Judge, split: int, layers: int, file: Path, notes: dict[str, Any]) -> None:
    torch.save({"split": split, "layers": layers, "state": judge.state_dict(), "notes": notes}, file)


def open_judge(file: Path, cache: Path) -> tuple[LowerLayers, Judge]:
    """Return both parts of a saved judge."""
    saved = torch.load(file, weights_only=True)
    weights = load(cache)
    judge = Judge(weights, saved["split"], saved["layers"])
    judge.load_state_dict(saved["state"])
    judge.eval()
    return LowerLayers(weights, saved["split"]), judge
