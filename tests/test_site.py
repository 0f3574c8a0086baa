"""The documentation site: every page has a place in its navigation, and nothing is loaded from elsewhere."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest

import memoriter
from memoriter.cli import main

ROOT = Path(memoriter.__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]

SCRIPT = runpy.run_path(str(ROOT / "scripts" / "pictures.py"), run_name="pictures")
PICTURES = SCRIPT["PICTURES"]
WIDTH = SCRIPT["WIDTH"]


def pages_of(entries: list[Any]) -> list[str]:
    values = [value for entry in entries for value in (entry.values() if isinstance(entry, dict) else [entry])]
    return [page for value in values for page in (pages_of(value) if isinstance(value, list) else [value])]


def test_every_page_is_in_the_navigation_once() -> None:
    pages = [str(file.relative_to(ROOT / "docs")) for file in (ROOT / "docs").rglob("*.md")]
    assert sorted(pages_of(PROJECT["nav"])) == sorted(pages)


def test_the_site_is_set_to_load_nothing_from_elsewhere_and_to_open_from_a_folder() -> None:
    assert PROJECT["theme"]["font"] is False
    assert "offline" not in PROJECT["plugins"]  # it adds a script from a public server
    assert PROJECT["use_directory_urls"] is False
    assert not {"extra_javascript", "extra_css"} & PROJECT.keys()


def test_the_commands_of_the_start_page_exist() -> None:
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    commands = re.findall(r"^memoriter (?:-w \S+ |--openclaw )?([a-z-]+)", page, re.MULTILINE)
    assert isinstance(main, click.Group)
    assert len(commands) >= 6
    assert set(commands) <= set(main.list_commands(click.Context(main)))


def test_the_reference_shows_every_module_that_is_stable() -> None:
    stable = (ROOT / "docs" / "library.md").read_text(encoding="utf-8").partition("## What is stable")[2]
    modules = re.findall(r"^\| `(memoriter[.a-z]*)` \|", stable, re.MULTILINE)
    reference = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^::: (\S+)$", reference, re.MULTILINE)) == sorted(modules)
    assert len(modules) == 5


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_the_one_that_the_script_draws_and_can_be_read_by_everybody(name: str) -> None:
    drawn = PICTURES[name].svg()
    assert (ROOT / "docs" / "images" / f"{name}.svg").read_text(encoding="utf-8") == drawn
    assert "<title" in drawn
    assert "<desc" in drawn
    assert "prefers-color-scheme: dark" in drawn
    lines = [line for box in PICTURES[name].boxes.values() for line in box.text.split("\n")]
    assert max(map(len, lines)) * 7 < WIDTH  # a letter of 13 pixels is about seven wide
    page = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    assert re.search(rf"!\[[^]]{{20,}}\]\(images/{name}\.svg\)", page), "with a text for those who do not see it"


def test_the_start_pages_are_linked_from_the_readme_and_the_first_page() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    names = [file.name for file in (ROOT / "docs" / "start").glob("*.md")]
    assert len(names) == 5
    assert [name for name in names if f"docs/start/{name}" not in readme or f"(start/{name})" not in first] == []
