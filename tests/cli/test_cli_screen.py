"""What a terminal gets, and a pipe does not."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from memoriter.cli._answer import answer_lines, grep_lines
from memoriter.cli._render import Screen
from memoriter.sync import Progress
from memoriter.types import Diagnostic, Health, Hit, SearchResult

if TYPE_CHECKING:
    from conftest import Program

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> tuple[Terminal, Terminal]:
    out = Terminal()
    err = Terminal()
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


def test_hits_of_one_note_stand_together_and_repeat_no_heading() -> None:
    def hit(path: str, line: int, *heading: str) -> Hit:
        return Hit(path, line, line, 0.5, f"text {line}", "memory", heading)

    hits = [hit("a.md", 1, "A", "B"), hit("a.md", 4, "A", "C"), hit("a.md", 2, "A", "C"), hit("b.md", 7, "A", "D")]
    assert plain(answer_lines(result(*hits, hit("a.md", 9, "A")), "text", marked=False, narrowed=False)) == [
        "1. a.md#L1  0.50  A › B",
        "   text 1",
        "2. a.md#L4  0.50  … › C",
        "   text 4",
        "3. a.md#L2  0.50  … › C",
        "   text 2",
        "",
        "4. b.md#L7  0.50  A › D",
        "   text 7",
        "",
        "5. a.md#L9  0.50  A",
        "   text 9",
        "",
        "Best match: 1. a.md#L1",
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


@pytest.mark.parametrize(
    ("text", "end", "line"),
    [
        ("# Anchor\n\nThe boat.\nA chain and an anchor.\r\nIts anchor.", 9, "8:A chain and an anchor."),
        ("# Anchor\n\nThe boat.\nThe anchor chain.", 8, "8:The anchor chain."),
        ("## Boats\n\n```console\n$ sail\n```", 9, "8:$ sail"),
        ("| boat | sail |\n|---|---|", 6, "5:| boat | sail |"),
        ("User: Hello.\nAssistant: The anchor chain.", 40, "5:Assistant: The anchor chain."),
    ],
)
def test_the_line_for_editors_has_most_words_of_the_question_or_else_text(text: str, end: int, line: str) -> None:
    hit = Hit("a.md", 5, end, 0.5, text[:9], "memory", text=text)
    (shown,) = plain(grep_lines(result(hit), "anchor chain", [Path("/notes/a.md")], marked=False))
    assert shown == f"/notes/a.md:{line}"


def test_an_answer_that_was_cut_short_says_by_what() -> None:
    lines = plain(answer_lines(result(LONG, truncated_by="deadline"), "x", marked=False, narrowed=False))
    assert lines[-1] == "Cut short by the deadline: this is the best so far."


@pytest.mark.parametrize(
    ("query", "row", "words"),
    [
        ("Which databases did we choose?", "The database was chosen.", ["database", "chosen"]),
        ("오사카 여행", "오사카로 여행을 간다", ["오사카", "여행"]),
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


@pytest.mark.parametrize(
    ("variables", "shown"),
    [
        ({}, "yes or no\n"),
        ({"FORCE_COLOR": ""}, "yes or no\n"),
        ({"FORCE_COLOR": "1"}, "\x1b[32myes\x1b[0m or no\n"),
        ({"FORCE_COLOR": "1", "NO_COLOR": ""}, "\x1b[32myes\x1b[0m or no\n"),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, "yes or no\n"),
    ],
)
def test_a_pipe_is_painted_only_if_it_is_forced_and_colours_are_not_refused(
    terminal: tuple[Terminal, Terminal],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    shown: str,
) -> None:
    monkeypatch.setattr("memoriter.cli._render.sys", sys)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    Screen().show([(("yes", "green"), (" or no", ""))])
    assert capsys.readouterr().out == shown


WIDE = "- We chose PostgreSQL for the ledger because of ACID, see https://example.org/a/long/address/of/a/page here."


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        (
            (("   ", ""), (WIDE, "")),
            [
                "   - We chose PostgreSQL for the ledger",
                "     because of ACID, see",
                "     https://example.org/a/long/address/of/a/page",
                "     here.",
            ],
        ),
        (
            (("ok", "green"), ("  home  ", "bold"), ("The folder of the notes can be written.", "")),
            ["ok  home  The folder of the notes can be", "          written."],
        ),
        (((" 年" * 20, ""),), [" 年 年 年 年 年 年 年 年 年 年 年 年 年", " 年 年 年 年 年 年 年"]),
        (((" " * 25 + "word " * 9, ""),), [" " * 25 + "word " * 9]),
    ],
)
def test_a_line_is_wrapped_to_the_terminal_below_where_its_text_begins(
    terminal: tuple[Terminal, Terminal], monkeypatch: pytest.MonkeyPatch, line: Any, rows: list[str]
) -> None:
    out, _ = terminal
    monkeypatch.setenv("COLUMNS", "40")
    Screen().show([line])
    assert ANSI.sub("", out.getvalue()) == "\n".join(rows) + "\n"
    out.truncate(0)
    out.seek(0)
    Screen().show([line], wrapped=False)
    assert out.getvalue().count("\n") == 1


def test_a_citation_links_to_its_file_on_a_terminal(terminal: tuple[Terminal, Terminal]) -> None:
    out, _ = terminal
    file = Path("/notes/a b/여행.md")
    Screen().show(answer_lines(result(LONG), "line", marked=True, narrowed=False, files=[file]))
    link, text = re.findall(r"\x1b\]8;[^;]*;([^\x1b]+)\x1b\\(.*?)\x1b\]8;;\x1b\\", out.getvalue())[0]
    assert (link, ANSI.sub("", text)) == (file.as_uri(), LONG.citation)


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


def shown_on_a_terminal(columns: int, *command: str, environ: dict[str, str]) -> str:
    """Return what a program writes to a terminal with so many columns."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ) as process:
        os.close(theirs)
        output = b""
        with contextlib.suppress(OSError):  # Linux reports the end as an error
            while block := os.read(ours, 65_536):
                output += block
        assert process.wait(60) == 0, output
    os.close(ours)
    return output.decode("utf-8").replace("\r\n", "\n")


LINK = re.compile(r"\x1b\]8;[^;]*;([^\x1b]*)\x1b\\")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there are no such terminals")
@pytest.mark.parametrize("columns", [60, 80, 200])
def test_an_answer_fits_the_terminal_and_links_to_the_note_only_there(program: Program, columns: int) -> None:
    (program.workspace / "MEMORY.md").write_text(f"# Decisions\n\n- {WIDE} {WIDE}\n", encoding="utf-8")
    program("index")
    code = "from memoriter.cli import main\nmain()"
    command = (sys.executable, "-c", code, "search", "PostgreSQL ledger", "-n", "1")
    environ = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "COLUMNS"}}
    painted = shown_on_a_terminal(columns, *command, environ={**environ, "TERM": "xterm-256color"})
    assert (program.workspace / "MEMORY.md").as_uri() in LINK.findall(painted)
    rows = ANSI.sub("", LINK.sub("", painted)).splitlines()
    assert max(map(len, rows)) <= columns
    assert rows[0].startswith("1. MEMORY.md#L1-L3")

    forced = {**environ, "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    piped = subprocess.run(command, env=forced, capture_output=True, encoding="utf-8", check=True).stdout
    assert "\x1b[" in piped
    assert not LINK.search(piped)
    assert f"{WIDE} {WIDE}" in ANSI.sub("", piped)
