"""A search of the past answers as it would have answered then."""

from __future__ import annotations

import os
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

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
    assert list((env.home / "memory" / "past").iterdir()) == []


def test_what_an_editor_saved_just_now_was_not_there_yesterday(env: MemoryEnv) -> None:
    memory = env.open()
    memory.remember("The ferry is blue.", to="long-term")
    env.seconds += 86_400
    env.write("MEMORY.md", memory.read("MEMORY.md").text.replace("blue", "green"))

    assert "blue" in memory.search(QUESTION, as_of="yesterday").hits[0].snippet
    (difference,) = memory.diff("12h")
    assert difference.lines[-2:] == ["-- The ferry is blue.", "+- The ferry is green."]


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
def test_fifty_dated_questions_about_a_year_have_the_answers_of_their_days(env: MemoryEnv) -> None:
    memory = env.open()
    memory.sync()
    env.seconds += 1
    held = dict[str, str]()
    questions = list[tuple[str, str, str]]()
    cities = ("Lisbon", "Oslo", "Kyoto", "Quito", "Tallinn")
    for number in range(50):
        topic = f"topic{number % 10}"
        city = cities[(number * 3 + number // 10) % 5]
        before = memory.read("MEMORY.md")
        line = f"- The office for {topic} is in {city}."
        if topic in held:
            memory.replace("MEMORY.md", before.text.replace(held[topic], line), expected=before.hash)
        else:
            memory.remember(line, to="long-term")
        held[topic] = line
        questions.append((topic, city, day_of(env)))
        env.seconds += timedelta(days=7).total_seconds()

    for topic, city, day in questions:
        hit = memory.search(f"where is the office for {topic}", as_of=day).hits[0]
        (found,) = [row for row in hit.text.splitlines() if f"{topic} " in row]
        assert city in found
