"""Commands that installed packages add: they are part of the help, and one that does not work says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from memoriter.cli import main
from memoriter.cli._main import SECTIONS, Program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DIARY = """
import click
from memoriter.cli import Command, GlobalOptions

@click.command(cls=Command, name="diary", section="Keep")
@click.argument("day")
def diary(day):
    "Write a page of a diary."
    screen = GlobalOptions.current().screen
    screen.json({"day": day}) if screen.as_json else screen.text(f"Dear {day}")

@click.command(name="plain")
def plain():
    "A command that knows nothing of memoriter."
    click.echo("plain")

text = "no command"
"""
ENTRIES = """
[console_scripts]
elsewhere = diary:diary

[memoriter.commands]
# of the package diary
diary = diary:diary
plain = diary:plain [extra]
search = diary:plain
missing = no_such_module:command
lost = diary:lost
words = diary:text
leaves = leaves:command
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CliRunner]:
    """Install the package, and return what runs commands of a program that has not looked for packages yet."""
    package = tmp_path / "diary-1.0.dist-info"
    package.mkdir()
    (package / "entry_points.txt").write_text(ENTRIES, encoding="utf-8")
    (tmp_path / "diary.py").write_text(DIARY, encoding="utf-8")
    (tmp_path / "leaves.py").write_text("raise SystemExit(3)\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    main.__dict__.pop("added", None)
    yield CliRunner()
    main.__dict__.pop("added", None)


def test_they_are_in_the_section_that_they_name_or_in_the_last_one(run: CliRunner) -> None:
    overview = run.invoke(main, ["--help"]).stdout
    keep = overview.partition("\nKeep:\n")[2].partition("\n\n")[0]
    more = overview.partition("\nMore:\n")[2]
    assert "  diary     Write a page of a diary." in keep.splitlines()
    assert "  plain    A command that knows nothing of memoriter." in more.splitlines()
    assert list(SECTIONS) == [line[:-1] for line in overview.splitlines() if line.rstrip(":") in SECTIONS]


def test_they_have_the_global_options_and_their_own_help(run: CliRunner) -> None:
    assert run.invoke(main, ["diary", "monday"]).stdout == "Dear monday\n"
    assert run.invoke(main, ["--json", "diary", "monday"]).stdout.split() == ["{", '"day":', '"monday"', "}"]
    assert "Write a page of a diary." in run.invoke(main, ["diary", "--help"]).stdout
    assert run.invoke(main, ["plain"]).stdout == "plain\n"


def test_none_takes_the_place_of_an_own_command(run: CliRunner) -> None:
    assert "Find the passages" in run.invoke(main, ["search", "--help"]).stdout


def test_a_mistyped_name_is_compared_with_theirs(run: CliRunner) -> None:
    failed = run.invoke(main, ["dairy"])
    assert (failed.exit_code, "Perhaps you mean diary" in failed.stderr) == (2, True)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing", "No module named 'no_such_module'"),
        ("lost", "has no attribute 'lost'"),
        ("words", "diary:text is no command of click"),
        ("leaves", "The module leaves raised SystemExit(3)"),
    ],
)
def test_one_that_cannot_be_loaded_is_listed_and_says_why_when_it_is_run(
    run: CliRunner, name: str, reason: str
) -> None:
    overview = run.invoke(main, ["--help"])
    assert (overview.exit_code, f"  {name}" in overview.stdout) == (0, True)
    failed = run.invoke(main, [name, "--some", "words"])
    assert failed.exit_code == 1
    assert f"The command {name!r} of an installed package cannot be loaded" in failed.stderr
    assert reason in failed.stderr
    assert "Update the package, or remove it." in failed.stderr
    assert "Traceback" not in failed.stderr


def test_without_packages_there_are_only_the_own_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [])
    alone = Program(name="alone", sections=SECTIONS)
    own = [name for names in SECTIONS.values() for name in names]
    assert alone.list_commands(None) == own  # type: ignore[arg-type]
