"""What holds for the hits of any typed query over any notes, through a real index."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoriter.ids import content_hash, vector_key
from memoriter.index import Index
from memoriter.search import MATCH, CosineBaseline, EmbeddedLine, SearchSettings, TypedQuery, rank, rank_lines
from memoriter.sync import ChunkingSettings, entry_of
from memoriter.types import Chunk, Filters, ModelSpec, QueryLine, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memoriter.types import Hit

SPEC = ModelSpec("test", "directions", 64, background=(0.0, 0.125))
NOW = 1_770_000_000.0
DAY = 739_000
EVERYTHING = SearchSettings(max_results=200, min_score=0.0, background=CosineBaseline.of_model(SPEC.background))
BY_MEANING = replace(EVERYTHING, hybrid=False)
DECAYING = replace(EVERYTHING, half_life_days=30.0)
few = settings(max_examples=25)
words = st.integers(0, 11)
corpora = st.lists(st.lists(st.lists(words, min_size=1, max_size=12), min_size=1, max_size=3), min_size=1, max_size=8)
questions = st.lists(words, min_size=1, max_size=5, unique=True)
kinds = st.sampled_from(["lex", "vec", "hyde"])
lines = st.lists(st.tuples(kinds, questions), min_size=1, max_size=4)


LETTERS = str.maketrans("0123456789", "bcdfghjklm")


def text_of(numbers: Sequence[int]) -> str:
    # Stemming leaves these words alone. They have no digits, because a number that no note has keeps all scores low.
    return " ".join(f"q{number:03}z".translate(LETTERS) for number in numbers)


def vector_of(text: str) -> np.ndarray:
    """A random direction that belongs to the text."""
    row = np.random.default_rng(int(content_hash(text)[:12], 16)).normal(size=SPEC.dimensions)
    return (row / np.linalg.norm(row)).astype(np.float32)


@pytest.fixture(scope="module")
def index_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[list[list[list[int]]]], Index]]:
    """An index with notes of several chunks, each note a week older than the one before."""
    folder = tmp_path_factory.mktemp("indexes")
    number = count()
    opened = list[Index]()

    def build(corpus: list[list[list[int]]]) -> Index:
        while opened:
            opened.pop().close()
        index = Index.open(folder / f"{next(number)}.sqlite", clock=lambda: NOW, network=False)
        opened.append(index)
        index.use_vectors(SPEC)
        for at, note in enumerate(corpus):
            passages = [Chunk(1 + 2 * line, 1 + 2 * line, text_of(numbers)) for line, numbers in enumerate(note)]
            entries = [entry_of(passage, DAY - 7 * at, ChunkingSettings()) for passage in passages]
            path = f"memory/note-{at}.md"
            index.put_file(Source(path, "memory", Path("/notes") / path, 1, 1), content_hash(path), entries)
            vectors = {vector_key(passage): vector_of(passage.text) for passage in passages}
            index.put_vectors(list(vectors), np.stack(list(vectors.values())))
        return index

    yield build
    while opened:
        opened.pop().close()


def ask(index: Index, text: str, vector: np.ndarray | None, ranking: SearchSettings) -> tuple[Hit, ...]:
    return rank(index, text, vector, ranking, filters=Filters(), now=NOW)


def search(
    index: Index, asked: Sequence[tuple[str, Sequence[int]]], ranking: SearchSettings = EVERYTHING, intent: str = ""
) -> tuple[Hit, ...]:
    texts = [(kind, text_of(words)) for kind, words in asked]
    embedded = [
        EmbeddedLine(QueryLine(kind, text), None if kind == "lex" else vector_of(text))  # type: ignore[arg-type]
        for kind, text in texts
    ]
    return rank_lines(index, TypedQuery(embedded, intent), ranking, filters=Filters(), now=NOW)


def order(hits: Sequence[Hit]) -> list[tuple[str, float]]:
    return [(hit.citation, hit.score) for hit in hits]


@pytest.mark.slow
@few
@given(corpora, questions)
def test_a_single_lex_line_ranks_like_a_search_without_vectors(index_of, corpus, question):
    index = index_of(corpus)
    for ranking in (EVERYTHING, DECAYING, replace(EVERYTHING, mmr_lambda=0.5)):
        alone = search(index, [("lex", question)], ranking)
        assert order(alone) == order(ask(index, text_of(question), None, ranking))


@pytest.mark.slow
@few
@given(corpora, questions)
def test_a_single_vec_line_ranks_like_a_search_by_meaning_alone(index_of, corpus, question):
    index = index_of(corpus)
    alone = search(index, [("vec", question)], BY_MEANING)
    assert order(alone) == order(ask(index, text_of(question), vector_of(text_of(question)), BY_MEANING))


@pytest.mark.slow
@few
@given(corpora, lines)
def test_the_score_of_a_hit_is_its_best_score_for_one_line(index_of, corpus, asked):
    index = index_of(corpus)
    singly = [{hit.citation: hit.score for hit in search(index, [line])} for line in asked]
    for hit in search(index, asked):
        assert hit.score == pytest.approx(max(scores.get(hit.citation, 0.0) for scores in singly))
        assert hit.explanation is not None
        assert hit.score == pytest.approx(max(line.score for line in hit.explanation.lines))


@pytest.mark.slow
@few
@given(corpora, lines)
def test_hits_are_ordered_by_the_sum_of_what_their_lines_add(index_of, corpus, asked):
    hits = search(index_of(corpus), asked)
    sums = [sum(line.share for line in hit.explanation.lines) for hit in hits if hit.explanation]
    assert sums == sorted(sums, reverse=True)
    for hit in hits:
        assert hit.explanation is not None
        for line in hit.explanation.lines:
            weight = 2 if line.line == 1 else 1
            assert line.share == (0 if line.place is None else weight / (60 + line.place))


@pytest.mark.slow
@few
@given(corpora, questions)
def test_a_hypothetical_answer_alone_never_makes_a_match(index_of, corpus, question):
    assert all(hit.score < MATCH for hit in search(index_of(corpus), [("hyde", question)]))


@pytest.mark.slow
@few
@given(corpora, lines, questions)
def test_an_intent_changes_the_order_within_notes_only(index_of, corpus, asked, intent):
    index = index_of(corpus)
    plain = search(index, asked)
    steered = search(index, asked, intent=text_of(intent))
    unrepeated = {hit.text for hit in plain}
    if len(unrepeated) == len(plain):  # of passages with the same text, the better one is the hit
        assert [hit.path for hit in steered] == [hit.path for hit in plain]
        assert {(hit.citation, hit.score) for hit in steered} == {(hit.citation, hit.score) for hit in plain}
