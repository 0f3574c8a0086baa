"""The judge: which passages answer, which of their lines, and that it computes what was trained."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import judge_reference
from memoriter.embed import Judge
from memoriter.embed.bundled import _graph, _weightfile, released_weights
from memoriter.embed.bundled._graph import MOST_PASSAGE_TOKENS, JudgeEngine
from memoriter.errors import ProviderUnavailable, TransientFailure

if TYPE_CHECKING:
    from pathlib import Path

LINES = [
    "- Chosen over CockroachDB and MySQL in June: PostgreSQL 16.",
    "- Ada keeps the backups in a safe in Oslo.",
    "- Bob waters the plants on Fridays.",
]
ASKED = [
    ("Where are the backups?", 1),
    ("Wer gießt die Pflanzen?", 2),
    ("어떤 데이터베이스를 골랐지?", 0),
    ("备份放在哪里？", 1),
    ("¿Qué día se riegan las plantas?", 2),
]
NOT_ANSWERED = ["What is the password of the backups?", "Who fixed the coffee machine?", "Wann hat Bob Geburtstag?"]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("judge")


@pytest.fixture(scope="module")
def engine(cache: Path) -> JudgeEngine:
    try:
        return JudgeEngine(released_weights(cache), cache)
    except ProviderUnavailable as error:
        pytest.skip(error.message)


@pytest.mark.parametrize(("question", "line"), ASKED)
def test_the_line_that_answers_is_found_also_in_another_language(engine: JudgeEngine, question: str, line: int) -> None:
    said = engine.judge(question, "Team", LINES, best=1)
    assert said.lines == (line, line)


def test_what_answers_is_more_certain_than_what_is_only_about_the_same_things(engine: JudgeEngine) -> None:
    answers = [engine.judge(question, "Team", LINES, line).logit for question, line in ASKED]
    others = [engine.judge(question, "Team", LINES, 1).logit for question in NOT_ANSWERED]
    assert min(answers) > max(others)


@pytest.mark.parametrize("best", [0, 7, 19])
def test_the_lines_around_the_best_are_read_as_far_as_they_fit(engine: JudgeEngine, best: int) -> None:
    lines = [f"- Note {at}: the ferry to island number {at} leaves at seven." for at in range(20)]
    said = engine.judge("When does the ferry leave?", "Ferries", lines, best)
    last = said.first + len(said.marks) - 1
    assert said.first <= best <= last
    assert 3 <= len(said.marks) <= MOST_PASSAGE_TOKENS // 12
    assert said.first <= said.lines[0] <= said.lines[1] <= last


def test_a_line_that_is_too_long_is_read_from_its_beginning(engine: JudgeEngine) -> None:
    said = engine.judge("Where are the backups?", "Team", ["- The backups are in Oslo. " + "And so on. " * 400], 0)
    assert (said.first, len(said.marks)) == (0, 1)
    assert said.logit > 0


@pytest.mark.matrix
@pytest.mark.parametrize("question", ["Where are the backups?", "備份在哪裡？", "x"])
@pytest.mark.parametrize("heading", ["", "Team › 2026"])
def test_the_graph_computes_what_was_trained(engine: JudgeEngine, cache: Path, question: str, heading: str) -> None:
    seen = dict[str, Any]()
    states = engine._states

    def spy(ids: Any, asked: int) -> Any:
        seen.update(ids=ids, asked=asked)
        return states(ids, asked)

    engine._states = spy  # type: ignore[method-assign]
    try:
        said = engine.judge(question, heading, LINES, 1)
    finally:
        engine._states = states  # type: ignore[method-assign]
    weights = _weightfile.tuned_weights(released_weights(cache), _weightfile.JUDGE, _graph.JUDGE_SHA256)
    stored = _weightfile.read_patch(_weightfile.JUDGE, _graph.JUDGE_SHA256)
    patch = {name: values.astype(np.float32) for name, values in stored.items()}
    expected = judge_reference.states(weights, patch, seen["ids"], seen["asked"])
    assert said.logit == pytest.approx(judge_reference.logit(patch, expected, seen["asked"]), abs=0.35)


def passage(*lines: str, best: int = 0) -> Any:
    return SimpleNamespace(heading="Team", parts=lines, best=best)


def test_passages_are_judged_in_their_order_and_the_model_is_loaded_again_after_closing(cache: Path) -> None:
    judge = Judge(cache, time.monotonic)
    passages = [passage(line) for line in LINES]
    try:
        first = judge.judge("Where are the backups?", passages, seconds=60)
    except ProviderUnavailable as error:
        pytest.skip(error.message)
    assert max(range(3), key=lambda at: first[at].logit) == 1
    judge.close()
    judge.close()
    assert judge.judge("Where are the backups?", passages[::-1], seconds=60) == first[::-1]
    judge.close()


def test_several_threads_get_the_same_judgements(engine: JudgeEngine) -> None:
    expected = [engine.judge(question, "Team", LINES, 1) for question, _ in ASKED]
    found: list[list[Any]] = []
    threads = [
        threading.Thread(target=lambda: found.append([engine.judge(asked, "Team", LINES, 1) for asked, _ in ASKED]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_no_passage_is_read_once_the_time_is_over(cache: Path) -> None:
    ticks = iter([0.0, 1.0, 99.0, 99.0, 99.0])
    judge = Judge(cache, lambda: next(ticks, 99.0))
    with pytest.raises((TransientFailure, ProviderUnavailable)):
        judge.judge("Where are the backups?", [passage(line) for line in LINES], seconds=5)
    judge.close()


@pytest.mark.parametrize("damage", ["wheel", "patch"])
def test_a_judge_that_cannot_be_loaded_is_a_reason_and_not_a_crash(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    if damage == "wheel":
        monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    else:
        (tmp_path / "judge.npz").write_bytes(b"something else")
        monkeypatch.setattr(_graph, "JUDGE", tmp_path / "judge.npz")
    monkeypatch.setattr("memoriter.embed._rerank._ENGINES", {})
    with pytest.raises(ProviderUnavailable) as refused:
        Judge(cache, time.monotonic).judge("Where?", [passage("- Here.")], seconds=60)
    assert refused.value.remedy
