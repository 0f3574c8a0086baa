"""What a terminal gets, and a pipe does not."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from memoriter.cli._answer import answer_lines
from memoriter.cli._render import Screen
from memoriter.sync import Progress
from memoriter.types import Diagnostic, Health, Hit, SearchResult

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> tuple[Terminal, Terminal]:
    out, err = Terminal(), Terminal()
    monkeypatch.setattr("memoriter.cli._render.sys", SimpleNamespace(stdout=out, stderr=err))
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    return out, err


def result(*hits: Hit, outcome: Any = "match", **more: Any) -> SearchResult:
    return SearchResult(hits, outcome, "fake", "m", "hybrid", Health({"keyword": True, "vector": True}), **more)


def plain(lines: Any) -> list[str]:
    return ["".join(text for text, _ in line) for line in lines]


LONG = Hit("memory/a.md", 1, 9, 0.5, "\n".join(f"line {n}" for n in range(9)), "memory", ("A", "B"))


def test_a_hit_shows_its_place_score_heading_and_some_lines() -> None:
    assert plain(answer_lines(result(LONG), "line", marked=False, narrowed=False)) == [
        "1. memory/a.md#L1-L9  0.50  A › B",
        *(f"   line {n}" for n in range(6)),
        "   …",
        "",
        "Best match: 1. memory/a.md#L1-L9",
    ]


def test_the_lines_around_the_words_of_the_query_are_shown() -> None:
    rows = [f"line {n}" for n in range(40)]
    rows[20] = "The anchor is here."
    hit = replace(LONG, snippet="\n".join(rows))

    shown = plain(answer_lines(result(hit), "anchor", marked=False, narrowed=False))
    assert shown[1:-2] == [
        "   …",
        "   line 19",
        "   The anchor is here.",
        *(f"   line {n}" for n in range(21, 25)),
        "   …",
    ]


def test_a_row_of_a_table_is_shown_below_the_header_of_the_table() -> None:
    table = ["Prices", "| what | price |", "|---|---|", *(f"| thing {n} | {n} |" for n in range(30)), "| anchor | 99 |"]
    hit = replace(LONG, snippet="\n".join(table))

    shown = plain(answer_lines(result(hit), "anchor", marked=False, narrowed=False))
    assert shown[1:4] == ["   | what | price |", "   |---|---|", "   …"]
    assert shown[-3] == "   | anchor | 99 |"


@pytest.mark.parametrize(
    ("found", "lines"),
    [
        (result(LONG, LONG, outcome="weak"), ["Possibly related; there is no clear match."]),
        (result(outcome="none"), ["Nothing in your notes answers this."]),
        (result(LONG, outcome="none"), ["Nothing in your notes answers this. These passages are the nearest."]),
    ],
)
def test_the_answer_ends_with_how_sure_it_is(found: SearchResult, lines: list[str]) -> None:
    end = plain(answer_lines(found, "x", marked=False, narrowed=False))[-2:]
    assert end == [*lines, "Try other words, a name or a date; `memoriter status` says what is indexed."]


def test_an_answer_that_was_cut_short_says_by_what() -> None:
    lines = plain(answer_lines(result(LONG, truncated_by="deadline"), "x", marked=False, narrowed=False))
    assert lines[-1] == "Cut short by the deadline: this is the best so far."


@pytest.mark.parametrize(
    ("query", "row", "words"),
    [
        ("Which databases did we choose?", "The database was chosen.", ["database"]),
        ("오사카 여행", "오사카로 여행을 간다", ["오사", "여행"]),
        ("ER605", "an ER605 router", ["ER605"]),
        ("the", "nothing here", []),
        ("a+b [x", "plain (text", []),
    ],
)
def test_the_words_of_the_question_are_marked_in_the_text(query: str, row: str, words: list[str]) -> None:
    hit = Hit("a.md", 1, 1, 0.5, row, "memory")
    lines = answer_lines(result(hit), query, marked=True, narrowed=False)
    assert [text for text, style in lines[1] if style == "bold yellow"] == words
    assert "".join(text for text, _ in lines[1]) == f"   {row}"


def test_a_terminal_is_painted_unless_it_is_not_wanted(
    terminal: tuple[Terminal, Terminal], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, _ = terminal
    Screen().show([(("yes", "green"), (" or no", ""))])
    assert out.getvalue() == "\x1b[32myes\x1b[0m or no\n"
    out.truncate(0)
    out.seek(0)
    monkeypatch.setenv("NO_COLOR", "1")
    Screen().show([(("yes", "green"), (" or no", ""))])
    assert out.getvalue() == "yes or no\n"


def test_a_note_cannot_send_commands_to_the_terminal(terminal: tuple[Terminal, Terminal]) -> None:
    out, err = terminal
    screen = Screen()
    screen.text("a\x1b]0;title\x07b\tc\r\nd\u202ee\n")
    screen.show([(("x\x1b[2Jy[bold]z", ""),)])
    assert out.getvalue() == "a\ufffd]0;title\ufffdb\tc\nd\ufffde\nx\ufffd[2Jy[bold]z\n"
    assert err.getvalue() == ""


def test_a_pipe_gets_the_text_byte_for_byte(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().text("a\x1b[1mb\r\n")
    assert capsys.readouterr().out == "a\x1b[1mb\r\n"


def test_progress_is_painted_on_a_terminal_after_one_line_that_says_why(terminal: tuple[Terminal, Terminal]) -> None:
    out, err = terminal
    with Screen().progress(lambda step: f"Building: {step.total} files.") as step:
        for done in range(3):
            step(Progress("read", done + 1, 3))
        step(Progress("embed", 5, 5))
    received = ANSI.sub("", err.getvalue())
    assert out.getvalue() == ""
    assert received.startswith("Building: 3 files.\n")
    assert "Reading notes" in received
    assert "Computing vectors" in received


@pytest.mark.parametrize("options", [{"quiet": True}, {"as_json": True}])
def test_progress_is_not_painted_where_nobody_wants_it(
    terminal: tuple[Terminal, Terminal], options: dict[str, bool]
) -> None:
    _, err = terminal
    with Screen(**options).progress() as step:
        step(Progress("read", 1, 3))
    assert err.getvalue() == ""


def test_reasons_come_with_their_remedies_unless_it_is_to_be_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    reasons = [Diagnostic("a", "This is off.", "Do that."), Diagnostic("b", "That too.")]
    Screen().show_diagnostics(reasons)
    Screen(quiet=True).show_diagnostics(reasons)
    assert capsys.readouterr() == ("", "! This is off.\n  Do that.\n! That too.\n")


def test_json_survives_half_a_character(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().json({"path": "\udcff", "한": 1})
    assert capsys.readouterr().out == '{\n  "path": "\\udcff",\n  "\\ud55c": 1\n}\n'


DRIVING = "".join(
    map(chr, [0x1B, 0x07, 0x7F, 0x84, 0x90, 0x9B, 0x9C, 0x9D, 0x61C, 0x200E, 0x200F, 0x202A, 0x202E, 0x2066])
)
DRIVING += "\u2069\u2028\u2029\u200b\u2060\ufeff\U000e0041"


def test_json_on_a_terminal_escapes_what_could_drive_it_and_says_the_same(
    terminal: tuple[Terminal, Terminal],
) -> None:
    out, _ = terminal
    value = {f"memory/{DRIVING}.md": [f"여행 👩\u200d🚀 {DRIVING}\tb\nc"]}
    Screen().json(value)
    Screen().json_line(value)
    shown = out.getvalue()
    assert not set(shown) & set(DRIVING)
    assert "여행 👩\u200d🚀 " in shown
    first, _, second = shown.partition("\n}\n")
    assert json.loads(f"{first}}}") == json.loads(second) == value


def test_json_in_a_pipe_is_what_it_always_was(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().json_line({"a": DRIVING})
    assert capsys.readouterr().out == json.dumps({"a": DRIVING}, ensure_ascii=False) + "\n"


def test_no_line_of_any_kind_drives_the_terminal(terminal: tuple[Terminal, Terminal]) -> None:
    out, err = terminal
    name = f"memory/{DRIVING}.md"
    screen = Screen(verbosity=1)
    screen.show(
        answer_lines(result(Hit(name, 1, 1, 0.5, DRIVING, "memory", (DRIVING,))), "x", marked=True, narrowed=False)
    )
    screen.show_diagnostics([Diagnostic("a", f"{name} is off.", DRIVING)])
    screen.detail(DRIVING)
    screen.text(DRIVING)
    screen.show_failure(SimpleNamespace(code="x", message=name, remedy=DRIVING), ValueError(name))
    for stream in (out, err):
        plain_text = ANSI.sub("", stream.getvalue())
        assert plain_text
        assert not set(plain_text) & set(DRIVING)
