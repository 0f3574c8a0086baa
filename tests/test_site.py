"""The documentation site: every page has a place in its navigation, and nothing is loaded from elsewhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import click

import memoriter
from memoriter.cli import main

ROOT = Path(memoriter.__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]


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
