"""The first answer: with little time, the vectors that matter to the question come first, and it is never overrated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoriter.embed._fake import FakeProvider
from memory_env import MemoryEnv

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.types import Role

SECONDS_PER_TEXT = 0.05
NOTES = 200


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path, {})
    yield env
    env.close()


@pytest.fixture
def embedded(env: MemoryEnv, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts in the order in which a slow model embeds them; queries begin with `query: `."""
    env.configure(provider="fake")
    env.many(NOTES)
    texts = list[str]()
    embed = FakeProvider.embed

    def embed_slowly(self: FakeProvider, batch: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        texts.extend(f"query: {text}" if role == "query" else text for text in batch)
        env.ticks += SECONDS_PER_TEXT * len(batch)
        return embed(self, batch, role=role)

    monkeypatch.setattr(FakeProvider, "embed", embed_slowly)
    return texts


def test_the_question_and_the_passages_with_its_words_are_embedded_before_all_others(
    env: MemoryEnv, embedded: list[str]
) -> None:
    question = "what lies beside manything150 and manyword171?"
    result = env.open().search(question, deadline_ms=1_500)

    assert embedded[0] == f"query: {question}"
    assert {"manyword150", "manyword171"} <= set(" ".join(embedded[1:3]).replace(".", "").split())
    assert len(embedded) < NOTES
    assert result.mode == "hybrid"
    assert {hit.path for hit in result.hits[:2]} == {"memory/many/150.md", "memory/many/171.md"}
    assert result.health.pending > 0


def test_a_search_keeps_its_deadline_with_a_slow_model(env: MemoryEnv, embedded: list[str]) -> None:
    memory = env.open()
    before = env.ticks
    for limit in (500, 2_000, 5_000):
        before = env.ticks
        memory.search("what lies beside manything7?", deadline_ms=limit)
        assert env.ticks - before <= limit / 1_000 + 13 * SECONDS_PER_TEXT  # a step that has begun is finished
    assert len(embedded) < NOTES


def test_an_answer_is_a_match_only_when_no_vector_is_missing(env: MemoryEnv, embedded: list[str]) -> None:
    memory = env.open()
    question = "The manyword150 lies beside manything150."
    assert memory.search(question, deadline_ms=1_000).outcome == "weak"
    memory.sync()
    complete = memory.search(question)

    assert (complete.outcome, complete.health.pending) == ("match", 0)
    assert len({text for text in embedded if not text.startswith("query: ")}) == NOTES


def test_words_alone_are_no_match_while_the_first_vectors_are_still_to_come(
    env: MemoryEnv, embedded: list[str]
) -> None:
    memory = env.open()
    question = "The manyword150 lies beside manything150."
    hurried = memory.search(question, deadline_ms=54)  # the question alone takes the share of vectors

    assert embedded == [f"query: {question}"]
    assert (hurried.mode, hurried.truncated_by, hurried.health.pending) == ("keyword", None, NOTES)
    assert hurried.hits[0].path == "memory/many/150.md"
    assert (hurried.hits[0].score > 0.5, hurried.outcome) == (True, "weak")
