"""The limit above which a text matches a message."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter.search import FOREIGN_TASKS, MOST_TEXTS, EmbeddedTexts, message_margin, script_of

DIMENSIONS = 48
FIGURES = (0.0, DIMENSIONS**-0.5)
RATE = 0.05


def embedded(count: int, seed: int, word: str = "text") -> EmbeddedTexts:
    """Return texts with vectors of random directions."""
    vectors = np.random.default_rng(seed).normal(size=(count, DIMENSIONS)).astype(np.float32)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return EmbeddedTexts([f"{word} {number}" for number in range(count)], unit)


def near(texts: EmbeddedTexts, row: int, share: float) -> EmbeddedTexts:
    """Return a message whose vector has a cosine of about `share` with one text."""
    other = embedded(1, 99, "message").vectors[0]
    vector = share * texts.vectors[row] + (1 - share**2) ** 0.5 * other
    return EmbeddedTexts(["message"], (vector / np.linalg.norm(vector))[None])


FOREIGN = [embedded(80, 1, "question"), embedded(60, 2, "task")]


def margin(
    message: EmbeddedTexts, texts: EmbeddedTexts, count: int | None = None, foreign: list[EmbeddedTexts] = FOREIGN
) -> float:
    whole = len(texts) if count is None else count
    return message_margin(message, texts, texts, foreign, count=whole, figures=FIGURES, rate=RATE)


@given(size=st.integers(1, 60), seed=st.integers(100, 10_000), data=st.data())
def test_the_text_of_the_message_itself_is_a_match(size: int, seed: int, data: st.DataObject) -> None:
    texts = embedded(size, seed)
    row = data.draw(st.integers(0, size - 1))
    assert margin(EmbeddedTexts([texts.texts[row]], texts.vectors[row : row + 1]), texts) > 0


@given(seed=st.integers(100, 10_000))
def test_the_nearer_a_message_is_to_a_text_the_larger_is_its_margin(seed: int) -> None:
    text = embedded(1, seed)
    margins = [margin(near(text, 0, share), text) for share in (0.4, 0.6, 0.75)]
    assert all(one < other for one, other in pairwise(margins))


@pytest.mark.parametrize("size", [1, 3, 40])
def test_hardly_any_message_about_something_else_is_a_match(size: int) -> None:
    texts, messages = embedded(size, 7), embedded(200, 8, "message")
    matches = sum(
        margin(EmbeddedTexts(messages.texts[at : at + 1], messages.vectors[at : at + 1]), texts) > 0
        for at in range(len(messages))
    )
    assert matches <= 2 * RATE * len(messages)


def test_a_kind_of_messages_that_resembles_the_texts_more_raises_the_limit() -> None:
    texts, message = embedded(12, 3), near(embedded(12, 3), 0, 0.7)
    close = near(texts, 1, 0.6).vectors[0]
    like_texts = FOREIGN[1].vectors + 2 * close
    tasks = EmbeddedTexts(FOREIGN[1].texts, like_texts / np.linalg.norm(like_texts, axis=1, keepdims=True))
    assert margin(message, texts, foreign=[FOREIGN[0], tasks]) < margin(message, texts)


def test_the_limit_is_higher_the_more_texts_were_compared_than_the_sample_has() -> None:
    texts = embedded(50, 4)
    message = near(texts, 0, 0.8)
    margins = [margin(message, texts, count) for count in (50, MOST_TEXTS, 1_000_000)]
    assert margins[0] > margins[1] > margins[2]


def test_a_script_without_foreign_messages_has_the_highest_limit_of_all() -> None:
    texts = embedded(5, 5)  # too few for a baseline of each script
    vector, close = near(texts, 0, 0.8).vectors, FOREIGN[1].vectors + near(texts, 1, 0.6).vectors
    han = EmbeddedTexts(["问题"] * len(close), close / np.linalg.norm(close, axis=1, keepdims=True))
    both = EmbeddedTexts([*FOREIGN[0].texts, *han.texts], np.concatenate([FOREIGN[0].vectors, han.vectors]))
    latin, chinese, thai = (
        margin(EmbeddedTexts([text], vector), texts, foreign=[both]) for text in ("message", "问题", "ข้อความ")
    )
    assert thai == chinese < latin


def test_tasks_are_listed_below_their_script() -> None:
    for script, tasks in FOREIGN_TASKS.items():
        wrong = [task for task in tasks if script_of(task) != script]
        assert len(wrong) <= 1, wrong  # "CSVを読んで…" has as many Latin words
        assert len(tasks) >= 20
        assert len(set(tasks)) == len(tasks)
