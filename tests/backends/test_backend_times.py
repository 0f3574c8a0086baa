"""A question that names a time is answered from that time first, and everything of a time is listed newest first."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.errors import InvalidQuery, UsageError
from memory_env import MemoryEnv, paths

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoriter import Memory
    from memoriter.types import SearchResult

DAYS = ("2026-02-25", "2026-02-27", "2026-03-02", "2026-03-03", "2026-03-05", "2026-03-09", "2026-03-10")
"""The clock says Tuesday, 10 March 2026. Last week is 2 to 8 March."""
NOTES = {
    **{
        f"memory/{day}.md": f"# Log\n\nKim and I spoke of tea number {day[-2:]}.\n\n## Later\n\nCoffee on {day}.\n"
        for day in DAYS
    },
    "MEMORY.md": "# Money\n\nThe budget of the garden is 300 euros.\n",
}
LAST_WEEK = ["memory/2026-03-05.md", "memory/2026-03-03.md", "memory/2026-03-02.md"]


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MemoryEnv]:
    env = MemoryEnv.at(tmp_path, NOTES)
    env.configure(provider="none")
    yield env
    env.close()


@pytest.fixture
def memory(env: MemoryEnv) -> Memory:
    return env.open()


def asked(memory: Memory, question: str, **limits: Any) -> SearchResult:
    return memory.search(question, operators=True, **limits)


def test_passages_of_the_named_time_come_first_and_others_are_marked_and_keep_a_third(memory: Memory) -> None:
    found = asked(memory, "what did Kim say about tea last week", max_results=6)
    assert [hit.outside_time for hit in found.hits] == [False] * 3 + [True] * 3
    assert [hit.path in LAST_WEEK for hit in found.hits] == [True] * 3 + [False] * 3
    few = asked(memory, "what did Kim say about tea last week", max_results=3)
    assert [hit.outside_time for hit in few.hits] == [False, False, True]
    assert (found.understood or {})["time"] == {"words": "last week", "since": "2026-03-02", "until": "2026-03-08"}


def test_what_is_dated_otherwise_is_still_found_and_what_is_of_the_time_needs_no_score(memory: Memory) -> None:
    found = asked(memory, "the garden budget in euros last week")
    assert found.hits[0].path == "MEMORY.md", "what is dated otherwise and answers is before what does not"
    assert [hit.outside_time for hit in found.hits] == [True, *[False] * (len(found.hits) - 1)]


@pytest.mark.parametrize(
    "question", ["Kim and tea in October 2024", "Kim und Tee im Oktober 2024", "Kim 차 2024년 10월"]
)
def test_where_nothing_is_of_the_time_the_answer_says_so_and_has_the_rest(memory: Memory, question: str) -> None:
    found = asked(memory, question)
    assert found.hits
    assert all(hit.outside_time for hit in found.hits)
    (reason,) = found.reasons
    assert reason.code == "filtered_out"
    assert "2024-10-01 … 2024-10-31" in reason.message
    plain = asked(memory, question, since="any")
    assert [hit.citation for hit in plain.hits] == [hit.citation for hit in found.hits]
    assert (plain.understood, plain.reasons) == (None, ())


@pytest.mark.parametrize(
    "question",
    [
        "last week",
        "what did I do last week?",
        "was habe ich letzte Woche gemacht?",
        "지난주에 뭐 했지?",
        "上周我做了什么",
    ],
)
def test_a_question_for_a_time_alone_lists_its_notes_newest_first(memory: Memory, question: str) -> None:
    found = asked(memory, question, max_results=3)
    assert paths(found) == LAST_WEEK
    assert found.newest
    assert found.outcome == "match"
    assert {hit.score for hit in found.hits} == {1.0}
    assert {hit.start_line for hit in found.hits} == {1}, "each note comes in with its beginning first"
    every = asked(memory, question, max_results=100)
    assert [(hit.path, hit.start_line) for hit in every.hits] == [(path, line) for path in LAST_WEEK for line in (1, 5)]


def test_days_without_a_question_list_what_is_newest_and_a_blank_question_alone_is_refused(memory: Memory) -> None:
    assert paths(memory.search("", since="yesterday", max_results=2)) == [
        "memory/2026-03-10.md",
        "memory/2026-03-09.md",
    ]
    assert paths(asked(memory, "since:yesterday", max_results=2)) == ["memory/2026-03-10.md", "memory/2026-03-09.md"]
    assert paths(asked(memory, "what did I note", on="2026-02-25")) == ["memory/2026-02-25.md"] * 2
    with pytest.raises(InvalidQuery):
        memory.search("", since="any")


def test_nothing_of_a_time_is_said_in_one_reason(memory: Memory) -> None:
    by_words = asked(memory, "what happened in October 2024")
    by_option = memory.search("", on="2024-10-03")
    for found in (by_words, by_option):
        assert (found.hits, found.outcome, [reason.code for reason in found.reasons]) == ((), "none", ["filtered_out"])
    assert "in October 2024 = 2024-10-01 … 2024-10-31" in by_words.reasons[0].message


def test_with_days_no_passage_is_left_out_for_its_score(memory: Memory) -> None:
    question = (
        "Kim, ornithology, zeppelin, harpsichord, umbrella, glacier, pendulum, anvil, lighthouse, quarry and ferry"
    )
    assert memory.search(question).hits == ()
    assert memory.search(question, since="2026-03-01").hits
    assert memory.search(question, since="2026-03-01", min_score=0.35).hits == ()


@pytest.mark.parametrize(
    "question", ['Kim "last week"', "Kim last week since:any", "Kim last week since:2026-02-27", "tea -yesterday"]
)
def test_a_time_in_quotes_or_beside_days_of_the_caller_is_not_read(memory: Memory, question: str) -> None:
    assert "time" not in (asked(memory, question).understood or {})


def test_a_time_is_read_with_operators_and_without_but_not_in_typed_lines(memory: Memory) -> None:
    assert memory.search("Kim last week") == asked(memory, "Kim last week")
    assert (memory.search("Kim last week").understood or {})["time"]["words"] == "last week"
    typed = asked(memory, "lex: Kim last week")
    assert "time" not in (typed.understood or {})
    assert not any(hit.outside_time for hit in typed.hits)


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        ({"since": "last week"}, {"2026-03-02", "2026-03-03", "2026-03-05", "2026-03-09", "2026-03-10"}),
        ({"until": "letzte Woche"}, {"2026-02-25", "2026-02-27", "2026-03-02", "2026-03-03", "2026-03-05"}),
        ({"on": "지난주"}, {"2026-03-02", "2026-03-03", "2026-03-05"}),
        ({"on": "25.2.2026"}, {"2026-02-25"}),
        ({"since": "February 2026", "until": "上个月"}, {"2026-02-25", "2026-02-27"}),
    ],
)
def test_words_are_days_wherever_a_day_is_given(memory: Memory, days: dict[str, str], expected: set[str]) -> None:
    assert {f"{hit.date}" for hit in memory.search("Kim tea", max_results=50, **days).hits} == expected  # type: ignore[arg-type]


def test_days_that_exclude_each_other_are_refused_in_words_too(memory: Memory) -> None:
    with pytest.raises(UsageError, match="2026-03-09, is later than that of until, 2026-03-08"):
        memory.search("tea", since="yesterday", until="last week")


def test_the_time_of_a_file_is_no_day_unless_it_is_asked_for(env: MemoryEnv, memory: Memory) -> None:
    changed = date.fromtimestamp((env.notes / "MEMORY.md").stat().st_mtime)  # noqa: DTZ012 - within a day is enough
    (hit,) = [hit for hit in memory.search("budget of the garden").hits if hit.path == "MEMORY.md"]
    assert hit.date is None
    assert hit.changed is not None
    assert abs((hit.changed - changed).days) <= 1
    for days in ({"since": "2026-01-01"}, {"until": "2090-01-01"}, {"since": "2000-01-01", "until": "2090-01-01"}):
        assert "MEMORY.md" not in paths(memory.search("budget of the garden", **days))  # type: ignore[arg-type]
        assert "MEMORY.md" in paths(memory.search("budget of the garden", changed=True, **days))  # type: ignore[arg-type]
    assert "MEMORY.md" in paths(memory.search("", since="2026-03-01", changed=True, max_results=50))
    alone = memory.search("budget", on=hit.changed)
    assert alone.hits == ()
    assert "Or add --changed: 1 chunk without a day changed then." in alone.reasons[0].remedy


def test_a_time_in_the_question_excludes_nothing_from_an_explanation(memory: Memory) -> None:
    report = memory.why_not("the garden budget last week", "MEMORY.md#L3", operators=True)
    assert report.found
