"""How much code `memoriter remember` runs through: a bound on detours, which does not depend on time."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import memoriter
from memoriter.workspace import _ignore

if TYPE_CHECKING:
    from types import FrameType

    from program import Program

PACKAGE = str(Path(memoriter.__file__).parent)
MOST_FILES = 23
MOST_FILES_TO_READ = 18
INLINED = ("<listcomp>", "<dictcomp>", "<setcomp>")
"""Comprehensions, which Python 3.11 calls as functions and later versions do not. They are left out everywhere."""


def files_of(program: Program, *words: str) -> set[str]:
    """Return the files of the package in which a command calls functions, once everything is imported."""
    files = set[str]()

    def note_call(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and code.co_name not in INLINED:
            files.add(code.co_filename.removeprefix(PACKAGE))

    assert program(*words).exit_code == 0
    before = sys.getprofile()
    sys.setprofile(note_call)
    try:
        outcome = program(*words)
    finally:
        sys.setprofile(before)
    assert outcome.exit_code == 0, outcome.err
    return files


@pytest.fixture
def plain(program: Program) -> Program:
    """The program with no settings of its own, which would have to be parsed."""
    (program.home / "memoriter.json5").unlink()
    return program


def test_an_entry_is_written_without_what_searches(plain: Program) -> None:
    files = files_of(plain, "-w", str(plain.workspace), "remember", "--again", "The zeppelin landed.")

    assert len(files) <= MOST_FILES, sorted(files)


def test_a_note_is_read_without_what_searches(plain: Program) -> None:
    files = files_of(plain, "-w", str(plain.workspace), "get", "MEMORY.md")

    assert len(files) <= MOST_FILES_TO_READ, sorted(files)


def test_an_entry_is_written_after_one_look_at_each_ignore_file(
    plain: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    (plain.workspace / ".memoryignore").write_text("drafts/\n", encoding="utf-8")
    (plain.workspace / "memory" / ".memoryignore").write_text("old.md\n", encoding="utf-8")
    read: list[str] = []

    def counted(file: Path, limit: int) -> bytes:
        read.append(file.relative_to(plain.workspace).as_posix())
        return actual(file, limit)

    actual = _ignore.read_plain
    monkeypatch.setattr(_ignore, "read_plain", counted)
    assert plain("-w", str(plain.workspace), "remember", "The zeppelin landed.").exit_code == 0

    assert sorted(read) == [".memoryignore", "memory/.memoryignore"]


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        (
            '{agents: {defaults: {memorySearch: {sources: ["sessions"], experimental: {sessionMemory: true}}}}}',
            "memory_off",
        ),
        ("{agents: {defaults: {memorySearch: {enabled: false}}}}", "disabled"),
    ],
)
def test_it_reports_that_no_search_will_find_the_entry(program: Program, settings: str, code: str) -> None:
    (program.home / "memoriter.json5").write_text(settings, encoding="utf-8")
    remembered = program("remember", "The zeppelin landed.", "--json").json

    assert [reason["code"] for reason in remembered["health"]["reasons"]] == [code]


def test_it_reports_that_the_index_cannot_be_written(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    program("index")
    allowed = os.access
    # The permissions of a file do not hold back root, as whom the tests may run.
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).suffix != ".sqlite" and allowed(path, mode))
    remembered = program("-w", str(program.workspace), "remember", "The zeppelin landed.", "--json").json
    (named,) = [reason["message"] for reason in remembered["health"]["reasons"]]

    assert "cannot be written" in named


def test_it_indexes_the_entry_if_searches_do_not_look_for_changes(program: Program) -> None:
    settings = '{agents: {defaults: {memorySearch: {provider: "fake", sync: {onSearch: false}}}}}'
    (program.home / "memoriter.json5").write_text(settings, encoding="utf-8")
    program("index")
    program("remember", "The zeppelin landed.")
    (hit, *_) = program("search", "zeppelin", "--json").json["results"]

    assert "The zeppelin landed." in hit["snippet"]
