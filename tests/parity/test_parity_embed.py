"""The rules of OpenClaw's embedding input and output that are kept, and by name those that are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from memoriter.embed import cosine, group_by_budget, max_input_tokens, normalise, split_within
from memoriter.ids import content_hash

if TYPE_CHECKING:
    from collections.abc import Callable

BATCH_BUDGET = 8000


@pytest.mark.vectors("buildEmbeddingBatches")
def test_requests_are_filled_to_the_same_budget(case: Any, agree: Callable[[Any, Any], bool]) -> None:
    assert agree(group_by_budget(case["input"]["chunk_byte_sizes"], BATCH_BUDGET), case["output"])


@pytest.mark.vectors("splitTextToUtf8ByteLimit")
def test_long_text_is_cut_at_the_same_bytes(case: Any, agree: Callable[[Any, Any], bool]) -> None:
    text = case["input"]["text"]
    limit = case["input"]["maxUtf8Bytes"]
    if astral_over(text, limit):
        pytest.skip("recorded as lost; test_a_character_over_the_limit_is_kept says what happens instead")
    assert agree(list(split_within(text, limit)), case["output"])


def astral_over(text: str, limit: int) -> bool:
    """Whether OpenClaw would drop a character of two UTF-16 units, and all after it, because it does not fit."""
    return 0 < limit < 4 and any(ord(character) > 0xFFFF for character in text)


@pytest.mark.parametrize("text", ["😀", "a😀b", "😀😀"])
def test_a_character_over_the_limit_is_kept(text: str) -> None:
    assert list(split_within(text, 2)) == list(text)


@pytest.mark.vectors("enforceEmbeddingMaxInputTokens")
def test_chunks_over_the_limit_are_cut_into_the_same_parts(case: Any, agree: Callable[[Any, Any], bool]) -> None:
    model = case["input"]["provider"]
    limit = model.get("maxInputTokens") or max_input_tokens(model["id"], model["model"])
    limit = min(limit, case["input"].get("hardMaxInputTokens") or limit)
    parts = [part for chunk in case["input"]["chunks"] for part in parts_of(chunk, limit)]
    assert agree(parts, case["output"])


def parts_of(chunk: dict[str, Any], limit: int) -> list[dict[str, Any]]:
    texts = list(split_within(chunk["text"], limit))
    return [chunk] if len(texts) == 1 else [{**chunk, "text": text, "hash": content_hash(text)} for text in texts]


@pytest.mark.vectors("resolveEmbeddingMaxInputTokens")
def test_models_have_the_same_limits(case: Any) -> None:
    assert max_input_tokens(case["input"]["id"], case["input"]["model"]) == case["output"]


@pytest.mark.vectors("sanitizeAndNormalizeEmbedding")
def test_finite_vectors_are_brought_to_the_same_length(case: Any, agree: Callable[[Any, Any], bool]) -> None:
    if not np.isfinite(case["input"]).all():
        pytest.skip("repaired there; test_a_vector_that_is_not_finite_is_refused_whole says what happens instead")
    (row,), _ = normalise(np.array([case["input"]], np.float64))
    assert agree(row.tolist(), case["output"])


def test_a_vector_that_is_not_finite_is_refused_whole() -> None:
    rows, usable = normalise(np.array([[float("nan"), 1.0], [0.0, float("inf")], [0.0, 0.0], [3.0, 4.0]]))
    assert usable.tolist() == [False, False, False, True]
    assert rows.tolist() == pytest.approx(np.array([[0, 0], [0, 0], [0, 0], [0.6, 0.8]]))


@pytest.mark.vectors("cosineSimilarity")
def test_vectors_of_one_set_have_the_same_cosine(case: Any, agree: Callable[[Any, Any], bool]) -> None:
    left = case["input"]["a"]
    right = case["input"]["b"]
    if len(left) != len(right):
        pytest.skip("compared there as far as both go; test_vectors_of_two_sets_are_never_compared says otherwise")
    assert agree(cosine(np.array(left), np.array(right)), case["output"])


def test_vectors_of_two_sets_are_never_compared() -> None:
    with pytest.raises(ValueError, match="3 and 2 dimensions"):
        cosine(np.ones(3), np.ones(2))
