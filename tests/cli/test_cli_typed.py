"""Typed queries: `lex:`, `vec:`, `hyde:` and `intent:` lines, in the command, in Python and in the tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoriter import Memory
from memoriter.tools import search_tool

if TYPE_CHECKING:
    from conftest import Program

NOTES = {
    "pool.md": "# Pool\n\nThe connection pool times out under load. Redis is not involved.\n",
    "redis.md": "# Cache\n\nRedis drops its connection after a timeout.\n",
    "boats.md": "---\ntags: [sea]\n---\nThe ferry leaves the harbour at ten.\n",
    "rota.md": "# Rota\n\nThe heron keeper counts nests.\n\n## Pay\n\nThe heron keeper is paid in silver coins.\n",
}
TYPED = "lex: connection timeout\nvec: the ferry leaves the harbour\nintent: an incident"


@pytest.fixture
def notes(program: Program) -> Program:
    for name, text in NOTES.items():
        (program.workspace / "memory" / name).write_text(text, encoding="utf-8")
    return program


def paths(answer: dict) -> list[str]:
    return [hit["path"].removeprefix("memory/") for hit in answer["results"]]


def test_each_line_finds_passages_by_its_own_retriever(notes: Program) -> None:
    words = notes("search", "--json", "lex: connection timeout").json
    assert (words["mode"], words["results"][0]["path"]) == ("keyword", "memory/redis.md")
    assert words["health"]["legs"] == {"keyword": True, "vector": True}
    meaning = notes("search", "--json", "--min-score", "0", "vec: ferry harbour").json
    assert meaning["mode"] == "vector"
    both = notes("search", "--json", "--explain", TYPED).json
    assert (both["mode"], set(paths(both)) >= {"redis.md", "pool.md", "boats.md"}) == ("hybrid", True)
    first = both["results"][0]
    assert first["path"] == "memory/redis.md"
    assert first["explain"]["lines"][0] | {"score": 1} == {
        "line": 1,
        "kind": "lex",
        "score": 1,
        "place": 1,
        "share": pytest.approx(2 / 61),
    }
    assert both["understood"] == {
        "text": "connection timeout the ferry leaves the harbour",
        "lines": [
            {"type": "lex", "text": "connection timeout"},
            {"type": "vec", "text": "the ferry leaves the harbour"},
        ],
        "intent": "an incident",
    }


def test_the_command_python_and_the_tool_give_the_same_hits(notes: Program) -> None:
    expected = paths(notes("search", "--json", TYPED).json)
    assert paths(notes("search", "--json", "-", typed=TYPED).json) == expected
    assert paths(notes("search", "--json", "--query", TYPED).json) == expected
    with Memory.open(notes.workspace, home=notes.home) as memory:
        found = memory.search(TYPED, operators=True)
        assert [hit.path.removeprefix("memory/") for hit in found.hits] == expected
        assert paths(search_tool(memory, {"query": TYPED})) == expected
        assert memory.search(TYPED).understood is None


def test_options_restrict_all_lines_and_operators_their_own(notes: Program) -> None:
    assert set(paths(notes("search", "--json", "--tag", "sea", "--min-score", "0", TYPED).json)) == {"boats.md"}
    without = notes("search", "--json", "--min-score", "0", "--path", "memory/[rb]*", "lex: connection -redis").json
    assert "redis.md" not in paths(without)
    mixed = "lex: connection -redis\nlex: Redis drops tag:sea\nlex: redis cache"
    assert paths(notes("search", "--json", mixed).json)[0] == "redis.md"
    empty = notes("search", "--json", 'lex: "no such words"').json
    assert empty["reasons"][0]["code"] == "filtered_out"


def test_explain_shows_what_each_line_adds(notes: Program) -> None:
    out = notes("search", "--explain", TYPED).out
    assert "line 1 (lex): place 1, score " in out
    assert ", adds 0.0328" in out
    assert "understood: line 2: type 'vec'; text 'the ferry leaves the harbour'" in out
    assert "understood: intent 'an incident'" in out


def test_the_intent_chooses_among_the_passages_of_a_note(notes: Program) -> None:
    def lines_of(*typed: str) -> list[str]:
        results = notes("search", "--json", "--path", "memory/rota.md", "\n".join(typed)).json["results"]
        return [hit["text"] for hit in results]

    plain, steered = (lines_of("lex: heron keeper", *intent) for intent in ([], ["intent: paid in silver coins, pay"]))
    assert sorted(plain) == sorted(steered)
    assert "silver" in steered[0]


def test_a_mistake_is_an_error_and_not_a_search(notes: Program) -> None:
    text = "lex: a\nkey: b"
    done = notes("search", text)
    assert (done.exit_code, done.out) == (2, "")
    assert done.err.startswith("Error: Line 2 of the query has the unknown type 'key'.")
    with Memory.open(notes.workspace, home=notes.home) as memory:
        answer = search_tool(memory, {"query": text})
        assert (answer["results"], answer["code"]) == ([], "query")
        assert answer["action"]


def test_why_not_follows_one_question(notes: Program) -> None:
    done = notes("why-not", "lex: ferry", "memory/boats.md")
    assert done.exit_code == 2
    assert "Ask with the text of one line, without its type." in done.err


def test_without_vectors_the_lines_that_need_them_are_named(notes: Program) -> None:
    (notes.home / "memoriter.json5").write_text(
        '{agents: {defaults: {memorySearch: {provider: "none"}}}}', encoding="utf-8"
    )
    both = notes("search", "--json", "hyde: The ferry leaves.\nlex: redis timeout").json
    assert (both["mode"], paths(both)[0]) == ("keyword", "redis.md")
    assert "lines_unsearched" in [reason["code"] for reason in both["health"]["reasons"]]
    alone = notes("search", "--json", "vec: ferry harbour").json
    assert (alone["results"], alone["reasons"][0]["code"]) == ([], "no_words")


def test_a_name_that_no_passage_has_makes_nothing_a_match(notes: Program) -> None:
    assert notes("search", "--json", "lex: redis connection timeout").json["outcome"] == "match"
    named = notes("search", "--json", "lex: redis connection timeout\nvec: what is KLP-2267").json
    assert (named["outcome"], bool(named["results"])) == ("weak", True)
