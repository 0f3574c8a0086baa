"""A search of the past answers as it would have answered then."""

from __future__ import annotations

import json
import os
import pkgutil
import shutil
import subprocess
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from dated_year import WAYS, Year
from memoriter.backends import index_past
from memoriter.errors import IndexBusy
from memory_env import MemoryEnv

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUESTION = "which colour is the ferry"


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    (env.home / "memoriter.json5").write_text('{agents: {defaults: {memorySearch: {provider: "fake"}}}}')
    for file in env.notes.rglob("*.md"):
        os.utime(file, (0, 0))  # long before the journal begins
    yield env
    env.close()


def day_of(env: MemoryEnv) -> str:
    return datetime.fromtimestamp(env.seconds, UTC).date().isoformat()


def test_an_answer_is_that_of_the_time_that_is_asked_for(env: MemoryEnv) -> None:
    memory = env.open()
    memory.sync()
    days = list[str]()
    for colour in ("blue", "green"):
        memory.remember(f"The ferry is {colour}.", to="long-term", origin="agent")
        days.append(day_of(env))
        env.seconds += 86_400
        entry = memory.list("MEMORY.md")[-1]
        before = memory.read("MEMORY.md")
        lines = before.text.splitlines(keepends=True)
        del lines[entry.start_line - 1 : entry.end_line]
        memory.replace("MEMORY.md", "".join(lines), expected=before.hash)

    answers = [memory.search(QUESTION, as_of=day).hits for day in days]
    assert ["ferry is blue" in answers[0][0].snippet, "ferry is green" in answers[1][0].snippet] == [True, True]
    assert not any("green" in hit.text for hit in answers[0])
    assert not any("ferry" in hit.text for hit in memory.search(QUESTION).hits)
    tool = next(tool for tool in memory.tools if tool.name == "memory_search")
    (first, *_) = tool.run(memory, {"query": QUESTION, "asOf": days[0]})["results"]
    assert (first["author"], "blue" in first["snippet"]) == (f"agent, {days[0]}", True)


def test_a_state_of_the_past_is_kept_for_the_next_question_and_erased_with_what_is_forgotten(env: MemoryEnv) -> None:
    memory = env.open()
    memory.remember("The ferry is blue.", to="long-term")
    memory.sync()
    past = env.home / "memory" / "past"
    made = list[tuple[str, int]]()
    for _ in range(2):
        env.seconds += 86_400
        memory.remember(f"Said at {env.seconds}.")
        memory.search(QUESTION, as_of="2026-03-10")
        made.append(next((state.name, (state / "index.sqlite").stat().st_ino) for state in past.iterdir()))
    assert made[0] == made[1]
    assert [path for path in (past, *past.iterdir()) if path.stat().st_mode & 0o077] == []

    memory.forget(memory.plan_forget(match="ferry is blue"))
    assert not past.exists()
    assert not any("ferry" in hit.text for hit in memory.search(QUESTION, as_of="2026-03-10").hits)


def test_a_state_that_is_made_while_its_text_is_forgotten_is_not_kept(
    env: MemoryEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = env.open()
    memory.remember("The ferry is blue.", to="long-term")
    memory.sync()
    other = env.open()

    def index_and_forget(*backends: Any) -> None:
        index_past(*backends)
        other.forget(other.plan_forget(match="ferry is blue"))

    monkeypatch.setattr("memoriter.backends.index_past", index_and_forget)
    env.seconds += 86_400
    with pytest.raises(IndexBusy, match="was forgotten"):
        memory.search(QUESTION, as_of="2026-03-10")
    assert [file for file in env.home.rglob("*") if file.is_file() and b"ferry is blue" in file.read_bytes()] == []
    monkeypatch.undo()
    assert not any("ferry" in hit.text for hit in memory.search(QUESTION, as_of="2026-03-10").hits)


@pytest.mark.parametrize("step", ["memoriter.app.os.utime", "memoriter.app.BuiltinBackend.search"])
def test_a_kept_state_that_goes_while_its_text_is_forgotten_is_made_anew(
    env: MemoryEnv, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    memory = env.open()
    memory.remember("The ferry is blue and secret.", to="long-term")
    memory.remember("The ferry leaves at six.", to="long-term")
    memory.sync()
    other = env.open()
    env.seconds += 86_400
    assert any("secret" in hit.text for hit in memory.search(QUESTION, as_of="2026-03-10").hits)
    actual = pkgutil.resolve_name(step)

    def forget_first(*arguments: Any, **named: Any) -> Any:
        monkeypatch.undo()
        other.forget(other.plan_forget(match="secret"))
        return actual(*arguments, **named)

    monkeypatch.setattr(step, forget_first)
    texts = [hit.text for hit in memory.search(QUESTION, as_of="2026-03-10").hits]
    assert [any(word in text for text in texts) for word in ("six", "secret")] == [True, False]


def test_few_states_of_the_past_are_kept(env: MemoryEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoriter.backends._past.MOST_STATES", 2)
    memory = env.open()
    days = list[str]()
    for number in range(3):
        memory.remember(f"Ferry number {number}.", to="long-term")
        days.append(day_of(env))
        env.seconds += 86_400
    for day in days:
        memory.search(QUESTION, as_of=day)
        env.seconds += 1
    kept = [(state / "notes" / "MEMORY.md").read_text() for state in (env.home / "memory" / "past").iterdir()]
    assert sorted("number 1" in text for text in kept) == [True, True]


def test_an_answer_of_the_past_names_what_it_leaves_out_and_reads_all_else(env: MemoryEnv) -> None:
    (env.home / "elsewhere.md").write_text("- The ferry is red.\n")
    env.write("docs/ferry.md", "- The ferry is blue.\n")
    for extra in (["docs"], ["docs", str(env.home / "elsewhere.md")]):
        settings = {"provider": "fake", "extraPaths": extra}
        (env.home / "memoriter.json5").write_text(json.dumps({"agents": {"defaults": {"memorySearch": settings}}}))
        memory = env.open()
        memory.sync()
        env.seconds += 86_400
        result = memory.search(QUESTION, as_of="yesterday")

        assert [hit.path for hit in result.hits if "ferry" in hit.text] == ["docs/ferry.md"]
        assert ("past_partial" in {reason.code for reason in result.health.reasons}) is (len(extra) == 2)
    assert not list(env.home.rglob("elsewhere.md"))[1:]


def test_what_an_editor_saved_just_now_was_not_there_yesterday(env: MemoryEnv) -> None:
    memory = env.open()
    memory.remember("The ferry is blue.", to="long-term")
    env.seconds += 86_400
    env.write("MEMORY.md", memory.read("MEMORY.md").text.replace("blue", "green"))

    assert "blue" in memory.search(QUESTION, as_of="yesterday").hits[0].snippet
    (difference,) = memory.diff("12h")
    assert difference.lines[-2:] == ["-- The ferry is blue.", "+- The ferry is green."]


def test_a_day_that_is_not_over_is_answered_as_now(env: MemoryEnv) -> None:
    memory = env.open()
    memory.sync()
    env.write("MEMORY.md", "- The ferry is red.\n")

    assert memory.search(QUESTION, as_of=day_of(env)).hits[0].text == "- The ferry is red."


def test_no_vector_is_computed_again_for_the_past(env: MemoryEnv) -> None:
    memory = env.open()
    memory.sync()
    env.seconds += 86_400
    memory.remember("The ferry is blue.", to="long-term")
    memory.sync()
    result = memory.search("PostgreSQL ledger", as_of="yesterday")

    assert result.health.pending == 0
    assert result.hits[0].path == "MEMORY.md"


def test_notes_that_the_journal_did_not_know_then_are_named(env: MemoryEnv) -> None:
    memory = env.open()
    memory.sync()
    result = memory.search("PostgreSQL ledger", as_of="2020-01-01")

    assert [reason.code for reason in result.health.reasons if reason.code == "past_unknown"] == ["past_unknown"]
    assert result.hits


@pytest.mark.skipif(shutil.which("git") is None, reason="needs Git")
def test_commits_know_what_was_before_the_journal(env: MemoryEnv) -> None:
    def git(*words: str) -> None:
        names = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        dates = {"GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z"}
        subprocess.run(["git", "-C", env.notes, *names, *words], check=True, env={**os.environ, **dates})

    env.write("MEMORY.md", "- The ferry is yellow.\n")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    env.write("MEMORY.md", "- The ferry is blue.\n")
    memory = env.open()
    memory.sync()

    assert "yellow" in memory.search(QUESTION, as_of="2021-01-01").hits[0].snippet
    assert "blue" in memory.search(QUESTION).hits[0].snippet


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="needs Git")
def test_fifty_dated_questions_about_a_year_have_the_answers_of_their_days(tmp_path: Path) -> None:
    env = MemoryEnv.at(tmp_path, {})
    (env.home / "memoriter.json5").write_text('{agents: {defaults: {memorySearch: {provider: "fake"}}}}')
    year = Year(env)
    year.make()
    assert year.done == set(WAYS)
    assert year.memory is not None
    for question, line, day in year.questions(50):
        result = year.memory.search(question, as_of=day.date)
        assert f"- {line}" in result.hits[0].text.split("\n"), f"{question} {day.date}"
        assert "past_unknown" not in {reason.code for reason in result.health.reasons}
        for hit in result.hits:
            lines = day.notes[hit.path].split("\n")
            assert hit.text.split("\n") == lines[hit.start_line - 1 : hit.end_line], f"{hit.citation} {day.date}"
    env.close()


@pytest.mark.skipif(shutil.which("git") is None, reason="needs Git")
def test_what_was_written_after_a_time_is_not_shown_even_if_the_journal_is_younger(env: MemoryEnv) -> None:
    def git(*words: str, at: str) -> None:
        names = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        dates = {"GIT_AUTHOR_DATE": f"{at}T00:00:00Z", "GIT_COMMITTER_DATE": f"{at}T00:00:00Z"}
        subprocess.run(["git", "-C", env.notes, *names, *words], check=True, env={**os.environ, **dates})

    git("init", "-q", at="2026-01-01")
    git("add", "MEMORY.md", at="2026-01-01")
    git("commit", "-qm", "first", at="2026-01-01")
    env.write("memory/ferry.md", "The ferry is blue.\n")
    git("add", "memory/ferry.md", at="2026-02-01")
    git("commit", "-qm", "second", at="2026-02-01")
    env.write("memory/2026-03-09.md", "The ferry is green.\n")  # never committed
    for name in ("memory/ferry.md", "memory/2026-03-09.md"):
        os.utime(env.notes / name, (0, 0))
    memory = env.open()
    memory.sync()

    assert not any("ferry" in hit.text for hit in memory.search(QUESTION, as_of="2026-01-15").hits)
    assert {hit.path for hit in memory.search(QUESTION, as_of="2026-02-15").hits if "ferry" in hit.text} == {
        "memory/ferry.md"
    }


def test_a_line_that_was_forgotten_leaves_the_others_of_that_time(env: MemoryEnv) -> None:
    memory = env.open()
    memory.sync()
    memory.remember("The door code is 471199.", to="long-term")
    memory.remember("The ferry is blue.", to="long-term")
    before = memory.read("MEMORY.md")
    env.seconds += 86_400
    memory.replace("MEMORY.md", before.text.replace("blue", "green"), expected=before.hash)
    memory.forget(memory.plan_forget(match="door code"))

    hit = memory.search(QUESTION, as_of="yesterday").hits[0]
    assert ("The ferry is blue." in hit.text, "471199" in hit.text) == (True, False)
