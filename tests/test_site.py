"""The documentation site: every page has a place in its navigation, and nothing is loaded from elsewhere."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import memoriter

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(memoriter.__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]

SCRIPT = runpy.run_path(str(ROOT / "scripts" / "pictures.py"), run_name="pictures")
PICTURES = SCRIPT["PICTURES"]
WIDTH = SCRIPT["WIDTH"]


def pages_of(entries: list[Any]) -> list[str]:
    values = [value for entry in entries for value in (entry.values() if isinstance(entry, dict) else [entry])]
    return [page for value in values for page in (pages_of(value) if isinstance(value, list) else [value])]


def test_every_page_is_in_the_navigation_once() -> None:
    files = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
    pages = [file.relative_to(ROOT).as_posix() for file in files]
    assert sorted(pages_of(PROJECT["nav"])) == sorted(pages)


def words_of(pages: Iterable[Path]) -> int:
    return sum(len(page.read_text(encoding="utf-8").split()) for page in pages)


def test_the_twelve_pages_and_the_reference_are_short() -> None:
    pages = [page for page in (ROOT / "docs").glob("*.md") if page.name != "openclaw.md"]
    assert len(pages) == 12
    assert words_of(pages) <= 15_000, "Say each thing once, on the page of its task."
    assert words_of((ROOT / "docs" / "reference").glob("*.md")) <= 35_000, "Say each thing once, where it is written."


def test_the_site_is_set_to_load_nothing_from_elsewhere_and_to_open_from_a_folder() -> None:
    assert PROJECT["theme"]["font"] is False
    # The plugin loads a script from a public server, unless one of that name is there.
    assert "offline" in PROJECT["plugins"]
    assert [Path(script).stem for script in PROJECT["extra"]["polyfills"]] == ["iframe-worker"]
    assert all((ROOT / script).is_file() for script in PROJECT["extra"]["polyfills"])
    assert PROJECT["use_directory_urls"] is False
    assert "extra_javascript" not in PROJECT
    assert all((ROOT / style).is_file() for style in PROJECT["extra_css"])


def test_the_reference_of_python_is_that_of_the_docstrings_of_every_stable_module() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "python_reference.py"), run_name="python_reference")
    assert script["PAGE"].read_text(encoding="utf-8") == script["page"](), "Run `just docs`."
    stable = (ROOT / "docs" / "python.md").read_text(encoding="utf-8").partition("## What is stable")[2]
    assert re.findall(r"^\| `(memoriter[.a-z]*)` \|", stable, re.MULTILINE) == list(script["MODULES"])


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_the_one_that_the_script_draws_and_can_be_read_by_everybody(name: str) -> None:
    drawn = PICTURES[name].svg()
    assert (ROOT / "docs" / "images" / f"{name}.svg").read_text(encoding="utf-8") == drawn
    assert "<title" in drawn
    assert "<desc" in drawn
    assert "prefers-color-scheme: dark" in drawn
    lines = [line for box in PICTURES[name].boxes.values() for line in box.text.split("\n")]
    assert max(map(len, lines)) * 7 < WIDTH  # a letter of 13 pixels is about seven wide
    page = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "docs").glob("*.md"))
    assert re.search(rf"!\[[^]]{{20,}}\]\(images/{name}\.svg\)", page), "with a text for those who do not see it"


def test_the_picture_of_home_is_the_one_that_the_script_draws_of_a_note_of_the_examples() -> None:
    drawn = (ROOT / "docs" / "images" / "answer.svg").read_text(encoding="utf-8")
    assert drawn == SCRIPT["answer"]()
    assert "PostgreSQL 16" in drawn
    assert all(part in drawn for part in ("<title", "<desc", "prefers-color-scheme: dark"))


def test_the_table_and_the_chart_of_five_programs_have_the_figures_of_the_results() -> None:
    assert (ROOT / "docs" / "images" / "programs.svg").read_text(encoding="utf-8") == SCRIPT["programs"]()
    rows = {}
    for name, figures in SCRIPT["measured"]().items():
        columns = ("note@1", "note@3", "cross-language note@3", "near-misses refused", "answers refused")
        percent = [int(100 * figures[column] + 0.5) for column in columns]
        seconds = figures["cold search (s)"]
        first = f"{seconds:.1f}" if seconds < 10 else f"{seconds:.0f}"
        rows[SCRIPT["PROGRAMS"][name]] = [
            *(f"{share} %" for share in percent),
            f"{first} s",
            f"{figures['disk (MB)']:.1f} MB",
        ]
    assert len(rows) == 5
    for page in ("README.md", "docs/index.md", "docs/ko/index.md", "docs/zh/index.md"):
        text = (ROOT / page).read_text(encoding="utf-8").replace("**", "")
        shown = [re.split(r" *\| *", line.strip("| ")) for line in text.splitlines()]
        assert {name: [cells[1:] for cells in shown if cells[0] == name] for name in rows} == {
            name: [cells] for name, cells in rows.items()
        }
        assert "images/programs.svg)" in text


def test_home_and_the_readme_lead_to_every_page() -> None:
    names = {file.name for file in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert len(names) == 12
    for page, folder in ((ROOT / "README.md", "docs/"), (ROOT / "docs" / "index.md", "")):
        text = page.read_text(encoding="utf-8")
        assert [name for name in names if f"]({folder}{name}" not in text] == []
