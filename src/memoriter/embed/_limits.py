"""Size limits of models and requests. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_DEFAULT_LIMIT = 8192
# Maximum input tokens of each model, from its vendor. An empty model name stands for the vendor's other models.
_LIMITS = {
    ("bundled", ""): 512,
    ("gemini", ""): 2048,
    ("local", ""): 2048,
    ("openai", "text-embedding-3-large"): 8192,
    ("openai", "text-embedding-3-small"): 8192,
    ("openai", "text-embedding-ada-002"): 8191,
    ("voyage", "voyage-3"): 32000,
    ("voyage", "voyage-3-lite"): 16000,
    ("voyage", "voyage-code-3"): 32000,
}


def max_input_tokens(provider: str, model: str) -> int:
    """Return the maximum input of a model, in tokens; 8,192 for an unknown model. Names are case-insensitive."""
    provider, model = provider.lower(), model.lower()
    return _LIMITS.get((provider, model)) or _LIMITS.get((provider, ""), _DEFAULT_LIMIT)


def utf8_size(text: str) -> int:
    """Return the bytes of the text as UTF-8, which no tokenizer exceeds in tokens. A lone surrogate counts as three."""
    return len(text.encode("utf-8", "surrogatepass"))


def group_by_budget(sizes: Sequence[int], budget: int, *, most: int | None = None) -> list[list[int]]:
    """Group positions in order, so that the sizes of each group sum to at most the budget.

    A size above the budget gets a group of its own. A group has at most `most` positions.
    """
    groups: list[list[int]] = []
    used = 0
    for position, size in enumerate(sizes):
        if groups and used + size <= budget and len(groups[-1]) != most:
            groups[-1].append(position)
            used += size
        else:
            groups.append([position])
            used = size
    return groups


def split_within(text: str, limit: int, *, size: Callable[[str], int] = utf8_size) -> Iterator[str]:
    """Split the text into consecutive parts of at most `limit`, each as long as possible.

    No character is lost: one that exceeds the limit becomes a part of its own. A limit below 1 means no limit. `size`
    must not shrink when text is added.
    """
    if limit < 1 or size(text) <= limit:
        yield text
        return
    start = 0
    while start < len(text):
        end = start + _fitting_length(text, start, limit, size)
        yield text[start:end]
        start = end


def _fitting_length(text: str, start: int, limit: int, size: Callable[[str], int]) -> int:
    """Return how many characters from `start` fit, at least one.

    The search doubles before it halves, so that the cost depends on the part and not on the whole text.
    """
    longest = len(text) - start
    high = min(max(limit, 1), longest)
    while high < longest and size(text[start : start + high]) <= limit:
        high = min(high * 2, longest)
    low = 1
    while low < high:
        middle = (low + high + 1) // 2
        if size(text[start : start + middle]) <= limit:
            low = middle
        else:
            high = middle - 1
    return low
