"""Settings are chosen on some questions and judged on others; what is worse or may be chance is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from memoriter.cli import main
from memoriter.extensions.evals._question_report import QuestionResult
from memoriter.extensions.evals._tune import Change, choose, value_of
from memoriter.questions import AnswerLines, EvalQuestion
from memoriter.types import Hit

if TYPE_CHECKING:
    from pathlib import Path

NOW = Change()
THEN = Change(min_score=0.2)


def questions(count: int, kind: str = "any") -> list[EvalQuestion]:
    return [EvalQuestion(f"L{n}", f"{n}?", "latin", kind) for n in range(count)]


def test_a_change_that_helps_everywhere_is_accepted_with_its_gain():
    tuned = choose({NOW: [0.5] * 40, THEN: [0.5, 1.0] * 20}, questions(40))
    assert (tuned.change, tuned.before, tuned.after, tuned.refusal) == (THEN, 0.5, 0.75, None)
    assert 0.15 < tuned.gain.low < tuned.gain.value <= 0.25 < tuned.gain.high
    assert tuned.as_json()["settings"] == {"memorySearch.query.minScore": 0.2}


def test_settings_that_are_the_best_stay():
    tuned = choose({NOW: [0.5] * 20, THEN: [0.5] * 20}, questions(20))
    assert (tuned.change, tuned.regresses) == (NOW, False)
    assert "None of the settings" in (tuned.refusal or "")


def test_a_gain_that_may_be_chance_is_refused():
    tuned = choose({NOW: [0.5] * 20, THEN: [0.5] * 18 + [1.0, 0.6]}, questions(20))
    assert (tuned.change, tuned.regresses) == (THEN, False)
    assert "may be chance" in (tuned.refusal or "")


def test_a_choice_that_does_not_hold_on_other_questions_is_a_regression():
    # Each of these changes answers four questions and loses the others: the best on four folds loses on the fifth.
    changes = {Change(min_score=0.2 + n / 100): [float(at // 2 == n) for at in range(20)] for n in range(10)}
    tuned = choose({NOW: [0.09] * 20, **changes}, questions(20))
    assert tuned.gain.value < 0
    assert tuned.regresses
    assert "become worse" in (tuned.refusal or "")


def test_a_kind_of_question_that_loses_refuses_the_change():
    asked = [*questions(30, "lexical"), *questions(6, "temporal")]
    tuned = choose({NOW: [0.5] * 36, THEN: [1.0] * 30 + [0.0] * 6}, asked)
    assert tuned.gain.low > 0
    assert tuned.losses == ("temporal",)
    assert tuned.refusal == "The answers to some questions become worse: temporal."


def test_a_kind_that_the_chosen_settings_make_worse_refuses_them_though_most_folds_choose_others():
    # One fold in ten keeps the settings that spare the last kind; the choice on all questions does not.
    asked = [*questions(30, "lexical"), *questions(6, "temporal")]
    spare = [0.9] * 30 + [0.5] * 6
    tuned = choose({NOW: [0.5] * 36, THEN: [1.0] * 30 + [0.2] * 6, Change(max_per_note=3): spare}, asked)
    assert tuned.change == THEN
    assert tuned.chosen_groups["temporal"].high < 0
    assert "temporal" in tuned.losses


def test_the_gain_does_not_depend_on_one_division_into_folds():
    # A change that one question decides is held out with that question in every division.
    tuned = choose({NOW: [0.5] * 19 + [0.0], THEN: [0.49] * 19 + [1.0]}, questions(20))
    assert tuned.change == THEN
    assert tuned.gain.value < 0


@pytest.mark.slow
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=10, max_size=30))
def test_the_choice_is_never_worse_on_the_questions_it_was_made_on(pairs):
    tuned = choose({NOW: [now for now, _ in pairs], THEN: [then for _, then in pairs]}, questions(len(pairs)))
    assert tuned.after >= tuned.before - 1e-9
    assert tuned.gain.n == len(pairs)


def test_what_is_not_shown_is_worth_nothing_and_silence_answers_what_has_no_answer():
    hits = (Hit("a.md", 1, 1, 0.4, "", "memory"),)
    answered = QuestionResult(EvalQuestion("q", "?", "latin", "any", (AnswerLines("a.md", 1, 1),)), hits, 0.35)
    unanswered = QuestionResult(EvalQuestion("q", "?", "latin", "any"), hits, 0.35)
    assert [value_of(answered, limit) for limit in (0.3, 0.5)] == [1, 0]
    assert [value_of(unanswered, limit) for limit in (0.3, 0.5)] == [0, 1]


@pytest.fixture
def tuning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Notes about twelve towns, and what runs `memoriter eval tune` on them."""
    monkeypatch.setenv("MEMORITER_HOME", str(tmp_path / "home"))
    notes = tmp_path / "notes"
    (notes / "memory").mkdir(parents=True)
    towns = ("Lisbon", "Oslo", "Kyoto", "Quito", "Cairo", "Lima", "Perth", "Sofia", "Turin", "Accra", "Hanoi", "Bern")
    for town in towns:
        (notes / "memory" / f"{town}.md").write_text(f"# {town}\n\n- The harbour of {town} opens.\n", "utf-8")
    lines = [f"- When does {town} open its harbour? → memory/{town}.md#L3\n" for town in towns]
    lines += [f"- Xylophone {number} lessons? → nothing\n" for number in range(8)]
    (notes / "eval.md").write_text("".join(lines), "utf-8")
    config = tmp_path / "m.json5"

    def run(*words: str, settings: str = ""):
        config.write_text(f'{{agents: {{defaults: {{memorySearch: {{provider: "fake", {settings}}}}}}}}}', "utf-8")
        return CliRunner().invoke(main, ["eval", "tune", *words, "-w", str(notes), "--config", str(config)])

    return run, notes


@pytest.mark.slow
def test_a_minimum_score_that_hides_every_answer_is_found_and_corrected_on_demand(tuning):
    run, notes = tuning
    hidden = "query: {minScore: 0.99}"
    found = json.loads(run("--json", settings=hidden).stdout)
    assert found["refusal"] is None
    assert found["settings"]["memorySearch.query.minScore"] < 0.99
    assert found["gain"]["low"] > 0
    assert found["written"] is None
    assert not (notes / ".memoriter.json5").exists()
    done = run("--write", settings=hidden)
    assert done.exit_code == 0, done.output
    assert "minScore" in (notes / ".memoriter.json5").read_text("utf-8")


@pytest.mark.slow
def test_nothing_is_written_where_nothing_is_better(tuning):
    run, notes = tuning
    done = run("--write", settings="query: {minScore: 0.3}")
    assert "None of the settings" in done.stdout or "may be chance" in done.stdout
    assert not (notes / ".memoriter.json5").exists()


@pytest.mark.slow
def test_a_minimum_score_is_not_chosen_without_questions_that_have_no_answer(tuning):
    run, notes = tuning
    kept = [line for line in (notes / "eval.md").read_text("utf-8").splitlines() if "nothing" not in line]
    (notes / "eval.md").write_text("\n".join(kept), "utf-8")
    hidden = "query: {minScore: 0.99}"
    found = json.loads(run("--json", settings=hidden).stdout)
    assert found["minScoreTried"] is False
    assert "memorySearch.query.minScore" not in found["settings"]
    assert "minScore was not tried: that needs at least 5 questions" in run(settings=hidden).stdout


def test_a_few_questions_are_too_few(tuning):
    run, notes = tuning
    (notes / "eval.md").write_text("- When does Lisbon open? → memory/Lisbon.md#L3\n", "utf-8")
    done = run("--json")
    assert done.exit_code == 2
    assert "1 questions, too few" in json.loads(done.stdout)["error"]["message"]


@pytest.mark.parametrize("before", [[], ["--json"], ["-w", "."]])
def test_the_command_is_found_after_global_options(before):
    done = CliRunner().invoke(main, ["eval", *before, "tune", "--help"])
    assert done.exit_code == 0
    assert "Search for settings" in done.stdout


def test_settings_are_not_written_for_sets(tuning, tmp_path):
    run, _ = tuning
    assert run("--write", str(tmp_path)).exit_code == 2
