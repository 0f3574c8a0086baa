"""Operators in a question: what is understood restricts the search, everything else is plain text."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from memoriter import Memory
from memoriter.search import understand
from memoriter.tools import search_tool
from memoriter.types import Filters, Query

if TYPE_CHECKING:
    from conftest import Program

TODAY = date(2026, 2, 10)
NOTES = {
    "boats.md": "---\ntags: [sea/boats]\ndate: 2026-02-01\n---\nThe **old** ferry leaves the harbour at ten.\n",
    "trains.md": "---\ntags: [land]\ndate: 2025-06-01\n---\nThe ferry train leaves the harbour at noon.\n",
    "work/plan.md": "The ferry contract for the Osaka harbour. 오사카에서 출발한다.\n",
}


@pytest.fixture
def harbour(program: Program) -> Program:
    for name, text in NOTES.items():
        file = program.workspace / "memory" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return program


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("ferry harbour", {"boats.md", "trains.md", "work/plan.md"}),
        ('harbour "old ferry"', {"boats.md"}),
        ('harbour "OLD ferry"', {"boats.md"}),
        ('harbour "ferr"', set()),
        ('harbour -"old ferry"', {"trains.md", "work/plan.md"}),
        ("ferry harbour -contract", {"boats.md", "trains.md"}),
        ("ferry harbour -train -contract", {"boats.md"}),
        ("ferry harbour -osaka", {"boats.md", "trains.md"}),
        ("ferry harbour -오사카", {"boats.md", "trains.md"}),
        ("ferry harbour -boats", {"trains.md", "work/plan.md"}),
        ("ferry tag:sea", {"boats.md"}),
        ("ferry tag:#sea/boats", {"boats.md"}),
        ("ferry path:memory/work", {"work/plan.md"}),
        ('ferry path:"memory/work"', {"work/plan.md"}),
        ("ferry since:2026-01-01 until:2026-02-02", {"boats.md"}),
        ("ferry until:2025-12-31", {"trains.md"}),
        ("tag:land", {"trains.md"}),
        ('"ferry train"', {"trains.md"}),
    ],
)
def test_an_operator_restricts_the_search_in_the_command_and_in_the_tool(
    harbour: Program, question: str, found: set[str]
) -> None:
    expected = {f"memory/{name}" for name in found}
    done = harbour("search", "--path", "memory/[btw]*", "--json", "--min-score", "0", "--", question)
    if "path:" in question:
        done = harbour("search", "--json", "--min-score", "0", "--", question)
    assert {hit["path"] for hit in done.json["results"]} & {f"memory/{name}" for name in NOTES} == expected
    assert ("understood" in done.json) == (question != "ferry harbour")
    with Memory.open(harbour.workspace, home=harbour.home) as memory:
        answer = search_tool(memory, {"query": question, "minScore": 0})
    assert {hit["path"] for hit in answer["results"]} & {f"memory/{name}" for name in NOTES} == expected


@pytest.mark.parametrize(
    "question",
    [
        "what does --verbose do",
        "tar -x and git commit -am",
        "it was -5 degrees",
        "a well-known ferry - or not",
        'a 5" pipe',
        'an open "quote',
        '"..." and ""',
        "tag: ferry",
        "tag:123 tag:a,b",
        "since:soon until:2026-02-31",
        "http://since:2026-01-01",
        "Tag:sea PATH:x author:me",
        "-contract",
    ],
)
def test_what_is_not_understood_is_plain_text(question: str) -> None:
    query = Query(question)
    assert understand(query, TODAY) == query
    assert understand(query, TODAY).understood is None


def test_what_was_understood_is_shown() -> None:
    query = understand(Query('why "the old one" -train tag:sea path:memory since:7d until:today x'), TODAY)
    assert query.text == "why the old one x"
    assert query.filters == Filters(
        since=date(2026, 2, 3),
        until=TODAY,
        path="memory",
        tags=frozenset({"sea"}),
        phrases=("the old one",),
        without=("train",),
    )
    assert query.understood == {
        "text": "why the old one x",
        "phrases": ["the old one"],
        "without": ["train"],
        "tags": ["sea"],
        "path": "memory",
        "since": "2026-02-03",
        "until": "2026-02-10",
    }


def test_an_option_wins_over_an_operator_and_tags_add_up() -> None:
    filters = Filters(since=TODAY, path="memory", tags=frozenset({"land"}))
    query = understand(Query("ferry since:2025-01-01 path:work tag:sea", filters=filters), TODAY)
    assert query.text == "ferry since:2025-01-01 path:work"
    assert query.filters == Filters(since=TODAY, path="memory", tags=frozenset({"land", "sea"}))


def test_explain_says_what_was_understood(harbour: Program) -> None:
    done = harbour("search", "--explain", "--", 'ferry "old ferry" -train')
    assert "understood: text 'ferry old ferry'; phrases ['old ferry']; without ['train']" in done.out
    assert "understood" not in harbour("search", "--", 'ferry "old ferry" -train').out


def test_an_empty_answer_names_the_operator_that_leaves_nothing(harbour: Program) -> None:
    done = harbour("search", "--", 'ferry "no such words"')
    assert "the phrase 'no such words' alone leaves 0" in done.out
    assert 'Leave out the quotes of "no such words".' in done.out


def test_python_and_classic_scoring_read_the_question_as_it_is(harbour: Program) -> None:
    with Memory.open(harbour.workspace, home=harbour.home) as memory:
        plain = memory.search("ferry harbour -contract", min_score=0)
        assert any(hit.path == "memory/work/plan.md" for hit in plain.hits)
        assert plain.understood is None
        found = memory.search("ferry harbour -contract", min_score=0, operators=True)
        assert all(hit.path != "memory/work/plan.md" for hit in found.hits)
    settings: dict[str, Any] = {"provider": "none", "query": {"scoring": "classic"}}
    text = f"{{agents: {{defaults: {{memorySearch: {settings}}}}}}}"
    (harbour.home / "memoriter.json5").write_text(text, encoding="utf-8")
    assert "understood" not in harbour("search", "--json", "--", "ferry -contract").json
