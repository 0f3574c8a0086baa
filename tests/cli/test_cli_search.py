"""`memoriter search` from outside."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Program


class Score:
    """Equals any score."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and 0 <= other <= 1

    __hash__ = None  # type: ignore[assignment] - only compared


def test_the_first_search_builds_the_index_and_says_so(program: Program) -> None:
    first = program("search", "which", "database", "did", "we", "choose")
    second = program("search", "which database did we choose")
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert first.err == "Indexing 3 new or changed files first.\n"
    assert second.err == ""
    assert first.out == second.out
    assert first.out.startswith("1. MEMORY.md#L")
    assert "   - We chose PostgreSQL for the ledger because of ACID.\n" in first.out


@pytest.mark.slow
def test_each_search_finds_what_another_program_wrote_before_it(program: Program) -> None:
    for number in range(20):
        name = f"kettle{number}" if number % 2 else "kettle"
        text = f"# Kettle\n\nThe kettle of kitchen {number:03} is a Brum{number:03}.\n"
        (program.workspace / "memory" / f"{name}.md").write_text(text, encoding="utf-8")
        assert f"is a Brum{number:03}" in program("search", f"Brum{number:03}").out


def test_json_is_what_the_tool_answers_with_the_whole_passages(program: Program) -> None:
    program("index")
    answer = program("search", "Omada ER605 router", "-n", "1", "--json")
    assert answer.exit_code == 0
    assert answer.json == {
        "results": [
            {
                "path": "memory/2026-02-10.md",
                "startLine": 1,
                "endLine": 3,
                "score": Score(),
                "snippet": "# 2026-02-10\n\n- Router: Omada ER605, VLAN 10 for IoT devices.\n\n"
                "Source: memory/2026-02-10.md#L1-L3",
                "source": "memory",
                "citation": "memory/2026-02-10.md#L1-L3",
                "heading": ["2026-02-10"],
                "date": "2026-02-10",
                "text": "# 2026-02-10\n\n- Router: Omada ER605, VLAN 10 for IoT devices.",
            }
        ],
        "outcome": "match",
        "provider": "fake",
        "model": "hashed-words-256",
        "mode": "hybrid",
        "citations": "on",
        "health": {
            "ok": True,
            "legs": {"keyword": True, "vector": True},
            "pending": 0,
            "generation": answer.json["health"]["generation"],
            "reasons": [],
        },
    }


def test_an_answer_that_is_not_there_is_no_failure_and_says_what_to_try(program: Program) -> None:
    answer = program("search", "zzyzx qwfpg", "--since", "2026-02-01", "--min-score", "0.9")
    assert answer.exit_code == 0
    assert answer.out == (
        "Nothing in your notes answers this.\n"
        "1 chunk could answer; the best scores 0.277, and the lowest score that counts is 0.9. Ask with other words,"
        " a name or a date. With --min-score 0.27 (minScore) you see what is nearest.\n"
    )


def test_explain_shows_how_a_hit_came_by_its_score(program: Program) -> None:
    output = program("search", "PostgreSQL", "--explain", "-n", "1").out
    assert "   meaning " in output
    assert "terms: postgresql" in output
    answer = program("search", "PostgreSQL", "--explain", "-n", "1", "--json").json
    assert list(answer["results"][0]["explain"]) == [
        *("legs", "terms", "cosine", "vector", "keyword", "coverage", "saturation", "neighbours"),
        *("raw", "calibrated", "decay"),
    ]


@pytest.mark.parametrize(
    ("options", "paths"),
    [
        (["--on", "2026-02-10"], ["memory/2026-02-10.md"]),
        (["--since", "2026-02-11"], []),
        (["--until", "2026-02-10"], ["memory/2026-02-10.md"]),
        (["--path", "memory/travel.md"], []),
    ],
)
def test_a_filter_keeps_the_rest_out(program: Program, options: list[str], paths: list[str]) -> None:
    answer = program("search", "Omada ER605 router VLAN", "--json", *options).json
    assert [hit["path"] for hit in answer["results"]] == paths


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["search"], "Missing argument 'QUERY...'."),
        (
            ["install"],
            "Choose from: claude-code, codex, gemini, opencode, cursor, claude-desktop, vscode,",
        ),
        (["search", "x", "--since", "soon"], "'soon' is not a day. Write YYYY-MM-DD, today, yesterday, or 7d"),
        (
            ["search", "x", "--on", "today", "--since", "7d"],
            "--on is one day: it cannot be combined with --since or --until.",
        ),
        (["search", "x", "--since", "today", "--until", "3d"], "is later than that of --until"),
        (["search", "x", "-n", "0"], "0 is not from 1 to 1000"),
        (["search", "x", "--explian"], "--explain"),
        (["serach", "x"], "There is no command 'serach'. Perhaps you mean search."),
        (["config", "sho"], "show"),
        (["search", "  "], ""),
    ],
)
def test_a_wrong_request_exits_with_2_and_says_what_is_allowed(
    program: Program, words: list[str], message: str
) -> None:
    outcome = program(*words)
    as_json = program("--json", *words)
    assert (outcome.exit_code, outcome.out, as_json.exit_code, as_json.err) == (2, "", 2, "")
    assert message in outcome.err
    assert outcome.err.startswith("Error: ")
    error: dict[str, Any] = as_json.json["error"]
    assert list(error) == ["code", "message", "remedy"]
    assert message in error["message"]
    assert error["remedy"] in outcome.err


def test_without_a_model_the_answer_comes_with_what_is_missing_on_the_side(program: Program) -> None:
    lost = '{agents: {defaults: {memorySearch: {provider: "local", local: {modelPath: "/no/such.gguf"}}}}}'
    (program.home / "memoriter.json5").write_text(lost, encoding="utf-8")
    loud = program("search", "PostgreSQL")
    quiet = program("search", "PostgreSQL", "-q")
    assert loud.out == quiet.out
    assert "PostgreSQL" in loud.out
    assert re.fullmatch(r"Indexing .* first\.\n(! .+\n  .+\n)+", loud.err)
    assert quiet.err == ""


# forms of the answer, and the editor


def test_lines_are_those_of_grep_for_the_best_line_of_each_hit(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = program("search", "PostgreSQL ledger", "-n", "1", "--format", "lines")
    row = "3:- We chose PostgreSQL for the ledger because of ACID.\n"
    assert inside.out == f"MEMORY.md:{row}"
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in program("search", "PostgreSQL ledger", "-n", "1").out
    monkeypatch.chdir(tmp_path / "home")
    outside = program("-w", str(program.workspace), "search", "PostgreSQL ledger", "-n", "1", "--format=lines")
    assert (outside.out, outside.err) == (f"{program.workspace / 'MEMORY.md'}:{row}", "")


def test_lines_on_stdout_are_only_hits(program: Program) -> None:
    nothing = program("search", '"no such phrase"', "--format", "lines")
    assert (nothing.exit_code, nothing.out) == (0, "")
    assert "Nothing in your notes answers this." in nothing.err
    assert program("-q", "search", '"no such phrase"', "--format", "lines").err == ""


def test_the_form_json_is_that_of_the_option_json(program: Program) -> None:
    program("index")
    assert program("search", "ledger", "--format", "json").json == program("search", "ledger", "--json").json
    assert program("search", "ledger", "--format", "json", "--on", "soon").json["error"]["code"] == "usage"
    assert program("search", "ledger", "--format", "json", "--unknown").json["error"]["code"] == "usage"


@pytest.mark.parametrize(
    ("editor", "arguments"),
    [
        ("vim", ["+3", "{file}"]),
        ("nvim -R", ["-R", "+3", "{file}"]),
        ("emacs", ["+3", "{file}"]),
        ("code --wait", ["--wait", "--goto", "{file}:3"]),
        ("cursor", ["--goto", "{file}:3"]),
        ("hx", ["{file}:3"]),
        ("subl -w", ["-w", "{file}:3"]),
        ("other", ["{file}"]),
    ],
)
def test_a_hit_is_opened_at_its_line_in_the_way_of_the_editor(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, editor: str, arguments: list[str]
) -> None:
    name, _, rest = editor.partition(" ")
    script = tmp_path / "a folder" / name
    seen = tmp_path / "seen"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {seen}\n', encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("VISUAL", f"'{script}' {rest}")
    monkeypatch.setenv("EDITOR", "false")

    done = program("search", "--open", "PostgreSQL", "ledger", "-n", "1")
    assert (done.exit_code, done.err.count("Error")) == (0, 0)
    assert done.out.startswith("1. MEMORY.md#L1")
    file = str(program.workspace / "MEMORY.md")
    assert seen.read_text("utf-8").splitlines() == [word.replace("{file}", file) for word in arguments]


@pytest.mark.parametrize(
    ("editor", "words", "message"),
    [
        ("", ["ledger", "--open"], "VISUAL and EDITOR are not set"),
        ("true", ["ledger", "--open", "99"], "There is no hit 99 to open."),
        ("true", ['"no such phrase"', "--open"], "There is no hit to open."),
        ("true", ["ledger", "--open", "--json"], "--open cannot be combined with --format json"),
        ("true", ["ledger", "--open", "--format", "lines"], "--open cannot be combined with --format lines"),
        ("true", ["ledger", "--explain", "--format", "lines"], "--explain cannot be combined with --format lines"),
        ("true", ["ledger", "--json", "--format", "text"], "it cannot be combined with --format text"),
        ("true", ["ledger", "--open", "0"], "0 is less than 1"),
    ],
)
def test_what_cannot_be_opened_or_printed_is_refused(
    program: Program, monkeypatch: pytest.MonkeyPatch, editor: str, words: list[str], message: str
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", editor)
    refused = program("search", *words)
    assert refused.exit_code == 2
    assert message in refused.err + refused.out


def test_an_editor_that_fails_is_named(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "false")
    failed = program("search", "ledger", "--open")
    assert (failed.exit_code, failed.err.splitlines()[-1]) == (1, "Error: false: Editing failed.")


def test_openclaws_scoring_finds_notes_by_words_alone(program: Program) -> None:
    search = {"provider": "none", "query": {"scoring": "classic"}}
    settings = {"agents": {"defaults": {"memorySearch": search}}}
    (program.home / "memoriter.json5").write_text(json.dumps(settings), encoding="utf-8")
    (program.workspace / "memory" / "food.md").write_text("# 음식\n\n나는 매운 음식 을 좋아한다.\n", encoding="utf-8")

    def paths(*words: str) -> list[str]:
        return [hit["path"] for hit in program("search", *words, "--json").json["results"]]

    assert paths("매운 음식") == ["memory/food.md"]
    assert paths("PostgreSQL", "ledger") == ["MEMORY.md"]
    assert paths("what", "about", "the", "ledger", "and", "the", "router") == ["MEMORY.md", "memory/2026-02-10.md"]
    assert paths("PostgreSQL", "ledger", "router")[0] == "MEMORY.md"  # it has two of the words
    assert paths("zeppelin") == []
    assert "only keyword search ran" in program("search", "zeppelin").out
