"""The tools on real notes, above all `memory_append`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoriter.tools import APPEND, GET, SEARCH, TOOLS
from memory_env import MemoryEnv

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoriter import Memory


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="fake")
    yield env
    env.close()


@pytest.fixture
def memory(env: MemoryEnv) -> Memory:
    return env.open()


TODAY = "memory/2026-03-10.md"
"""The day at noon, when the clock of the environment begins."""


def test_an_entry_goes_to_the_log_of_the_day_and_the_next_search_finds_it(env: MemoryEnv, memory: Memory) -> None:
    SEARCH.run(memory, {"query": "heating"})
    answer = APPEND.run(memory, {"text": "The heating engineer is called Ümit."})
    assert answer == {
        "written": True,
        "path": TODAY,
        "startLine": 3,
        "endLine": 3,
        "citation": f"{TODAY}#L3",
        "findable": True,
        "health": {"ok": True, "reasons": []},
    }
    entry = "- 12:00 The heating engineer is called Ümit. <!-- from: agent, 2026-03-10 -->\n"
    assert (env.notes / TODAY).read_text(encoding="utf-8") == f"# 2026-03-10\n\n{entry}"
    assert SEARCH.run(memory, {"query": "heating engineer"})["results"][0]["path"] == TODAY


def test_what_stays_true_goes_to_the_long_term_memory_below_what_is_there(env: MemoryEnv, memory: Memory) -> None:
    before = (env.notes / "MEMORY.md").read_text(encoding="utf-8")
    answer = APPEND.run(memory, {"text": "Prefers tea.\n\nNever coffee.", "to": "long-term"})
    assert (answer["path"], answer["startLine"], answer["endLine"]) == ("MEMORY.md", 4, 8)
    begins = "<!-- from: agent, 2026-03-10 -->"
    ends = "<!-- end: agent -->"
    written = f"{begins}\nPrefers tea.\n\nNever coffee.\n{ends}"
    assert (env.notes / "MEMORY.md").read_text(encoding="utf-8") == f"{before}{written}\n"
    assert GET.run(memory, {"path": "MEMORY.md", "from": 4, "lines": 5})["text"].strip() == written


@pytest.mark.parametrize(("to", "line"), [("daily", 3), ("long-term", 4)])
def test_a_duplicate_is_told_and_not_written_again(env: MemoryEnv, memory: Memory, to: str, line: int) -> None:
    first = APPEND.run(memory, {"text": "The heating engineer is Ümit.", "to": to})
    before = {file: file.read_bytes() for file in env.notes.rglob("*.md")}
    env.wait(3_600)
    second = APPEND.run(memory, {"text": " The heating\n engineer  is U\u0308mit.", "to": to})
    assert second == {**first, "written": False, "existing": True}
    assert second["startLine"] == line
    assert {file: file.read_bytes() for file in env.notes.rglob("*.md")} == before


def test_what_the_owner_confirms_is_not_left_to_the_entry_of_an_agent(env: MemoryEnv, memory: Memory) -> None:
    APPEND.run(memory, {"text": "The heating engineer is Ümit."})
    assert not memory.remember("The heating engineer is Ümit.").existing
    assert memory.remember("The heating engineer is Ümit.").start_line == 4


def test_a_note_that_no_search_will_find_says_so(env: MemoryEnv) -> None:
    env.write(".memoryignore", "memory/2026-*\n")
    answer = APPEND.run(env.open(), {"text": "Hidden."})
    assert (answer["written"], answer["findable"]) == (True, False)
    assert ".memoryignore" in answer["reason"] or "ignore" in answer["reason"]
    (env.notes / ".memoryignore").unlink()


def test_where_searches_do_not_look_for_new_notes_it_is_indexed_at_once(env: MemoryEnv) -> None:
    env.configure(provider="fake", sync={"onSearch": False})
    memory = env.open()
    memory.sync()
    answer = APPEND.run(memory, {"text": "The heating engineer is called Ümit."})
    assert answer["findable"]
    assert SEARCH.run(env.open(), {"query": "heating engineer"})["results"][0]["path"] == TODAY


@pytest.mark.parametrize(
    ("params", "error"),
    [
        ({}, "The parameter text is required."),
        ({"text": " \n "}, "The parameter text is required."),
        ({"text": ["a"]}, "The parameter text must be text."),
        ({"text": "a", "to": "diary"}, "The parameter to is not valid: input should be 'daily' or 'long-term'."),
        ({"text": "a", "path": "MEMORY.md"}, "There is no parameter 'path'."),
        ({"text": "a" * 1_000_001}, "The text has 1000001 characters, which is too long to remember."),
        (["a"], "The parameters must be an object."),
    ],
)
def test_a_wrong_parameter_is_named_and_nothing_is_written(
    env: MemoryEnv, memory: Memory, params: Any, error: str
) -> None:
    answer = APPEND.run(memory, params)
    assert (answer["written"], answer["error"]) == (False, error)
    assert answer["action"]
    assert not (env.notes / TODAY).exists()


def test_a_folder_in_the_place_of_the_note_is_an_answer_and_not_a_failure(env: MemoryEnv, memory: Memory) -> None:
    (env.notes / TODAY).mkdir(parents=True)
    answer = APPEND.run(memory, {"text": "Lost?"})
    assert answer["written"] is False
    assert answer["error"]
    assert answer["action"]


def test_every_answer_has_the_form_that_the_tool_promises(memory: Memory) -> None:
    calls = {
        "memory_search": [{"query": "ledger"}, {"query": ""}, {"query": "x", "maxResults": 0}],
        "memory_get": [{"path": "MEMORY.md"}, {"path": "../secret"}, {}],
        "memory_append": [{"text": "One."}, {}],
    }
    for tool in TOOLS:
        assert tool.output_schema is not None
        for params in calls[tool.name]:
            jsonschema.validate(tool.run(memory, params), dict(tool.output_schema))


def test_a_note_may_be_named_by_its_citation_its_name_or_the_end_of_its_path(env: MemoryEnv, memory: Memory) -> None:
    style = "Commits are written in the imperative mood."
    for path in (
        "memory/work/style.md#L3-L3",
        "memory/work/style.md:3",
        "style.md:3-3",
        "work/style.md#L3",
    ):
        answer = GET.run(memory, {"path": path, "from": None, "lines": ""})
        assert (answer["path"], answer["text"].strip()) == ("memory/work/style.md", style), path
    env.write("memory/home/style.md", "Other.\n")
    assert GET.run(memory, {"path": "style.md"})["error"] == (
        "Several notes are called 'style.md': memory/home/style.md, memory/work/style.md. "
        "Call again with one of these paths."
    )
    missing = GET.run(memory, {"path": "memory/none.md"})
    assert (missing["text"], missing["reasons"][0]["remedy"]) == ("", "Find it with memory_search.")
    assert "refused" in GET.run(memory, {"path": "../style.md"})["error"]


NOTHING = st.sampled_from([None, "", " "])
OPTIONAL = {
    "maxResults": st.one_of(NOTHING, st.sampled_from([3, 3.0, "3", "3.0"])),
    "minScore": st.one_of(NOTHING, st.sampled_from([0, "0", 0.0, "0.0"])),
    "source": st.one_of(NOTHING, st.sampled_from(["all", "both", "memory", ["memory", "sessions"], ["memory"]])),
    "since": st.one_of(NOTHING, st.just("2020-01-01")),
    "until": st.one_of(NOTHING, st.just("2030-01-01")),
    "path": st.one_of(NOTHING, st.sampled_from(["MEMORY.md", "*.md"])),
    "tag": NOTHING,
}


@given(
    st.fixed_dictionaries(
        {"query": st.just("which database for the ledger"), "changed": st.sampled_from([True, "true", "True "])},
        optional=OPTIONAL,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@pytest.mark.slow
def test_arguments_that_mean_the_same_give_the_same_answer(memory: Memory, params: dict[str, Any]) -> None:
    answer = SEARCH.run(memory, params)
    assert "error" not in answer, params
    assert answer["results"][0]["path"] == "MEMORY.md", params
