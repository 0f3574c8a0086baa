"""Sets go through the real engine: real files of SQLite, real analysis, real ranking, vectors that are kept."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from memoriter.extensions.evals._datasets import Dataset, Document, Need, Pool
from memoriter.extensions.evals._run import OURS, SYSTEMS, PoolIndex, question_key
from memoriter.extensions.evals.api import EvalRun, VectorStore, kinds_table, system_table, values
from memoriter.ids import vector_key
from memoriter.types import Chunk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

TOWNS = ("Lisbon", "Oslo", "Kyoto", "Quito", "Cairo", "Lima", "Perth", "Sofia")
PARAGRAPHS = tuple(
    Document(f"p{n}", f"The harbour of {town} opens at {n + 4} in the morning.") for n, town in enumerate(TOWNS)
)
QUESTIONS = tuple(
    Need(f"q{n}", f"When does {town} open its harbour?", frozenset({f"p{n}"})) for n, town in enumerate(TOWNS)
)
TALK = tuple(
    Document(f"{group}{n}", text, group, f"{group}/1")
    for group, texts in {
        "anna": ("Anna: Where did you put the ladder?", "Ben: Behind the shed.", "Anna: Thanks, the gutter leaks."),
        "carl": ("Carl: My flight leaves on Sunday.", "Dora: From which gate?", "Carl: Gate twelve, I think."),
    }.items()
    for n, text in enumerate(texts)
)
NEEDS = (
    Need("a", "Where is the ladder?", frozenset({"anna1"}), "multi", "anna"),
    Need("b", "What about the gutter?", frozenset({"anna2"}), "single", "anna"),
    Need("c", "Which gate does the flight leave from?", frozenset({"carl2"}), "single", "carl"),
)


def ticks() -> float:
    return 1_000_000.0


@pytest.fixture
def store(tmp_path: Path) -> VectorStore:
    return VectorStore("fake", tmp_path / "kept", tmp_path / "models")


@contextmanager
def index_of(
    store: VectorStore, file: Path, documents: Sequence[Document], words: str = "analysed"
) -> Iterator[PoolIndex]:
    texts = {vector_key(Chunk(1, 1, document.text)): document.text for document in documents}
    vectors = store.vectors(texts, "document", lambda _: None)
    pool = Pool("pool", tuple(documents), ())
    with PoolIndex.build(file, pool, words=words, vectors=vectors, spec=store.spec, clock=ticks) as index:
        yield index


def figures_of(index: PoolIndex, store: VectorStore, text: str) -> dict[str, object]:
    vector = store.vectors({question_key(text): text}, "query", lambda _: None)[question_key(text)]
    return {system.name: index.rank(system, text, vector) for system in SYSTEMS if system.words == index.chunking.words}


@pytest.mark.matrix
@pytest.mark.parametrize("words", ["analysed", "classic"])
@pytest.mark.parametrize("gone", [{"p2"}, {"p0", "p7"}])
def test_taking_a_paragraph_out_gives_what_an_index_without_it_gives(tmp_path, store, words, gone):
    left = [document for document in PARAGRAPHS if document.id not in gone]
    with (
        index_of(store, tmp_path / "all.sqlite", PARAGRAPHS, words) as whole,
        index_of(store, tmp_path / "left.sqlite", left, words) as fresh,
        whole.without(gone),
    ):
        for need in QUESTIONS:
            assert figures_of(whole, store, need.text) == figures_of(fresh, store, need.text)


def test_taking_a_turn_out_brings_its_neighbours_together(tmp_path, store):
    left = [turn for turn in TALK if turn.id != "anna1"]
    with (
        index_of(store, tmp_path / "all.sqlite", TALK) as whole,
        index_of(store, tmp_path / "left.sqlite", left) as fresh,
        whole.without({"anna1"}),
    ):
        for need in NEEDS:
            assert figures_of(whole, store, need.text) == figures_of(fresh, store, need.text)


def test_what_was_taken_out_comes_back(tmp_path, store):
    with index_of(store, tmp_path / "all.sqlite", PARAGRAPHS) as index:
        before = [figures_of(index, store, need.text) for need in QUESTIONS]
        with index.without({"p1", "p2"}):
            assert [figures_of(index, store, need.text) for need in QUESTIONS] != before
        assert [figures_of(index, store, need.text) for need in QUESTIONS] == before


def test_a_session_is_one_file_with_a_turn_a_chunk_and_a_paragraph_is_a_file(tmp_path, store):
    with (
        index_of(store, tmp_path / "talk.sqlite", TALK) as talk,
        index_of(store, tmp_path / "p.sqlite", PARAGRAPHS) as page,
    ):
        assert {path: file.chunks for path, file in talk.index.files().items()} == {
            "memory/anna/1.md": 3,
            "memory/carl/1.md": 3,
        }
        assert {file.chunks for file in page.index.files().values()} == {1}


def test_every_chunk_of_a_pool_has_a_vector(tmp_path, store):
    with index_of(store, tmp_path / "talk.sqlite", TALK) as talk:
        assert (talk.index.vectors(), talk.index.pending()) == (len(TALK), 0)


def test_a_turn_gains_from_the_turn_before_it(tmp_path, store):
    with index_of(store, tmp_path / "talk.sqlite", TALK) as talk:
        found = talk.rank(OURS, "where is the ladder", None).documents
    assert found[:2] == ("anna0", "anna1")


@pytest.mark.slow
def test_four_systems_are_measured(tmp_path, store):
    result = EvalRun(store, tmp_path, ticks).measure(Dataset("towns", "en", PARAGRAPHS, QUESTIONS))
    assert [system.system for system in result.systems] == ["keyword alone", "vector alone", "classic", "calibrated"]
    assert result.ours.quality.mrr == 1
    assert result.ours.quality.questions == len(QUESTIONS)
    assert result.ours.auc_removed is not None
    assert result.ours.auc_removed > 0.9
    assert result.ours.auc_elsewhere is None


@pytest.mark.slow
def test_conversations_are_also_asked_about_each_other(tmp_path, store):
    result = EvalRun(store, tmp_path, ticks).measure(Dataset("talk", "en", TALK, NEEDS))
    assert all(system.auc_elsewhere is not None for system in result.systems)
    assert {kind: quality.questions for kind, quality in result.ours.by_kind.items()} == {"multi": 1, "single": 2}


@pytest.mark.slow
def test_the_second_run_embeds_nothing_and_finds_the_same(tmp_path, store):
    dataset = Dataset("towns", "en", PARAGRAPHS, QUESTIONS)
    seen: list[object] = []
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    first = EvalRun(store, tmp_path / "one", ticks, seen.append).measure(dataset)
    embedded = len(seen)
    assert embedded
    assert EvalRun(store, tmp_path / "two", ticks, seen.append).measure(dataset) == first
    assert len(seen) == embedded


def test_a_question_never_takes_the_vector_of_a_document_with_the_same_text():
    assert question_key("the same") != vector_key(Chunk(1, 1, "the same"))


def test_the_figures_are_shown_as_a_table_and_given_as_values(tmp_path, store):
    result = EvalRun(store, tmp_path, ticks).measure(Dataset("talk", "en", TALK, NEEDS))
    title, _, head, rule, *rows, end = system_table(result).lines()
    assert title == "**talk: 3 questions, 6 documents**"
    assert head.startswith("| system        | nDCG@10 |")
    assert rule.startswith("|---------------|--------:|")
    assert [row.split("|")[1].strip() for row in rows] == [system.name for system in SYSTEMS]
    assert end == ""
    by_kind = kinds_table(result)
    assert by_kind is not None
    assert [row[:2] for row in by_kind.rows] == [("multi", 1), ("single", 2)]
    (report,) = values([result])["sets"]
    assert report["systems"][3]["quality"]["ndcg_10"] == result.ours.quality.ndcg_10


def test_a_set_without_types_has_no_table_of_them(tmp_path, store):
    result = EvalRun(store, tmp_path, ticks).measure(Dataset("towns", "en", PARAGRAPHS[:2], QUESTIONS[:2]))
    assert kinds_table(result) is None
