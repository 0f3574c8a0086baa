"""What is called a match: thresholds measured on questions that the notes do not answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoriter import Memory
from memoriter.backends._foreign_vectors import shipped_vectors
from memoriter.embed import embed_in_batches, open_provider, spec_of
from memoriter.errors import ProviderUnavailable
from memoriter.index._reader import IndexReader
from memoriter.search import FOREIGN_QUESTIONS, Calibration, pack_vectors, question_from, script_of, unpack_vectors
from memoriter.search._certainty import ForeignQuestions, conformal_quantile, threshold_of, usual

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CERTAINTIES = st.lists(st.floats(-50, 50), min_size=33, max_size=80)
RATES = st.floats(0.03, 0.5)


@given(CERTAINTIES, RATES)
def test_a_threshold_is_exceeded_by_at_most_the_rate_that_is_set(values: list[float], rate: float) -> None:
    exceeding = sum(value > conformal_quantile(values, rate) for value in values)
    assert exceeding / (len(values) + 1) <= rate


@given(CERTAINTIES, RATES, RATES)
def test_a_higher_rate_never_has_a_higher_threshold(values: list[float], one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert conformal_quantile(values, high) <= conformal_quantile(values, low)


@given(st.lists(st.floats(-50, 50), min_size=34, max_size=34, unique=True))
def test_every_certainty_is_among_those_that_are_held_out_once(values: list[float]) -> None:
    threshold = threshold_of(values, 0.5)
    assert threshold.questions == 34
    assert 0 <= threshold.measured <= 1


def test_each_script_has_enough_foreign_questions_for_the_lowest_rate() -> None:
    assert {script: len(questions) for script, questions in FOREIGN_QUESTIONS.items() if len(questions) < 33} == {}
    wrong = [
        question
        for script, questions in FOREIGN_QUESTIONS.items()
        for question in questions
        if script_of(question) != script
    ]
    assert wrong == []
    every = [question for questions in FOREIGN_QUESTIONS.values() for question in questions]
    assert len(set(every)) == len(every)


def test_a_calibration_is_read_as_it_was_written() -> None:
    rows = np.random.default_rng(1).standard_normal((3, 8)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    questions = ForeignQuestions(("latin", "latin", "han"), rows, 0.25)
    written = Calibration(
        foreign=questions,
        certainties=(1.0, 2.5, 4.0),
        scores=(0.25, 0.125, 0.5),
        chunks=70,
        own=(("latin", 3.5, None), ("han", 9.0, 0.5)),
    )
    read = Calibration.loads(written.dumps())
    assert (read.certainties, read.scores) == (written.certainties, written.scores)
    assert (read.chunks, read.own) == (70, written.own)
    assert (read.foreign.scripts, read.foreign.variance) == (questions.scripts, 0.25)
    assert np.einsum("ij,ij->i", read.foreign.vectors, rows).min() > 0.999
    assert read.threshold("which ferry?", 0.5) == 2.5
    assert read.threshold("какой паром?", 0.5) == 4.0, "a script without questions has the highest threshold"


@given(CERTAINTIES, st.floats(60, 1e6))
def test_a_foreign_question_about_a_topic_of_the_notes_changes_no_threshold(values: list[float], far: float) -> None:
    spread = max(values) - min(values)
    assert usual([*values, max(values) + 2 * spread + far]) == usual([*values, max(values) + 4 * spread + 2 * far])
    assert max(values) + 2 * spread + far not in usual([*values, max(values) + 2 * spread + far])


@given(CERTAINTIES)
def test_at_least_three_quarters_of_the_foreign_questions_are_usual(values: list[float]) -> None:
    kept = usual(values)
    assert len(kept) >= 0.75 * len(values)
    assert max(kept) <= min([value for value in values if value not in kept], default=np.inf)


def test_packed_vectors_keep_their_direction() -> None:
    rows = np.eye(4, dtype=np.float32)
    assert np.allclose(unpack_vectors(json.loads(json.dumps(pack_vectors(rows)))), rows, atol=0.01)


@pytest.mark.parametrize(
    ("passage", "question"),
    [
        ("- The ferry leaves the old harbour pier at seven every Sunday", "ferry leaves harbour pier every Sunday"),
        ("旧渡轮每个星期天早上七点从旧港口的码头出发去小岛", "旧渡轮每个星期天早上七点从旧"),
        ("# Boat\n\n- yes", None),
        ("", None),
    ],
)
def test_a_question_is_made_from_words_of_a_passage(passage: str, question: str | None) -> None:
    assert question_from(passage) == question


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """A workspace of 24 notes, each with one decision, indexed with the bundled model."""
    try:
        open_provider("bundled", cache_dir=tmp_path_factory.mktemp("models")).close()
    except ProviderUnavailable as error:
        pytest.skip(f"the bundled model cannot run here: {error.message}")
    workspace = tmp_path_factory.mktemp("notes")
    write_notes(workspace, SUBJECTS)
    with Memory.open(workspace, home=tmp_path_factory.mktemp("home")) as opened:
        opened.sync()
        yield opened


SUBJECTS = tuple(
    f"{verb} {thing}"
    for verb, things in {
        "We bought": ("a red kettle for the office", "two monitors for the editors", "oak boards for the shelf"),
        "We cancelled": ("the newsletter tool", "the gym contract", "the second phone line"),
        "The customer asked for": ("an invoice in euros", "a longer trial", "dark mode in the app"),
        "Deployment failed because of": ("an expired token", "a full disk", "a missing migration"),
        "The garden needs": ("a new hose", "compost before March", "a fence against deer"),
        "Our cat got": ("a vaccination against flu", "a chip with number 4411", "medicine for her kidneys"),
        "The team agreed on": ("four-week sprints", "English as the language of reviews", "no meetings on Friday"),
        "The bicycle has": ("new brake pads", "a broken rear light", "a leather saddle"),
    }.items()
    for thing in things
)


def write_notes(workspace: Path, subjects: tuple[str, ...]) -> None:
    for day, subject in enumerate(subjects, 1):
        note = workspace / "memory" / f"2026-03-{day:02}.md"
        note.parent.mkdir(exist_ok=True)
        note.write_text(f"# Day {day}\n\n- {subject}.\n", encoding="utf-8")


@pytest.mark.slow
def test_an_index_measures_what_a_match_is_and_status_shows_it(memory: Memory) -> None:
    state = memory.status().calibration
    assert state is not None
    assert (state.rate, state.chunks) == (0.05, 24)
    asked = {script: len(questions) for script, questions in FOREIGN_QUESTIONS.items()}
    assert {each.script for each in state.scripts} == set(asked)
    assert all(0.75 * asked[each.script] <= each.questions <= asked[each.script] for each in state.scripts)
    assert max(each.measured for each in state.scripts) <= 0.2
    assert state.own_matched > state.own_matched_without


@pytest.mark.slow
def test_a_question_that_the_notes_answer_is_a_match_and_a_foreign_one_is_not(memory: Memory) -> None:
    answered = memory.search("why did the deployment fail at full disk?", explain=True)
    foreign = memory.search("which reed does the bassoon player of the brass band prefer?", min_score=0.0)
    assert (answered.outcome, foreign.outcome) == ("match", "weak")
    assert answered.certainty is not None
    assert foreign.certainty is not None
    assert answered.certainty.value > answered.certainty.threshold
    assert foreign.certainty.value <= foreign.certainty.threshold


@pytest.mark.slow
def test_an_answer_has_no_certainty_if_another_process_deletes_the_vectors_of_its_passage_meanwhile(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    dimensions = 384
    monkeypatch.setattr(IndexReader, "vectors_at", lambda *_: ([], np.empty((0, dimensions), np.float32)))
    monkeypatch.setattr(IndexReader, "item_vectors", lambda *_: ([], [], [], np.empty((0, dimensions), np.float32)))
    result = memory.search("why did the deployment fail at full disk?", explain=True)
    assert "full disk" in result.hits[0].snippet
    assert result.certainty is None


@pytest.mark.slow
def test_the_same_notes_give_the_same_thresholds(memory: Memory, tmp_path: Path) -> None:
    workspace = tmp_path / "notes"
    workspace.mkdir()
    write_notes(workspace, SUBJECTS)
    with Memory.open(workspace, home=tmp_path / "home") as again:
        again.sync()
        assert again.status().calibration == memory.status().calibration


@pytest.mark.slow
def test_a_higher_rate_of_false_matches_has_lower_thresholds(memory: Memory, tmp_path: Path) -> None:
    workspace, config = tmp_path / "notes", tmp_path / "config.json5"
    workspace.mkdir()
    write_notes(workspace, SUBJECTS)
    config.write_text("{agents: {defaults: {memorySearch: {query: {falseMatchRate: 0.3}}}}}", encoding="utf-8")
    with Memory.open(workspace, config=config, home=tmp_path / "home") as lenient:
        lenient.sync()
        state, strict = lenient.status().calibration, memory.status().calibration
    assert state is not None
    assert strict is not None
    assert state.rate == 0.3
    assert all(one.threshold < other.threshold for one, other in zip(state.scripts, strict.scripts, strict=True))


def test_a_few_notes_are_measured_by_a_fixed_score(tmp_path: Path) -> None:
    write_notes(tmp_path, SUBJECTS[:3])
    with Memory.open(tmp_path, home=tmp_path / "home") as small:
        small.sync()
        assert small.status().calibration is None
        assert small.search("red kettle").certainty is None


@pytest.mark.slow
def test_the_vectors_that_come_with_memoriter_are_those_of_the_bundled_model(tmp_path: Path) -> None:
    shipped = shipped_vectors(spec_of("bundled"))
    assert shipped is not None, "after a change of the questions or the model: just foreign-vectors"
    every = [question for questions in FOREIGN_QUESTIONS.values() for question in questions]
    try:
        provider = open_provider("bundled", cache_dir=tmp_path)
    except ProviderUnavailable as error:
        pytest.skip(f"the bundled model cannot run here: {error.message}")
    rows = [row for batch in embed_in_batches(provider, every[::40], role="query") for row in batch.vectors]
    provider.close()
    assert np.einsum("ij,ij->i", shipped[::40], np.array(rows)).min() > 0.99


SPANISH = {
    "2025-02-05.md": "La cámara frigorífica marcó 9 °C; tiramos 14 kg de pescado.",
    "2025-02-19.md": "El compresor estaba muerto, 740 € con mano de obra.",
    "2025-03-12.md": "Inspección de sanidad: todo bien salvo la falta de un termómetro calibrado.",
    "2025-04-02.md": "Subimos el menú del día a 18,50.",
    "2025-05-21.md": "Una clienta se atragantó; Tomás le hizo la maniobra de Heimlich.",
    "2025-06-30.md": "Robo de madrugada: se llevaron la caja y dos jamones.",
    "2025-08-14.md": "Se rompió el lavavajillas en pleno servicio.",
    "2025-09-21.md": "Nos faltaron sillas, prestadas por la parroquia.",
}


@pytest.mark.slow
def test_an_answer_is_shown_where_all_scores_are_low(tmp_path: Path) -> None:
    folder = tmp_path / "notes" / "memory"
    folder.mkdir(parents=True)
    for name, line in SPANISH.items():
        (folder / name).write_text(f"- {line}\n", encoding="utf-8")
    with Memory.open(tmp_path / "notes", home=tmp_path / "home") as memory:
        memory.sync()
        if memory.status().vectors == 0:
            pytest.skip("the bundled model cannot run here")
        question = "where did the extra seats come from?"
        hits = memory.search(question).hits
        assert "memory/2025-09-21.md" in [hit.path for hit in hits[:3]]
        assert max(hit.score for hit in hits) < 0.35
        assert memory.search(question, min_score=0.35).hits == ()
