"""Many texts, of which some are trouble, in parts and groups within limits."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.embed import embed_in_batches, group_by_budget, open_provider, spec_of, split_within
from memoriter.embed._provider import utf8_size
from memoriter.errors import BadVector, EmbeddingError, InputRejected, InputTooLarge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from memoriter.embed import Embedded
    from memoriter.types import Role


class Scripted:
    """The fake provider with a say about each request."""

    def __init__(
        self, refuse: Callable[[Sequence[str]], EmbeddingError | None] = lambda _: None, limit: int = 8192
    ) -> None:
        self._fake = open_provider("fake", cache_dir=None)
        self._refuse = refuse
        self.spec = replace(spec_of("fake"), max_tokens=limit)
        self.requests: list[list[str]] = []
        self.expected: list[int] = []

    def embed(self, texts: Sequence[str], *, role: Role) -> Any:
        self.requests.append(list(texts))
        if error := self._refuse(texts):
            raise error
        return self._fake.embed(texts, role=role)

    def count_tokens(self, text: str) -> int:
        return len(text)

    def hint_batch_size(self, chunks: int) -> None:
        self.expected.append(chunks)

    def close(self) -> None: ...


def embedded(provider: Any, texts: Sequence[str], **options: Any) -> list[Embedded]:
    return list(embed_in_batches(provider, texts, role="document", **options))


def poisoned(texts: Sequence[str]) -> EmbeddingError | None:
    return InputRejected("poison") if any("poison" in text for text in texts) else None


def over(limit: int) -> Callable[[Sequence[str]], EmbeddingError | None]:
    return lambda texts: InputTooLarge("long") if any(len(text) > limit for text in texts) else None


def test_each_batch_is_ready_before_the_next_is_asked_for() -> None:
    provider = Scripted()
    batches = embed_in_batches(provider, ["aaaa", "bbbb", "cccc"], role="document", budget=8)
    assert next(batches).positions == (0, 1)
    assert provider.requests == [["aaaa", "bbbb"]]
    assert next(batches).positions == (2,)


def test_vectors_are_those_of_the_provider_in_order() -> None:
    texts = [f"word{i}" for i in range(7)]
    batches = embedded(Scripted(), texts, budget=12)
    whole = np.concatenate([batch.vectors for batch in batches])
    assert whole == pytest.approx(Scripted().embed(texts, role="document"), abs=1e-6)


def test_the_provider_hears_how_many_documents_wait() -> None:
    provider = Scripted()
    embedded(provider, ["a", "b"])
    list(embed_in_batches(provider, ["a"], role="query"))
    assert provider.expected == [2]


def test_nothing_to_embed_asks_for_nothing() -> None:
    provider = Scripted()
    assert embedded(provider, []) == []
    assert (provider.requests, provider.expected) == ([], [])


@pytest.mark.slow
@given(st.sets(st.integers(0, 11)))
def test_poison_is_found_and_the_rest_goes_on(bad: set[int]) -> None:
    texts = [f"poison{i}" if i in bad else f"fine{i}" for i in range(12)]
    (batch,) = embedded(Scripted(poisoned), texts)
    assert {failure.position for failure in batch.failures} == bad
    assert batch.positions == tuple(i for i in range(12) if i not in bad)
    assert batch.vectors.shape == (12 - len(bad), 256)
    assert all(isinstance(failure.error, InputRejected) for failure in batch.failures)


def test_one_poison_costs_few_requests() -> None:
    provider = Scripted(poisoned)
    embedded(provider, ["poison", *(f"fine{i}" for i in range(63))])
    assert len(provider.requests) <= 13


def test_a_text_over_the_limit_is_the_mean_of_its_parts_by_length() -> None:
    provider = Scripted(limit=30)
    (batch,) = embedded(provider, ["alpha " * 5 + "omega"])
    assert provider.requests == [["alpha " * 5, "omega"]]
    first, last = provider.embed(["alpha " * 5, "omega"], role="document")
    mean = first * 30 + last * 5
    assert batch.vectors[0] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)


def test_beyond_eight_parts_a_text_is_left_out() -> None:
    provider = Scripted(limit=10)
    (batch,) = embedded(provider, ["x" * 1_000])
    assert provider.requests == [["x" * 10] * 8]
    assert batch.positions == (0,)


def test_a_text_that_the_provider_finds_too_large_is_tried_in_smaller_parts() -> None:
    provider = Scripted(over(200))
    (batch,) = embedded(provider, ["short", "w" * 700])
    assert batch.positions == (0, 1)
    assert max(map(len, provider.requests[-1])) <= 200
    assert "".join(provider.requests[-1]) == "w" * 700


def test_a_provider_that_takes_no_length_at_all_is_not_asked_for_ever() -> None:
    provider = Scripted(over(0))
    (batch,) = embedded(provider, ["w" * 700])
    (failure,) = batch.failures
    assert isinstance(failure.error, InputTooLarge)
    assert len(provider.requests) < 8


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([[0.0] * 256, None], "zero"),
        ([[float("nan")] + [1.0] * 255, None], "finite"),
        ([[1.0] * 255, None], r"\(255,\)"),
    ],
    ids=["zero", "not-finite", "too-short"],
)
def test_a_vector_that_is_none_fails_its_own_text_only(rows: list[Any], words: str) -> None:
    provider = Scripted()
    good = [1.0] + [0.0] * 255
    provider.embed = lambda texts, role: [row or good for row in rows]
    (batch,) = embedded(provider, ["bad", "good"])
    (failure,) = batch.failures
    assert (failure.position, batch.positions) == (0, (1,))
    assert isinstance(failure.error, BadVector)
    assert re.search(words, failure.error.message)


def test_a_missing_vector_fails_the_batch_since_nobody_knows_whose_it_was() -> None:
    provider = Scripted()
    provider.embed = lambda texts, role: [[1.0] + [0.0] * 255]
    (batch,) = embedded(provider, ["a", "b"])
    assert [failure.position for failure in batch.failures] == [0, 1]


def test_any_other_error_is_the_callers() -> None:
    provider = Scripted(lambda _: EmbeddingError("no network"))
    with pytest.raises(EmbeddingError, match="no network"):
        embedded(provider, ["a"])


def test_a_text_of_a_megabyte_has_a_vector(tmp_path: Path) -> None:
    provider = open_provider("fake", cache_dir=tmp_path)
    (batch,) = list(embed_in_batches(provider, ["가나다 " * 100_000], role="document"))
    assert batch.positions == (0,)


@given(st.lists(st.integers(0, 50)), st.integers(1, 60))
def test_groups_keep_the_order_and_hold_no_more_than_the_budget(sizes: list[int], budget: int) -> None:
    groups = group_by_budget(sizes, budget)
    assert [position for group in groups for position in group] == list(range(len(sizes)))
    assert all(len(group) == 1 or sum(sizes[position] for position in group) <= budget for group in groups)


@given(st.lists(st.integers(0, 50)), st.integers(1, 60))
def test_no_group_could_take_the_first_of_the_next(sizes: list[int], budget: int) -> None:
    groups = group_by_budget(sizes, budget)
    for group, following in itertools.pairwise(groups):
        assert sum(sizes[position] for position in group) + sizes[following[0]] > budget


@given(st.text(st.characters()), st.integers(1, 40))
def test_parts_join_to_the_text_and_fit_unless_one_character_does_not(text: str, limit: int) -> None:
    parts = list(split_within(text, limit))
    assert "".join(parts) == text
    assert all(utf8_size(part) <= limit or len(part) == 1 for part in parts)


@given(st.text(st.characters(), min_size=1), st.integers(1, 40))
def test_each_part_is_as_long_as_it_can_be(text: str, limit: int) -> None:
    parts = list(split_within(text, limit))
    for part, following in itertools.pairwise(parts):
        assert utf8_size(part + following[0]) > limit


def test_the_limit_can_be_measured_in_anything_that_grows() -> None:
    words = list(split_within("one two three four", 2, size=lambda text: len(text.split())))
    assert all(len(part.split()) <= 2 for part in words)
    assert "".join(words) == "one two three four"


def test_the_first_parts_of_a_huge_text_do_not_wait_for_the_rest() -> None:
    measured = 0

    def size(text: str) -> int:
        nonlocal measured
        measured += len(text)
        return len(text)

    assert next(split_within("x" * 1_000_000, 500, size=size)) == "x" * 500
    assert measured < 1_020_000
